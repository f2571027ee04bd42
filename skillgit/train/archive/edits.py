"""The edits of a skill's history, as people name them: by commit, by step, or by run and step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillgit.errors import UsageError
from skillgit.store.repository import Repository
from skillgit.train.archive import history, story
from skillgit.train.archive.journal import StepRecord

if TYPE_CHECKING:
    from skillgit.document import Edit

_STEP = re.compile(r"(?:([0-9a-z]{1,26})/)?0*(\d{1,9})(?:-0*(\d{1,9}))?(?:\.(\d{1,3}))?")

_OWN = ("step", "import")
"""Kinds of entries that a step's number alone names."""
_RANKS = {"step": 0, "import": 0, "merge": 1, "slow-update": 2}
"""Of entries with one step number, which is meant by it; changes by hand come last."""


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """An edit of a measured candidate, with the commit that brought it.

    Args:
        run, step, number: its identity; `number` counts the candidate's commits, from 1.
        row: the edit as the journal keeps it: op, target, content, reason, why, support, source.
    """

    run: str
    step: int
    number: int
    count: int
    commit: str
    row: dict[str, Any]
    record: StepRecord

    @property
    def edit(self) -> Edit:
        """The edit itself."""
        from skillgit.document import Edit

        row = self.row
        return Edit(str(row["op"]), str(row["target"]), str(row["content"]), str(row.get("reason") or ""))

    @property
    def place(self) -> str:
        """`STEP.NUMBER`, as a person names it in its run; with the candidate's number where the step's own edits have
        that name: `STEP-KK.NUMBER`."""
        candidate = "" if self.record.kind in _OWN else f"-{self.record.candidate:02d}"
        return f"{self.step}{candidate}" + (f".{self.number}" if self.count > 1 else "")


def of_record(run: str, record: StepRecord) -> list[RecordedEdit]:
    """A candidate's edits: its commits are those that were applied, in order."""
    rows = [row for row in record.edits if row.get("status") == "applied"]
    if len(rows) != len(record.commits):
        return []
    pairs = enumerate(zip(record.commits, rows, strict=True), start=1)
    return [RecordedEdit(run, record.step, n, len(rows), commit, row, record) for n, (commit, row) in pairs]


def accepted(repo: Repository, name: str) -> Iterator[RecordedEdit]:
    """Every edit that became part of the branch, newest first."""
    for entry in story.steps(repo, name):
        if entry.record.accepted:
            yield from reversed(of_record(entry.run, entry.record))


def by_commit(repo: Repository, name: str, commit: str) -> RecordedEdit | None:
    """The edit that a commit brought, accepted or rejected; None where no journal here knows it."""
    for entry in story.steps(repo, name):
        for one in (entry, *entry.others):
            if commit in one.record.commits:
                return next((e for e in of_record(one.run, one.record) if e.commit == commit), None)
    return None


def named(repo: Repository, name: str, text: str) -> list[RecordedEdit]:
    """The accepted edits that a person means: a commit, STEP (all of its edits), STEP.N, or one of them behind RUN/.

    A step without a run is the newest run's that accepted something in a step of that number. What stands beside a
    step in the journal (a slow update, a change by hand) has a candidate's number, STEP-KK, and goes by the step's
    alone only where nothing else does.

    Raises:
        UsageError: there is none, or a step's number alone means more than one candidate.
    """
    mend = f"see `skillgit log {name}`; name a commit, a step, STEP.N or STEP-KK, or RUN/ and one of these"
    asked = _STEP.fullmatch(text)
    if asked:
        number, candidate = asked[4], int(asked[3]) if asked[3] else None
        of_step = _of_step(repo, name, asked[1] or "", int(asked[2]), candidate)
        fitting = [e for e in of_step if number is None or e.number == int(number)]
        if fitting:
            return fitting
    commit = repo.resolve(text) if len(text) >= 4 else None
    if commit is None:
        raise UsageError(f"{name} has no accepted edit {text!r}", mend=mend)
    found = next((e for e in accepted(repo, name) if e.commit == commit), None)
    if found is None:
        raise UsageError(f"{text}: no accepted edit of {name} is in {commit[:12]}", mend=mend)
    return [found]


def _of_step(repo: Repository, name: str, run: str, step: int, candidate: int | None) -> list[RecordedEdit]:
    for ident, tip in reversed(history.runs(repo, name)):
        if not ident.startswith(run):
            continue
        found: dict[int, list[list[RecordedEdit]]] = {}
        for _, record in history.entries(repo, tip):
            if record.step < step:
                break
            wanted = record.step == step and record.accepted and candidate in (None, record.candidate)
            if wanted and (brought := of_record(ident, record)):
                found.setdefault(_RANKS.get(record.kind, len(_RANKS)), []).insert(0, brought)
        if found:
            return _only(name, step, found[min(found)])
    return []


def _only(name: str, step: int, found: list[list[RecordedEdit]]) -> list[RecordedEdit]:
    if len(found) > 1:
        which = ", ".join(f"{step}-{edits[0].record.candidate:02d} ({edits[0].record.kind})" for edits in found)
        raise UsageError(f"{name} has more than one accepted candidate {step}: {which}", mend="name one of them")
    return found[0]
