"""Scores as a folder has them, checked and exact. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from skillgit.envs.contract import exact
from skillgit.errors import MeasurementError
from skillgit.train.imports.values import Rows, Scored
from skillgit.train.scoring.scores import HARD, SOFT, Measurement, Metric, Trial, mean

_ROUNDING = Fraction(2, 10**6)
"""Sums of floats and six decimals: two means that are nearer are the same."""
_NAMES: tuple[str, ...] = ("hard", "soft", "mixed")
_COUNTS = ("calls", "prompt_tokens", "completion_tokens")
_TARGET_STAGES = ("rollout",)


def metric_of(config: Mapping[str, Any]) -> Metric:
    """The number that the run's gate looked at."""
    name = config.get("gate_metric", "hard")
    weight = config.get("gate_mixed_weight", 0.5)
    try:
        share = number("gate_mixed_weight", weight)
    except MeasurementError:
        share = Fraction(1, 2)
    if name == "mixed":
        return Metric("mixed", share)
    return Metric("soft" if name == "soft" else "hard")


def number(name: str, value: Any) -> Fraction:
    """A score.

    Raises:
        MeasurementError: no finite number from 0 to 1; names it.
    """
    if type(value) not in (int, float):
        raise MeasurementError(f"{name} is no number")
    try:
        return exact(value)
    except MeasurementError as error:
        raise MeasurementError(f"{name} is unusable: {error.message}") from None


def known(value: Any) -> Fraction | None:
    """A score, None where there is no usable one."""
    try:
        return number("", value)
    except MeasurementError:
        return None


def scored(record: Mapping[str, Any], rows: Rows, metric: Metric) -> Scored:
    """A candidate's scores, with those of its tasks where they make up the same.

    Raises:
        MeasurementError: one is no finite number from 0 to 1; names it.
    """
    hard, soft = (number(name, record.get(name)) for name in ("selection_hard", "selection_soft"))
    gate = record.get("candidate_gate_score")
    score = metric.value(hard, soft) if gate is None else number("candidate_gate_score", gate)
    return Scored(score, hard, soft, matching(rows, hard, soft))


def of_rows(rows: Rows, metric: Metric) -> Scored | None:
    """A document's scores from those of its tasks alone; None where they cannot be used."""
    tasks = _measurement(rows)
    if tasks is None:
        return None
    hard, soft = mean(tasks, HARD), mean(tasks, SOFT)
    if hard is None or soft is None:
        return None
    return Scored(metric.value(hard, soft), hard, soft, tasks)


def matching(rows: Rows, hard: Fraction | None, soft: Fraction | None) -> Measurement | None:
    """Scores by task, where their means are the recorded ones."""
    tasks = _measurement(rows)
    if tasks is None:
        return None
    for metric, wanted in ((HARD, hard), (SOFT, soft)):
        found = mean(tasks, metric)
        if wanted is None or found is None or abs(found - wanted) > _ROUNDING:
            return None
    return tasks


def flips(before: Measurement | None, after: Measurement | None, metric: Metric) -> tuple[list[str], list[str]]:
    """Tasks whose score rose, and whose fell, of those that both documents have a score for."""
    gained: list[str] = []
    lost: list[str] = []
    for task in sorted((before or {}).keys() & (after or {}).keys()):
        old, new = (_value(found, task, metric) for found in (before, after))
        if old is not None and new is not None and old != new:
            (gained if new > old else lost).append(task)
    return gained, lost


def cost(tokens: Any, models: Mapping[str, str]) -> dict[str, Any]:
    """What a step spent, as records keep it. Without a price: the folder does not say which one was paid."""
    rows = []
    for stage, counts in sorted(tokens.items()) if isinstance(tokens, Mapping) else ():
        if not isinstance(counts, Mapping) or str(stage).startswith("_"):
            continue
        calls, read, written = (_count(counts.get(name)) for name in _COUNTS)
        role = "target" if stage in _TARGET_STAGES else "optimizer"
        if calls or read or written:
            row: dict[str, Any] = {"role": role, "stage": str(stage), "model": models[role], "calls": calls}
            rows.append(row | {"input_tokens": read, "cached_tokens": 0, "output_tokens": written})
    total = sum(row["input_tokens"] + row["output_tokens"] for row in rows)
    return {"calls": sum(row["calls"] for row in rows), "tokens": total, "usd": None, "rows": rows}


def _measurement(rows: Rows) -> Measurement | None:
    """One row per task, each with a usable score; None otherwise."""
    found: Measurement = {}
    for row in rows:
        ident, hard, soft = row.get("id"), known(_plain(row.get("hard"))), known(_plain(row.get("soft")))
        name = str(ident) if isinstance(ident, str | int) else ""
        if not name or name in found or hard is None or soft is None:
            return None
        found[name] = (Trial(hard, soft),)
    return found or None


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _value(measurement: Measurement | None, task: str, metric: Metric) -> Fraction | None:
    trial = (measurement or {})[task][0]
    return trial.value(metric) if trial is not None else None


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 10**12 else 0
