"""What a run of another trainer is, between the folder that it was read from and the history that it becomes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from skillgit.train.archive.journal import ACCEPTED
from skillgit.train.propose.candidate import EditOutcome
from skillgit.train.scoring.scores import Measurement, Metric

Rows = Sequence[Mapping[str, Any]]

UNGATED = "import"
"""Kind and decision of a document that the trainer went on with and did not put before its gate."""


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step's files as they are.

    Args:
        record: its `step_record.json`, or its row of `history.json`.
        candidate, after: the document that was measured, and the one that the next step began with.
        patch, report: the selected edits, and what became of each.
        attempts, batch: one row per task of val and of train.
    """

    number: int
    record: Mapping[str, Any]
    candidate: str | None
    after: str | None
    patch: Mapping[str, Any]
    report: Rows
    attempts: Rows
    batch: Rows
    when: datetime


@dataclass(frozen=True, slots=True)
class RawSlow:
    """The slow update of an epoch: its `slow_result.json`, its document, val rows, and how many tasks it compared."""

    result: Mapping[str, Any]
    candidate: str | None
    attempts: Rows
    pairs: int
    when: datetime


@dataclass(frozen=True, slots=True)
class RawRun:
    """A run's folder as far as its steps are whole.

    Args:
        slow: by epoch.
        best, summary: `best_skill.md` and `summary.json`; None and empty where the run did not get that far.
        baseline, final: val rows of the first and the last document.
        left_out: what is not whole, a sentence each.
    """

    name: str
    config: Mapping[str, Any]
    initial: str
    steps: tuple[RawStep, ...]
    slow: Mapping[int, RawSlow]
    best: str | None
    summary: Mapping[str, Any]
    baseline: Rows
    final: Rows
    started: datetime
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A document's scores on val; `score` is the metric that the gate looked at.

    Args:
        tasks: by task; None where the folder does not have them, or where they do not make up the scores.
    """

    score: Fraction
    hard: Fraction
    soft: Fraction
    tasks: Measurement | None = None


@dataclass(slots=True)
class Entry:
    """One entry of the journal to be.

    Args:
        kind: `step`, `slow-update` or `import`. decision: as a record's, or `import`.
        text: the whole document, as it will be committed; None where none is.
        outcomes: the edits, and what became of each; those that were applied make the commits.
        candidate: the last part of a rejected ref's name.
        before: what the trainer compared the score with.
        gained, lost: val tasks whose score rose or fell, where both documents' are known.
        best: its document became the best one. closes: the epoch ends with it.
    """

    kind: str
    step: int
    epoch: int
    decision: str
    reason: str
    when: datetime
    text: str | None = None
    outcomes: tuple[EditOutcome, ...] = ()
    scored: Scored | None = None
    before: Fraction | None = None
    gained: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    candidate: int = 1
    learning_rate: int = 0
    batch: Measurement = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    best: bool = False
    closes: bool = False

    @property
    def accepted(self) -> bool:
        """Whether it passed the gate, or was let through it."""
        return self.decision in ACCEPTED

    @property
    def moves(self) -> bool:
        """Whether its document became the incumbent."""
        return self.accepted or self.decision == UNGATED


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run, ready to be written.

    Args:
        name: of its folder.
        initial: the first document, as it will be committed; None where it was empty.
        settings: those of the trainer's that a journal keeps. models: by role.
        digest: of what was read; the same folder has the same wherever it lies.
        left_out, notes: what the person is told, a sentence each.
    """

    name: str
    initial: str | None
    baseline: Scored | None
    entries: tuple[Entry, ...]
    metric: Metric
    gate: str
    models: dict[str, str]
    settings: dict[str, Any]
    total_steps: int
    started: datetime
    digest: str
    left_out: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> Entry | None:
        """The entry that brought the best document; None where that is the first one."""
        return next((entry for entry in reversed(self.entries) if entry.best), None)

    @property
    def steps(self) -> int:
        """The last step."""
        return max((entry.step for entry in self.entries), default=0)
