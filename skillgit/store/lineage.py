"""Which commits brought the lines of a file, or took them out: found by the lines themselves, wherever they stand.

`git blame` says nothing of lines that are gone, and needs to know where a line stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from skillgit.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit that brought lines of a text, or took lines out; blank lines do not count."""

    commit: str
    brought: tuple[str, ...]
    took: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A commit's lines of a file, and those of its parents, as counts."""

    commit: str
    lines: Counter[str]
    parents: tuple[Counter[str], ...]


def versions(repo: Repository, tip: str, other: str, path: str) -> list[Version]:
    """The commits that are in `tip` and not in `other` and changed a file, the newest first."""
    listed = repo.git("rev-list", "--topo-order", "--parents", tip, f"^{other}", "--", f":(top,literal){path}")
    known: dict[str, Counter[str]] = {}

    def lines(commit: str) -> Counter[str]:
        if commit not in known:
            entry = repo.objects.entry(commit, path)
            text = repo.objects.read_blob(entry.oid).decode(errors="replace") if entry else ""
            known[commit] = counted(text)
        return known[commit]

    found = []
    for line in listed.text.split("\n") if listed.text else ():
        commit, *parents = line.split(" ")
        found.append(Version(commit, lines(commit), tuple(lines(parent) for parent in parents)))
    return found


def counted(text: str) -> Counter[str]:
    """The lines of a text that are not blank, without their ends."""
    return Counter(line for line in (raw.rstrip("\r\n") for raw in text.split("\n")) if line.strip())


def touches(found: Sequence[Version], side: str, before: str) -> list[Touch]:
    """Which commits made `side` of `before`: each line is the newest commit's that brought it, or took it out. Pure.

    Args:
        found: the side's commits, the newest first.
    """
    new, gone = counted(side) - counted(before), counted(before) - counted(side)
    made = []
    for version in found:
        least, most = Counter[str](), Counter[str]()
        for parent in version.parents:
            most |= parent
        for line in version.lines.keys() | most.keys():
            least[line] = min((parent[line] for parent in version.parents), default=0)
        brought = (version.lines - most) & new
        took = (least - version.lines) & gone
        new, gone = new - brought, gone - took
        if brought or took:
            made.append(Touch(version.commit, _in_order(brought, side), _in_order(took, before)))
    return made


def _in_order(lines: Counter[str], text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for raw in text.split("\n") if (line := raw.rstrip("\r\n")) in lines))
