"""What a run tells whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from skillgit.models.base import Usage


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins or goes on. `resumed_at` is the last finished step, None for a new run."""

    skill: str
    run: str
    epochs: int
    steps: int
    resumed_at: int | None


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage of a step: `baseline`, `rollout`, `reflect`, `gate`, `compare`, `slow-update`, `test`.

    `total` is the number of units, 0 where that is not known; `documents` says under how many documents the attempts
    are made: the scores of more than one have no common mean.
    """

    step: int
    epoch: int
    stage: str
    total: int
    documents: int = 1


@dataclass(frozen=True, slots=True)
class UnitDone:
    """One attempt or one optimizer call of the stage is done. `score` is None where it failed or has none."""

    score: Fraction | None
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step, or a slow update (`kind`), is in the journal. `decision` is a trailer's word, or `none`, `baseline`,
    `human`.

    `calls`, `tokens` and `usd` (None where a price is not known) are what this step spent.
    """

    step: int
    epoch: int
    decision: str
    score: Fraction | None
    maximum: Fraction | None
    before: Fraction | None
    best: Fraction | None
    edits: int
    reason: str
    calls: int
    tokens: int
    usd: Decimal | None = None
    kind: str = "step"


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run has ended; `reason` says why."""

    reason: str
    steps: int
    accepted: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person should know: a lock taken over, a work-tree copy that differs, a small val split."""

    text: str


Event = RunStarted | StageStarted | UnitDone | StepFinished | RunFinished | Note
Listener = Callable[[Event], None]
