"""The two sides of a transfer: the refs that each has, and how their commits stand to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from skillgit.errors import RepositoryError
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.store.sync.namespaces import Kind, Shared, shared

_STAY = {"GIT_NO_LAZY_FETCH": "1"}
"""In a partial clone, a question about an object must not fetch it."""


class Relation(Enum):
    """How our value of a ref stands to the other side's."""

    SAME = "same"
    AHEAD = "ahead"
    BEHIND = "behind"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"
    """Their commit, or a part of its history, is not here."""


class Commits:
    """Answers about commits, of which some may not be here.

    Args:
        asked: the other side's values; looked up at once.
    """

    def __init__(self, repo: Repository, asked: Iterable[str] = ()) -> None:
        self._repo = repo
        self._kinds: dict[str, str] = {}
        self.look(asked)

    def look(self, asked: Iterable[str]) -> None:
        """Find out which of these commits are here."""
        oids = list(dict.fromkeys(asked))
        if not oids:
            return
        text = "".join(f"{oid}\n" for oid in oids).encode()
        told = self._repo.git("cat-file", "--batch-check=%(objecttype)", input=text, env=_STAY).text.split("\n")
        self._kinds.update(zip(oids, told, strict=True))

    def here(self, oid: str) -> bool:
        """Whether it is a commit, and here."""
        return self._kind(oid) == "commit"

    def foreign(self, oid: str) -> bool:
        """Whether it is here, and no commit: no ref of ours that moves points to such."""
        return self._kind(oid) in ("blob", "tree", "tag")

    def is_blob(self, oid: str) -> bool:
        """Whether it is here, and a file's content."""
        return self._kind(oid) == "blob"

    def _kind(self, oid: str) -> str:
        if oid not in self._kinds:
            self.look([oid])
        return self._kinds[oid]

    def relation(self, ours: str, theirs: str) -> Relation:
        """How ours stands to theirs."""
        if ours == theirs:
            return Relation.SAME
        if not (self.here(theirs) and self.here(ours)):
            return Relation.UNKNOWN
        try:
            if self._repo.objects.is_ancestor(theirs, ours):
                return Relation.AHEAD
            return Relation.BEHIND if self._repo.objects.is_ancestor(ours, theirs) else Relation.DIVERGED
        except RepositoryError:
            return Relation.UNKNOWN  # a history with holes, as an interrupted fetch leaves it

    def lacking(self, ours: str, theirs: str) -> int:
        """How many commits of theirs ours has not; both have to be here."""
        return int(self._repo.git("rev-list", "--count", theirs, f"^{ours}").text)


def local_refs(repo: Repository, remote: str) -> dict[str, str]:
    """Our refs that travel, and the fetched copies of a remote's, with their values."""
    folders = ("refs/heads/skill", "refs/tags/skill", "refs/skillgit", NOTES, f"refs/remotes/{remote}/skill")
    told = repo.git("for-each-ref", "--format=%(refname) %(objectname)", *folders).text
    return {ref: oid for ref, _, oid in (line.partition(" ") for line in told.split("\n") if line)}


def travelling(refs: Mapping[str, str], *, evidence: bool) -> dict[Shared, str]:
    """Those of a side's refs that travel, by what they are; transcripts only where they are asked for."""
    found = ((shared(ref), oid) for ref, oid in refs.items())
    return {one: oid for one, oid in found if one is not None and (evidence or one.kind is not Kind.EVIDENCE)}


def names(refs: Mapping[str, str]) -> list[str]:
    """The skills that a side's refs are of, sorted."""
    return sorted({one.name for one in travelling(refs, evidence=True)})
