"""The pre-push hook: no secret, no evidence unless asked for, and no commit dropped from a skill's branch.

Only what the remote does not have yet is read. Refs of other branches are not looked at.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillgit.store.process import GitResult, failure
from skillgit.store.repository import Repository
from skillgit.train.hooks.caller import Called
from skillgit.train.hooks.outgoing import Outgoing, Reason, refusals
from skillgit.train.hooks.screening import Screen

JOURNAL = frozenset({"run.json", "state.json", "scores.json", "step.json"})
DOCUMENTS = frozenset({"skill.md", "best_skill.md"})
"""Names that are documents wherever they lie: the configuration of another branch may say so."""
MOST_SAID = 5
"""Secrets that are told one by one."""
_AT_ONCE = 2000
_TRUE = {"1", "true", "yes", "on"}


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret that would go out: in an object of this kind and id, at this path (of a blob), on this line."""

    kind: str
    oid: str
    path: str
    line: int
    secret: str


def check_push(outgoing: Sequence[Outgoing], remote: str, top: Path, environ: Mapping[str, str]) -> list[Reason]:
    """Why a push is refused; empty where it is not.

    Args:
        remote: the remote's name, or its address where it has none.
        top: where git runs the hook.
        environ: the variables that git set for it.

    Raises:
        RepositoryError: git failed.
    """
    ours = [one for one in outgoing if one.ours]
    if not ours:
        return []
    called = Called.find(top, environ)
    asked = environ.get("SKILLGIT_PUSH_EVIDENCE", "").lower() in _TRUE or _configured(called.repo)
    found = refusals(ours, remote, evidence=asked, grows=lambda old, new: _grows(called.repo, old, new))
    if found:
        return found  # Nothing goes out: no need to read it.
    leaks = _leaks(called, ours, remote)
    mend = "take it out of the history before it goes out (`git rebase`, `skillgit rejected prune`), and change it"
    reasons = [Reason(_told(called.repo, leak, ours, remote), mend) for leak in leaks[:MOST_SAID]]
    if len(leaks) > MOST_SAID:
        reasons.append(Reason(f"{len(leaks) - MOST_SAID} more places with a secret", mend))
    return reasons


def _configured(repo: Repository) -> bool:
    return repo.git("config", "--bool", "--get", "skillgit.pushEvidence", check=False).text == "true"


def _grows(repo: Repository, old: str, new: str) -> bool:
    """Whether `old` is here and an ancestor of `new`."""
    return repo.git("merge-base", "--is-ancestor", old, new, check=False).code == 0


def _leaks(called: Called, ours: Sequence[Outgoing], remote: str) -> list[Leak]:
    """Each line with a secret once: in the oldest object that has it, since thousands may carry it on."""
    documents = set(called.documents().values())

    @functools.cache
    def matters(path: str) -> bool:
        name = PurePosixPath(path).name
        return path in documents or name.lower() in DOCUMENTS or path in JOURNAL

    screen = Screen()
    found: dict[tuple[str, str], Leak] = {}
    for whole in (False, True):
        tips = [one.new for one in ours if one.whole is whole and one.new is not None]
        if not tips:
            continue
        listed = _new_objects(called.repo, tips, ours, remote)
        wanted = {oid: path for oid, path in listed if path is None or whole or matters(path)}
        # An annotated tag is listed under its name, which is no path.
        wanted.update({oid: None for oid in tips if oid not in wanted})
        for kind, oid, text in _read(called.repo, list(wanted)):
            for line, secret in screen.find(text):
                found[secret, text.split("\n")[line - 1]] = Leak(kind, oid, wanted[oid] or "", line, secret)
    return list(found.values())


def _new_objects(
    repo: Repository, tips: Iterable[str], ours: Iterable[Outgoing], remote: str
) -> list[tuple[str, str | None]]:
    """Objects that the remote does not have, newest first, each with its path; None: a commit."""
    given, options = _range(tips, ours, remote)
    listed = repo.git("rev-list", "--objects", "--ignore-missing", *options, input=given).text
    rows = (row.partition(" ") for row in listed.split("\n") if row)
    return [(oid, path if space else None) for oid, space, path in rows]


def _range(tips: Iterable[str], ours: Iterable[Outgoing], remote: str) -> tuple[bytes, tuple[str, ...]]:
    """Input and options by which git walks from the tips to what the remote has, as far as that is known here."""
    lines = [*tips, *(f"^{one.old}" for one in ours if one.old is not None)]
    hidden: tuple[str, ...] = ()
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)*", remote):
        hidden = (f"--glob=refs/remotes/{remote}/*", f"--glob=refs/skillgit/remotes/{remote}/*")
    return "".join(f"{line}\n" for line in lines).encode(), ("--stdin", "--not", *hidden)


def _read(repo: Repository, oids: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Kind, id and text of objects, trees left out; of commits and tags the message."""
    for start in range(0, len(oids), _AT_ONCE):
        some = oids[start : start + _AT_ONCE]
        result = repo.git("cat-file", "--batch", "--buffer", input="".join(f"{oid}\n" for oid in some).encode())
        yield from _objects(result)


def _objects(result: GitResult) -> Iterator[tuple[str, str, str]]:
    data, at = result.out, 0
    while at < len(data):
        end = data.index(b"\n", at)
        head = data[at:end].decode().split(" ")
        if len(head) != 3:  # `<id> missing`
            raise failure(("cat-file",), GitResult(1, b"", f"fatal: {' '.join(head)}"))
        oid, kind, size = head
        content = data[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
        if kind != "tree":
            text = content.partition(b"\n\n")[2] if kind in ("commit", "tag") else content
            yield kind, oid, text.decode("utf-8", "replace")


def _told(repo: Repository, leak: Leak, ours: Sequence[Outgoing], remote: str) -> str:
    """A secret in a sentence that says where it is, without the secret."""
    if leak.kind != "blob":
        return f"{leak.kind} {leak.oid[:12]} has a secret ({leak.secret}) on line {leak.line} of its message"
    given, options = _range([one.new for one in ours if one.new is not None], ours, remote)
    args = ("log", "--format=%H", "--ignore-missing", f"--find-object={leak.oid}", *options)
    commit = repo.git(*args, input=given, check=False).text.rpartition("\n")[2]
    where = f"commit {commit[:12]}" if commit else f"blob {leak.oid[:12]}"
    return f"{where} has a secret ({leak.secret}) in {leak.path}, line {leak.line}"
