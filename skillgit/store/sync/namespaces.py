"""Which refs travel, what kind each is, and where its fetched copy stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from skillgit.config import check_name
from skillgit.store.refs import HEADS, is_run_id, parse_journal, parse_rejected


class Kind(Enum):
    """What a ref is; the value is its word for people."""

    BRANCH = "branch"
    BEST = "best"
    JOURNAL = "journal"
    EVIDENCE = "evidence"
    REJECTED = "rejected candidate"
    TAG = "tag"
    PUBLISHED = "published"
    TASKS = "tasks"
    PRUNED = "pruned"
    """The list of pruned candidates: a blob, which every side adds to."""

    @property
    def immutable(self) -> bool:
        """Whether it never changes once it is there."""
        return self in (Kind.REJECTED, Kind.TAG)


@dataclass(frozen=True, slots=True)
class Shared:
    """A ref that travels: the skill that it belongs to, and its kind."""

    ref: str
    name: str
    kind: Kind

    @property
    def short(self) -> str:
        """How a person calls it: without what all refs of its kind begin with."""
        for prefix in (HEADS, "refs/tags/", "refs/skillgit/"):
            if self.ref.startswith(prefix):
                return self.ref.removeprefix(prefix)
        return self.ref

    @property
    def release(self) -> int | None:
        """The number of a release's tag; None for all else."""
        found = _TAG.fullmatch(self.ref)
        return int(found[4]) if found and found[4] else None


def next_release(name: str, refs: Iterable[Shared]) -> int:
    """One more than the highest release of a skill among some refs."""
    return 1 + max((one.release or 0 for one in refs if one.name == name), default=0)


_TAG = re.compile(r"refs/tags/skill/([a-z0-9-]+)/(?:([0-9a-z]{26})/epoch-([0-9]{2,})|v([1-9][0-9]{0,8}))")
_SIMPLE = re.compile(r"refs/(?:heads/skill|skillgit/(best|published|tasks|pruned))/([a-z0-9-]+)")
_EVIDENCE = "refs/skillgit/evidence/"


def shared(ref: str) -> Shared | None:
    """What a ref is, by its whole name; None for one that does not travel, or is not named as we name them."""
    if rejected := parse_rejected(ref):
        return Shared(ref, rejected.name, Kind.REJECTED)
    if journal := parse_journal(ref):
        return Shared(ref, journal.name, Kind.JOURNAL)
    if ref.startswith(_EVIDENCE):
        same = parse_journal(ref.replace("/evidence/", "/runs/", 1))
        return Shared(ref, same.name, Kind.EVIDENCE) if same else None
    if (found := _TAG.fullmatch(ref)) and (found[2] is None or is_run_id(found[2])):
        return Shared(ref, found[1], Kind.TAG) if _named(found[1]) else None
    if (found := _SIMPLE.fullmatch(ref)) and _named(found[2]):
        return Shared(ref, found[2], Kind(found[1] or "branch"))
    return None


def tracking(remote: str, one: Shared) -> str:
    """Where the fetched copy of a ref stands; an immutable one needs none, and is its own."""
    if one.kind is Kind.BRANCH:
        return f"refs/remotes/{remote}/{one.ref.removeprefix(HEADS)}"
    if one.kind.immutable:
        return one.ref
    return f"refs/skillgit/remotes/{remote}/{one.ref.removeprefix('refs/skillgit/')}"


def tracking_notes(remote: str) -> str:
    """Where the fetched copy of the notes stands."""
    return f"refs/skillgit/remotes/{remote}/notes"


def prefix_of(one: Shared) -> str:
    """The folder that all refs of this kind and skill lie in, as a wildcard's beginning; its own name where it is
    the only one."""
    folders = {
        Kind.REJECTED: f"refs/skillgit/rejected/{one.name}/",
        Kind.JOURNAL: f"refs/skillgit/runs/{one.name}/",
        Kind.EVIDENCE: f"{_EVIDENCE}{one.name}/",
        Kind.TAG: f"refs/tags/skill/{one.name}/",
    }
    return folders.get(one.kind, one.ref)


def _named(name: str) -> bool:
    try:
        check_name(name)
    except ValueError:
        return False
    return True
