"""The gate: accepts or rejects a candidate from paired val scores. Pure, over exact numbers (DESIGN, section 3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal

from skillgit.envs.contract import exact
from skillgit.errors import ConfigError, MeasurementError

Decision = Literal["accept", "reject", "indecisive"]
Value = Fraction | None
Scores = Mapping[str, Any]
"""Task id to a score, a list of scores (one per repeat), or None for an errored rollout."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How a candidate is judged.

    Args:
        mode: `strict` (candidate > incumbent, the paper's rule), `paired` (mean paired difference above `z`
            standard errors over tasks), `margin` (difference above `epsilon`, medians of repeats).
        no_regression: no val task may fall.
        min_coverage: the share of val tasks that both documents must have a score for.
    """

    mode: Literal["strict", "paired", "margin"] = "strict"
    no_regression: bool = False
    min_coverage: float = 0.9
    z: float = 2.0
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        if self.mode not in ("strict", "paired", "margin"):
            raise ConfigError(f"gate_mode: {self.mode!r}", mend="use strict, paired or margin")
        for key, low, high in (("min_coverage", 0.0, 1.0), ("z", 0.0, math.inf), ("epsilon", 0.0, 1.0)):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ConfigError(f"{key}: {value!r}", mend="use a finite number")
            if not low <= value <= high:
                raise ConfigError(f"{key}: {value!r} is outside {low:g}..{high:g}", mend="correct the value")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says.

    Args:
        reason: one sentence: which tasks flipped, by how much, on how many.
        score: the candidate's metric over the tasks that both have; None where the verdict fell early.
        before: the incumbent's over the same tasks (over its own where the verdict fell early).
        maximum: on an early rejection, the best the candidate could still have reached.
        prefix: how many tasks, in canonical order, decide it.
        tasks: all val tasks. missing: tasks without a pair, among those looked at.
        gained, lost: tasks whose score rose or fell, within the prefix, in canonical order.
    """

    decision: Decision
    reason: str
    score: Fraction | None
    before: Fraction
    maximum: Fraction | None
    prefix: int
    tasks: int
    missing: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def decide(current: Scores, candidate: Scores, settings: GateSettings | Mapping[str, Any]) -> Verdict:
    """Judge a candidate against the incumbent on the same val tasks.

    Raises:
        ConfigError: settings that make no sense. MeasurementError: scores not finite, outside 0..1, of other tasks.
    """
    if set(current) != set(candidate):
        odd = sorted(set(current) ^ set(candidate))[0]
        raise MeasurementError(f"the two measurements are of different tasks: {odd!r} is in one only")
    for value in (*current.values(), *candidate.values()):
        _collapse(value, "strict")  # a score past the deciding prefix has to be a score as well
    verdict = race(current, candidate, settings)
    if verdict is None:
        raise AssertionError("a whole measurement always decides")
    return verdict


def canonical_order(current: Scores) -> list[str]:
    """Tasks that the incumbent fails first, then by id: what can still be won is measured first."""
    return sorted(current, key=lambda task: (_collapse(current[task], "strict") == 1, task))


def race(current: Scores, measured: Mapping[str, Any], settings: GateSettings | Mapping[str, Any]) -> Verdict | None:
    """The verdict on what has been measured so far: the shortest canonical prefix that decides, or None.

    `measured` holds the candidate's scores of any of the tasks; only those up to the first gap in canonical order
    count. So the verdict is the same whatever the wave size, and the same as after measuring all.
    Only a `strict` gate can be decided early; the others wait for all tasks.
    """
    chosen = settings if isinstance(settings, GateSettings) else _settings(settings)
    if not current:
        raise MeasurementError("there are no val tasks to decide on", mend="add tasks to the val split")
    order = canonical_order(current)
    before = {task: _collapse(current[task], chosen.mode) for task in order}
    after: dict[str, Value] = {}
    for task in order:
        if task not in measured:
            return None
        after[task] = _collapse(measured[task], chosen.mode)
        verdict = _early(order, before, after, chosen)
        if verdict is not None:
            return verdict
    return _final(order, before, after, chosen)


def _settings(raw: Mapping[str, Any]) -> GateSettings:
    unknown = set(raw) - {f.name for f in fields(GateSettings)}
    if unknown:
        raise ConfigError(f"unknown gate setting {sorted(unknown)[0]!r}")
    return GateSettings(**raw)


def _collapse(value: Any, mode: str) -> Value:
    """One number per task: the mean of its repeats (their median for `margin`); errored trials are left out."""
    trials = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    scores = [exact(trial) for trial in trials if trial is not None]
    if not scores:
        return None
    return statistics.median(scores) if mode == "margin" else Fraction(sum(scores), len(scores))


def _pairs(order: list[str], before: Mapping[str, Value], after: Mapping[str, Value]) -> list[tuple[str, Fraction]]:
    """Differences (candidate minus incumbent) of the tasks that both have."""
    found = []
    for task in order:
        old, new = before[task], after.get(task)
        if old is not None and new is not None:
            found.append((task, new - old))
    return found


def _early(
    order: list[str], before: Mapping[str, Value], after: Mapping[str, Value], settings: GateSettings
) -> Verdict | None:
    """What this prefix already decides: too little coverage, a regression, or a lead that is out of reach."""
    missing = sum(before[t] is None or (t in after and after[t] is None) for t in order)
    coverage = Fraction(len(order) - missing, len(order))
    if coverage < exact(settings.min_coverage) or not coverage:
        floor = f"the floor is {float(settings.min_coverage):.0%}"
        reason = f"{missing} of {len(order)} val tasks have no score for both documents, {floor}"
        return _verdict("indecisive", reason, order, before, after, early=True)
    pairs = _pairs(order, before, after)
    lost = [task for task, difference in pairs if difference < 0]
    if settings.no_regression and lost:
        return _verdict("reject", f"{lost[0]} got worse, and no_regression is set", order, before, after, early=True)
    rest = sum((1 - old for t in order if t not in after and (old := before[t]) is not None), Fraction(0))
    lead = sum((difference for _, difference in pairs), Fraction(0)) + rest
    if settings.mode == "strict" and lead <= 0 and len(after) < len(order):
        reason = f"after {len(after)} of {len(order)} val tasks it can no longer beat the incumbent"
        return _verdict("reject", reason, order, before, after, early=True)
    return None


def _final(
    order: list[str], before: Mapping[str, Value], after: Mapping[str, Value], settings: GateSettings
) -> Verdict:
    differences = [difference for _, difference in _pairs(order, before, after)]
    n = len(differences)
    total = sum(differences, Fraction(0))
    mean = total / n
    change = f"{float(mean):+.4f} on {n} val tasks"
    if settings.mode == "paired":
        if n < 2:
            return _verdict("indecisive", "fewer than 2 val tasks have a pair of scores", order, before, after)
        variance = sum(((d - mean) ** 2 for d in differences), Fraction(0)) / (n - 1)
        # mean > z * sqrt(variance / n), squared so that nothing is rounded.
        better = mean > 0 and mean**2 > Fraction(settings.z).limit_denominator(10**6) ** 2 * variance / n
        rule = f"more than {settings.z:g} standard errors"
    elif settings.mode == "margin":
        better, rule = mean > exact(settings.epsilon), f"a margin above {settings.epsilon:g}"
    else:
        better, rule = total > 0, "better than the incumbent"
    reason = f"{change}, {'' if better else 'not '}{rule}"
    return _verdict("accept" if better else "reject", reason, order, before, after)


def _verdict(
    decision: Decision,
    reason: str,
    order: list[str],
    before: Mapping[str, Value],
    after: Mapping[str, Value],
    *,
    early: bool = False,
) -> Verdict:
    pairs = _pairs(order, before, after)
    gained = tuple(task for task, difference in pairs if difference > 0)
    lost = tuple(task for task, difference in pairs if difference < 0)
    missing = sum(before[t] is None or (t in after and after[t] is None) for t in order)
    whole = not early or len(after) == len(order)
    compared = [t for t, _ in pairs] if whole else [t for t in order if before[t] is not None]
    known = sum((v for t, _ in pairs if (v := after[t]) is not None), Fraction(0))
    open_tasks = sum(t not in after and before[t] is not None for t in order)
    possible = len(pairs) + open_tasks
    return Verdict(
        decision=decision,
        reason=f"{reason} ({_flips(gained, lost)})",
        score=known / len(pairs) if whole and pairs else None,
        before=_mean([v for t in compared if (v := before[t]) is not None]),
        maximum=(known + open_tasks) / possible if not whole and possible else None,
        prefix=len(after),
        tasks=len(order),
        missing=missing,
        gained=gained,
        lost=lost,
    )


def _mean(values: list[Fraction]) -> Fraction:
    return Fraction(sum(values), len(values)) if values else Fraction(0)


def _flips(gained: tuple[str, ...], lost: tuple[str, ...]) -> str:
    parts = [f"{len(tasks)} {word}{_names(tasks)}" for tasks, word in ((gained, "better"), (lost, "worse"))]
    return ", ".join(parts)


def _names(tasks: tuple[str, ...], most: int = 5) -> str:
    if not tasks:
        return ""
    more = f" and {len(tasks) - most} more" if len(tasks) > most else ""
    return f": {', '.join(tasks[:most])}{more}"
