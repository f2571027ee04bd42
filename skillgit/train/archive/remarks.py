"""What people say of a candidate: their reasons, as notes on its commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from skillgit.errors import UsageError
from skillgit.store.notes import add_note, read_notes
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository

KIND = "note"


@dataclass(frozen=True, slots=True)
class Remark:
    """One person's words. `by` is `Name <email>`; `at` is ISO 8601."""

    text: str
    by: str
    at: str

    def to_json(self) -> dict[str, str]:
        """Stable keys."""
        return {"text": self.text, "by": self.by, "at": self.at}


class Remarks:
    """The notes of a repository. Which objects have any is read once, so that thousands can be asked for."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo

    @cached_property
    def _noted(self) -> frozenset[str]:
        tip = self._repo.read_ref(NOTES)
        return frozenset(path.replace("/", "") for path in self._repo.objects.list_files(tip)) if tip else frozenset()

    def facts(self, oid: str) -> list[dict[str, Any]]:
        """Every fact about an object, in order; whoever can push can write them."""
        return read_notes(self._repo, oid) if oid in self._noted else []

    def of(self, commit: str) -> list[Remark]:
        """What people said of a commit, in order."""
        return [_remark(fact) for fact in self.facts(commit) if fact.get("kind") == KIND and fact.get("text")]


def remember(repo: Repository, commit: str, text: str, at: datetime) -> Remark:
    """Add a person's words to the notes on a commit, without the secrets in them.

    Args:
        at: now, with its time zone.

    Raises:
        UsageError: there are no words. RepositoryError: git has no identity. LockedError, RefusedError: as `add_note`.
    """
    from skillgit.redact import redact

    said = redact(text).strip()
    if not said:
        raise UsageError("the note has no text", mend="say in a few words why")
    remark = Remark(said, repo.identity(), at.isoformat(timespec="seconds"))
    add_note(repo, commit, {"kind": KIND, **remark.to_json()})
    return remark


def _remark(fact: Mapping[str, Any]) -> Remark:
    return Remark(str(fact["text"]), str(fact.get("by", "")), str(fact.get("at", "")))
