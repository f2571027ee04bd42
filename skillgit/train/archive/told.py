"""What a commit says of itself in its trailers: a claim, which counts only where it has the document it is about."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice

from skillgit.store.commits import CommitInfo
from skillgit.store.refs import is_run_id
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.train.archive.journal import StepRecord, exact_text

MOST_EDITS = 100
"""Commits that are looked at for one candidate."""

_SCORES = (
    ("score", "Skill-Score"),
    ("score_hard", "Skill-Score-Hard"),
    ("score_soft", "Skill-Score-Soft"),
    ("maximum", "Skill-Score-Max"),
    ("before", "Skill-Score-Before"),
)
_DECIMAL = re.compile(r"[01](?:\.\d{1,12})?")
_COUNT = re.compile(r"calls=(\d{1,12}) tokens=(\d{1,15})(?: usd=(\d{1,9}(?:\.\d{1,9})?))?")
_EDIT = re.compile(r"(\d{1,4})/(\d{1,4}) ([\w-]{1,40})")


class Trailers:
    """A commit's trailers, read as what they are for. Whoever can commit can write them: what is no value is None."""

    def __init__(self, message: str) -> None:
        self._values = {key.lower(): value for key, value in parse_trailers(message)}

    def text(self, key: str) -> str:
        """A value, empty where there is none."""
        return self._values.get(key.lower(), "")

    def number(self, key: str) -> Fraction | None:
        """A score in 0..1."""
        text = self.text(key)
        number = Fraction(text) if _DECIMAL.fullmatch(text) else None
        return number if number is not None and number <= 1 else None

    @property
    def run(self) -> str | None:
        """The run."""
        return self.text("Skill-Run") if is_run_id(self.text("Skill-Run")) else None

    @property
    def step(self) -> int | None:
        """The step."""
        return _whole(self.text("Skill-Step"))

    @property
    def edit(self) -> tuple[int, int] | None:
        """Which edit of how many this commit is."""
        found = _EDIT.fullmatch(self.text("Skill-Edit"))
        return (int(found[1]), int(found[2])) if found else None


def record_of(info: CommitInfo, blob: str | None) -> StepRecord:
    """A record made of a commit's trailers, without edits.

    Args:
        blob: its document. Scores are taken only where they are about it.
    """
    trailers = Trailers(info.message)
    mine = blob is not None and trailers.text("Skill-Blob") == blob
    count = _COUNT.fullmatch(trailers.text("Skill-Cost"))
    record = StepRecord(
        kind=trailers.text("Skill-Kind") or "step",
        step=trailers.step or 0,
        epoch=_whole(trailers.text("Skill-Epoch")) or 0,
        decision=trailers.text("Skill-Decision"),
        reason="",
        document=blob or "",
        document_before="",
        commits=[info.oid],
        cost={"calls": int(count[1]), "tokens": int(count[2]), "usd": count[3]} if count else {},
        models={role: trailers.text(f"Skill-{role.capitalize()}") for role in ("target", "optimizer")},
    )
    if mine:
        for field, key in _SCORES:
            setattr(record, field, exact_text(trailers.number(key)))
    return record


def chain_of(repo: Repository, last: CommitInfo) -> list[str]:
    """The commits of the candidate that ends in this one, in order of application, as far as they are here."""
    edit = Trailers(last.message).edit
    if edit is None or edit[0] != edit[1]:
        return [last.oid]
    found = [info.oid for info in islice(repo.objects.first_parents(last.oid), min(edit[1], MOST_EDITS))]
    return found[::-1]


def date_of(seconds: int) -> str:
    """A commit's time as ISO 8601 in UTC; empty where it is none."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None
