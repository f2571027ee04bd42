"""Try a rejected candidate again, on today's tip."""

from __future__ import annotations

from skillgit.errors import RefusedError
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.train.archive import edits
from skillgit.train.archive.story import Rejected
from skillgit.train.carry.pick import Picked


def wanted(repo: Repository, path: str, item: Rejected) -> list[Picked]:
    """What a rejected candidate would change: its edits, as the journal has them, or commit by commit without it.

    Raises:
        RefusedError: its commits say too little.
    """
    if item.entry is not None:
        known = edits.of_record(item.run, item.entry.record)
        if known:
            return [Picked(edit.commit, path, edit) for edit in known]
    return [Picked(commit, path, None) for commit in _commits(repo, item.commit)]


def _commits(repo: Repository, last: str) -> list[str]:
    """The candidate's commits, oldest first: `Skill-Edit: 2/2 …` says how many there are."""
    number, _, rest = dict(parse_trailers(repo.objects.read_commit(last).message)).get("Skill-Edit", "").partition("/")
    count = rest.partition(" ")[0]
    if not (number.isdigit() and number == count and 0 < int(count) <= 1000):
        raise RefusedError(f"{last[:12]}: its journal is not here, and its trailers do not say what it changed")
    found = []
    for info in repo.objects.first_parents(last, None):
        found.append(info.oid)
        if len(found) == int(count):
            break
    return found[::-1]
