"""Commit and tag objects as git stores them: written and parsed. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PERSON = re.compile(r"(.*?) ?<([^>]*)> (-?\d+) ([+-]\d{4})")


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit.

    Args:
        author, committer: `Name <email>`.
        author_time, commit_time: seconds since 1970 (UTC).
        message: the whole message, decoded as the commit says.
    """

    oid: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str
    author_time: int
    committer: str
    commit_time: int

    @property
    def subject(self) -> str:
        """The first line that is not blank."""
        return next((line.strip() for line in self.message.split("\n") if line.strip()), "")


def encoded(message: str) -> bytes:
    """A message as a commit can hold it: no NUL, UTF-8, a newline at the end."""
    text = message.replace("\0", "")
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")


def commit_bytes(tree: str, parents: Sequence[str], author: str, committer: str, message: str) -> bytes:
    """A commit object. `author` and `committer` are lines as `git var` prints them."""
    heads = [f"tree {tree}", *(f"parent {p}" for p in parents), f"author {author}", f"committer {committer}"]
    return "\n".join(heads).encode("utf-8", "surrogateescape") + b"\n\n" + encoded(message)


def tag_bytes(name: str, target: str, kind: str, tagger: str, message: str) -> bytes:
    """An annotated tag object. `tagger` is a line as `git var` prints it."""
    heads = f"object {target}\ntype {kind}\ntag {name}\ntagger {tagger}\n\n"
    return heads.encode("utf-8", "surrogateescape") + encoded(message)


def peeled(data: bytes) -> str:
    """What a commit's or a tag's bytes point to: the tree, or the tagged object."""
    return data.split(b"\n", 1)[0].split(b" ")[1].decode("ascii")


def parse_commit(oid: str, data: bytes) -> CommitInfo:
    """A commit from its bytes."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        if not line.startswith(b" "):  # A continued line belongs to a signature or a merged tag.
            key, _, value = line.partition(b" ")
            fields.setdefault(key.decode("ascii", "replace"), []).append(value)
    encoding = fields.get("encoding", [b"utf-8"])[0].decode("ascii", "replace")
    author, author_time = _person(fields["author"][0], encoding)
    committer, commit_time = _person(fields["committer"][0], encoding)
    return CommitInfo(
        oid=oid,
        tree=fields["tree"][0].decode("ascii"),
        parents=tuple(value.decode("ascii") for value in fields.get("parent", [])),
        message=_decoded(body, encoding),
        author=author,
        author_time=author_time,
        committer=committer,
        commit_time=commit_time,
    )


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _person(value: bytes, encoding: str) -> tuple[str, int]:
    match = _PERSON.fullmatch(text := _decoded(value, encoding))
    return (f"{match[1]} <{match[2]}>", int(match[3])) if match else (text, 0)
