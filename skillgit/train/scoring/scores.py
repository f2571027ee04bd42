"""Scores of one document on the val tasks, exact, as the journal keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from skillgit.config import EvaluationSettings
from skillgit.envs.contract import exact
from skillgit.errors import MeasurementError
from skillgit.train.archive import forms


@dataclass(frozen=True, slots=True)
class Metric:
    """The number that the gate looks at.

    Args:
        weight: of `soft` in `mixed`: `(1 - weight) * hard + weight * soft` (SkillOpt's `evaluation/gate.py`).
    """

    name: Literal["hard", "soft", "mixed"]
    weight: Fraction = Fraction(1, 2)

    def value(self, hard: Fraction, soft: Fraction) -> Fraction:
        """Of one attempt."""
        if self.name == "mixed":
            return (1 - self.weight) * hard + self.weight * soft
        return hard if self.name == "hard" else soft

    def __str__(self) -> str:
        return self.name if self.name != "mixed" else f"mixed({float(self.weight):g})"


HARD, SOFT = Metric("hard"), Metric("soft")


def metric_of(settings: EvaluationSettings) -> Metric:
    """The configured metric."""
    return Metric(settings.gate_metric, exact(settings.gate_mixed_weight))


@dataclass(frozen=True, slots=True)
class Trial:
    """One scored attempt."""

    hard: Fraction
    soft: Fraction

    def value(self, metric: Metric) -> Fraction:
        """The number that the gate looks at."""
        return metric.value(self.hard, self.soft)


Measurement = dict[str, tuple[Trial | None, ...]]
"""Task id to its trials, `repeats` of them; None is an errored rollout."""


def by_metric(measurement: Measurement, metric: Metric) -> dict[str, list[Fraction | None]]:
    """What the gate takes."""
    return {
        task: [None if trial is None else trial.value(metric) for trial in trials]
        for task, trials in measurement.items()
    }


def mean(measurement: Measurement, metric: Metric) -> Fraction | None:
    """Mean over tasks of the mean over trials; tasks without a score are left out. None where no task has one."""
    per_task = []
    for trials in measurement.values():
        values = [trial.value(metric) for trial in trials if trial is not None]
        if values:
            per_task.append(Fraction(sum(values), len(values)))
    return Fraction(sum(per_task), len(per_task)) if per_task else None


def compared(measurement: Measurement, other: Measurement) -> Measurement:
    """The tasks that both documents have a score for: what two scores compare on."""
    return {
        task: trials
        for task, trials in measurement.items()
        if any(t is not None for t in trials) and any(t is not None for t in other.get(task, ()))
    }


def coverage(measurement: Measurement) -> Fraction:
    """The share of tasks with at least one score."""
    if not measurement:
        return Fraction(0)
    return Fraction(sum(any(t is not None for t in trials) for trials in measurement.values()), len(measurement))


def encode(measurement: Measurement) -> dict[str, Any]:
    """Plain JSON, tasks sorted: `{"t-1": [["1/1", "1/1"], null]}`."""
    return {
        task: [None if trial is None else [_text(trial.hard), _text(trial.soft)] for trial in measurement[task]]
        for task in sorted(measurement)
    }


def decode(value: Mapping[str, Iterable[Any]]) -> Measurement:
    """The inverse of `encode`.

    Raises:
        MeasurementError: not what `encode` writes.
    """
    try:
        return {task: tuple(None if t is None else _trial(*t) for t in trials) for task, trials in value.items()}
    except (TypeError, ValueError, AttributeError):
        raise MeasurementError("a journal's scores are not readable", mend="run `skillgit doctor`") from None


def _trial(hard: str, soft: str) -> Trial:
    return Trial(forms.score(hard), forms.score(soft))


def _text(number: Fraction) -> str:
    return f"{number.numerator}/{number.denominator}"


def decimal(number: Fraction | None) -> str:
    """Six decimals, as trailers and tables show a score; a dash for none."""
    return "-" if number is None else f"{float(number):.6f}"
