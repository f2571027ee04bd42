"""The environment contract: tasks in three splits, plus a way to attempt and to score one."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

from skillgit.errors import MeasurementError
from skillgit.models.base import Json, Reply, Request, Turn, Usage

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")

Ask = Callable[[Request], Awaitable[Reply]]
"""How an environment calls the target (or the judge): it never sees a backend."""


def exact(value: float | int | str | Fraction) -> Fraction:
    """A score as an exact fraction in 0..1 (DESIGN, Numbers).

    Raises:
        MeasurementError: not a number, not finite, or outside 0..1.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise MeasurementError(f"a score is {value}", mend="scores are finite numbers from 0 to 1")
    try:
        number = Fraction(value).limit_denominator(10**6)
    except (TypeError, ValueError, ZeroDivisionError):
        raise MeasurementError(f"a score is {value!r}", mend="scores are finite numbers from 0 to 1") from None
    if not 0 <= number <= 1:
        raise MeasurementError(f"a score is {value}, outside 0..1", mend="scale it to 0..1")
    return number


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work.

    Args:
        id: unique over all splits.
        input: what fills `{input}` in the prompt.
        answers: the accepted answers, the first one is shown; may be empty (checks, python scorers).
        fields: the whole row as loaded, `id`, `input` and `answer` included.
        digest: sha256 hex of the row's canonical JSON.
        source: `file:line`, for messages.
    """

    id: str
    input: str
    answers: tuple[str, ...]
    fields: Mapping[str, Json]
    digest: str
    source: str


@dataclass(frozen=True, slots=True)
class Score:
    """`hard` is all or nothing where the scorer knows it, `soft` gives part marks; `reason` says why."""

    hard: Fraction
    soft: Fraction
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A scored attempt at one task.

    Args:
        reply: the target's last reply, whole.
        answer: what extraction took from it.
        calls: names of the tools called, in order.
        transcript: the conversation, for the evidence ref.
    """

    reply: str
    answer: str
    score: Score
    usage: Usage = field(default_factory=Usage)
    calls: tuple[str, ...] = ()
    transcript: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the optimizer may see of a task's truth: `expected` an answer, `reason` a sentence, or nothing."""

    kind: Literal["expected", "reason", "nothing"]
    text: str = ""


class Environment(Protocol):
    """What training needs of an environment. `env.yaml` gives one without code; `env.py` may bring its own."""

    @property
    def description(self) -> str:
        """One line that a person understands; the optimizer may see it."""

    @property
    def digest(self) -> str:
        """sha256 hex of all that turns a document and a task into a score, tasks not included."""

    @property
    def scorer(self) -> str:
        """The scorer's name, for reports and for what the optimizer is told."""

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """The tasks of a split, in file order."""

    async def attempt(self, skill: str, task: Task, target: Ask) -> Attempt:
        """Let the target try a task with `skill` (the document without its frontmatter), and score it.

        Raises:
            ModelError: the target failed. EnvironmentFailedError: scoring failed.
        """

    def explain(self, task: Task, attempt: Attempt) -> Explanation:
        """As much of the truth as `reveal` allows."""

    async def close(self) -> None:
        """End what the environment started (scorer processes)."""
