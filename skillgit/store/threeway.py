"""A three-way merge of one file in pieces: what merges by itself, and the places where both sides changed the same."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillgit.store.objects import Entry
from skillgit.store.process import failure
from skillgit.store.repository import Repository

_RUN = re.compile(rb"^([<=>|])\1*", re.MULTILINE)
_LEAST_MARKER = 7


@dataclass(frozen=True, slots=True)
class Hunk:
    """A place where both sides changed the same lines. Each text is whole lines, with their ends; any may be empty."""

    ours: str
    before: str
    theirs: str


Piece = str | Hunk
"""Merged text, or a conflict."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The three versions of a file that conflicts; None on the side that has none there."""

    before: Entry | None
    ours: Entry | None
    theirs: Entry | None


def stages(repo: Repository, ours: str, theirs: str, path: str) -> Stages:
    """The versions that a merge of two commits has of one file in conflict; all None where it has no conflict there.

    The version before is that of the merge base, or of a merge of several ones.
    """
    result = repo.git("merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs, check=False)
    if result.code not in (0, 1) or not result.out:
        raise failure(("merge-tree",), result)
    found: dict[str, Entry] = {}
    for line in result.text.split("\0")[1:]:
        head, _, name = line.partition("\t")
        if name == path:
            mode, oid, stage = head.split(" ")
            found[stage] = Entry(int(mode, 8), oid)
    return Stages(found.get("1"), found.get("2"), found.get("3"))


def pieces(repo: Repository, ours: bytes, before: bytes, theirs: bytes) -> list[Piece]:
    """Merge a text three ways. Lines that both sides have at the edges of a conflict are merged text.

    Args:
        ours, theirs: UTF-8. before: of it, what is not UTF-8 is replaced.
    """
    size = 1 + max(len(run) for run in (b"<" * (_LEAST_MARKER - 1), *map(_longest, (ours, before, theirs))))
    with tempfile.TemporaryDirectory(prefix="skillgit-merge-") as folder:
        paths = [Path(folder) / name for name in ("ours", "before", "theirs")]
        for path, data in zip(paths, (ours, before, theirs), strict=True):
            path.write_bytes(data)
        command = ("merge-file", "-p", "-q", "--zdiff3", f"--marker-size={size}")
        result = repo.git(*command, *map(str, paths), check=False)
    if result.code < 0 or result.code > 127:
        raise failure(("merge-file",), result)
    found = _parse(result.out, size)
    if found and isinstance(found[-1], Hunk):  # git ends a last line that has no end, to set its marker off
        sides = (found[-1].ours, found[-1].before, found[-1].theirs)
        wholes = (ours, before, theirs)
        found[-1] = Hunk(*(_as_it_ends(side, whole) for side, whole in zip(sides, wholes, strict=True)))
    return found


def joined(found: Sequence[Piece], choose: Callable[[int, Hunk], str]) -> str:
    """The whole text, with what `choose` makes of each conflict, which it gets with its number from 0."""
    parts, number = [], 0
    for piece in found:
        if isinstance(piece, Hunk):
            parts.append(choose(number, piece))
            number += 1
        else:
            parts.append(piece)
    return "".join(parts)


def hunks(found: Sequence[Piece]) -> list[Hunk]:
    """The conflicts alone, in order."""
    return [piece for piece in found if isinstance(piece, Hunk)]


def _longest(data: bytes) -> bytes:
    """The longest run of a marker's character at the start of a line."""
    return max((match[0] for match in _RUN.finditer(data)), key=len, default=b"")


def _parse(data: bytes, size: int) -> list[Piece]:
    marks = {bytes([char]) * size: char for char in b"<|=>"}
    found: list[Piece] = []
    part = {"": b""}
    where = ""
    for line in _lines(data):
        mark = marks.get(line[:size])
        if mark is None:
            part[where] += line
        elif mark == ord("<"):
            if part[""]:
                found.append(part[""].decode())
            where, part = "ours", {"ours": b"", "before": b"", "theirs": b""}
        elif mark == ord(">"):
            found.append(Hunk(part["ours"].decode(), part["before"].decode(errors="replace"), part["theirs"].decode()))
            where, part = "", {"": b""}
        else:
            where = "before" if mark == ord("|") else "theirs"
    if part.get(""):
        found.append(part[""].decode())
    return found


def _lines(data: bytes) -> list[bytes]:
    """Lines as git has them: ended by LF alone."""
    return [line for line in re.split(rb"(?<=\n)", data) if line]


def _as_it_ends(side: str, whole: bytes) -> str:
    return side if not side or whole.endswith(b"\n") else side.removesuffix("\n").removesuffix("\r")
