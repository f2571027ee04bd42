"""The gate: accepts or rejects a candidate from paired val scores. Pure, over exact numbers (DESIGN, section 3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args

from skillgit.config import EvaluationSettings
from skillgit.envs.contract import exact
from skillgit.errors import ConfigError, MeasurementError
from skillgit.models.endpoint import well_formed
from skillgit.train import plugins
from skillgit.train.gate.bounds import errors_in_reach, margin_in_reach

MODES = ("strict", "paired", "margin")
Decision = Literal["accept", "reject", "indecisive"]
Value = Fraction | None
Scores = Mapping[str, Any]
"""Task id to a score, a list of scores (one per repeat), or None for an errored rollout."""


class Rule(Protocol):
    """A gate plugin (entry-point group `skillgit.gates`; docs/gate.md).

    It judges whole measurements only (`race` says nothing before), pure: the same scores, the same verdict. Each task
    has a list of exact fractions, one per repeat, None for an errored one. Coverage below the floor and, where it is
    set, `no_regression` have been decided before it is asked. `verdict` makes what it returns; of that, decision and
    reason are taken, the numbers are the gate's own.
    """

    def __call__(self, current: Scores, candidate: Scores, settings: GateSettings, /) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How a candidate is judged.

    Args:
        mode: `strict` (candidate > incumbent, the paper's rule), `paired` (mean paired difference above `z`
            standard errors over tasks), `margin` (difference above `epsilon`, medians of repeats), or a plugin's name.
        no_regression: no val task may fall.
        min_coverage: the share of val tasks that both documents must have a score for.
        rule: the plugin behind `mode`, None for the three above.
    """

    mode: str = "strict"
    no_regression: bool = False
    min_coverage: float = 0.9
    z: float = 2.0
    epsilon: float = 0.0
    rule: Rule | None = None

    def __post_init__(self) -> None:
        if (self.mode in MODES) is not (self.rule is None):
            raise ConfigError(f"gate_mode: {self.mode!r}", mend="use strict, paired, margin or an installed plugin")
        if self.rule is not None and not callable(self.rule):
            raise ConfigError(f"gate_mode: the plugin {self.mode!r} is no function", mend="mend or update the plugin")
        for key, low, high in (("min_coverage", 0.0, 1.0), ("z", 0.0, math.inf), ("epsilon", 0.0, 1.0)):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ConfigError(f"{key}: {value!r}", mend="use a finite number")
            if not low <= value <= high:
                raise ConfigError(f"{key}: {value!r} is outside {low:g}..{high:g}", mend="correct the value")


def gate_settings(chosen: EvaluationSettings) -> GateSettings:
    """The gate of a skill's settings.

    Raises:
        ConfigError: `gate_mode` is neither built in nor a plugin that can be loaded.
    """
    mode = chosen.gate_mode
    rule = None if mode in MODES else plugins.load(plugins.GATES, mode, MODES)
    return GateSettings(mode, chosen.no_regression, chosen.min_coverage, chosen.z, chosen.epsilon, rule)


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


def decide(
    current: Scores, candidate: Scores, settings: GateSettings | Mapping[str, Any], *, whole: bool = False
) -> Verdict:
    """Judge a candidate against the incumbent on the same val tasks.

    Args:
        whole: the verdict's numbers and flips are of all tasks, not of the shortest prefix that decides.

    Raises:
        ConfigError: settings that make no sense. MeasurementError: scores not finite, outside 0..1, of other tasks.
    """
    if set(current) != set(candidate):
        odd = sorted(set(current) ^ set(candidate))[0]
        raise MeasurementError(f"the two measurements are of different tasks: {odd!r} is in one only")
    for value in (*current.values(), *candidate.values()):
        _collapse(value, "strict")  # a score past the deciding prefix has to be a score as well
    found = race(current, candidate, settings, early=not whole)
    if found is None:
        raise AssertionError("a whole measurement always decides")
    return found


def canonical_order(current: Scores) -> list[str]:
    """Tasks that the incumbent fails first, then by id: what can still be won is measured first."""
    return sorted(current, key=lambda task: (_collapse(current[task], "strict") == 1, task))


def race(
    current: Scores,
    measured: Mapping[str, Any],
    settings: GateSettings | Mapping[str, Any],
    *,
    early: bool = True,
) -> Verdict | None:
    """The verdict on what has been measured so far: the shortest canonical prefix that decides, or None.

    `measured` holds the candidate's scores of any of the tasks; only those up to the first gap in canonical order
    count. So the verdict is the same whatever the wave size, and the same as after measuring all.
    A plugin's verdict falls on all tasks only.
    """
    chosen = settings if isinstance(settings, GateSettings) else _settings(settings)
    if not current:
        raise MeasurementError("there are no val tasks to decide on", mend="add tasks to the val split")
    order = canonical_order(current)
    before = {task: _collapse(current[task], chosen.mode) for task in order}
    seen = next((n for n, task in enumerate(order) if task not in measured), len(order))
    after = [(task, _collapse(measured[task], chosen.mode)) for task in order[:seen]]
    whole = seen == len(order)
    if chosen.rule is None and early:
        # What is out of reach stays out of reach, so the shortest prefix is found by halving.
        low, high = 1, min(seen, len(order) - 1)
        if low <= high and _stop(order, before, dict(after[:high]), chosen):
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if _stop(order, before, dict(after[:middle]), chosen) else (middle + 1, high)
            prefix = dict(after[:low])
            decision, reason = _stop(order, before, prefix, chosen) or ("reject", "")
            return _verdict(decision, reason, order, before, prefix)
    if not whole:
        return None
    last = _stop(order, before, dict(after), chosen)
    if last is None and chosen.rule is not None:
        return _by_rule(chosen.rule, current, measured, chosen)
    decision, reason = last or _final(order, before, dict(after), chosen)
    return _verdict(decision, reason, order, before, dict(after))


def verdict(decision: Decision, reason: str, current: Scores, candidate: Scores) -> Verdict:
    """A verdict on whole measurements, with the numbers and the flips filled in: for gate plugins."""
    order = canonical_order(current)
    before, after = ({task: _collapse(side[task], "strict") for task in order} for side in (current, candidate))
    return _verdict(decision, reason, order, before, after)


def _settings(raw: Mapping[str, Any]) -> GateSettings:
    unknown = set(raw) - {f.name for f in fields(GateSettings)}
    if unknown:
        raise ConfigError(f"unknown gate setting {sorted(unknown)[0]!r}")
    return GateSettings(**raw)


def _collapse(value: Any, mode: str) -> Value:
    """One number per task: the mean of its repeats (their median for `margin`); errored trials are left out."""
    scores = [trial for trial in _trials(value) if trial is not None]
    if len(scores) < 2:
        return scores[0] if scores else None
    return statistics.median(scores) if mode == "margin" else Fraction(sum(scores), len(scores))


def _trials(value: Any) -> list[Value]:
    trials = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [trial if trial is None or _is_exact(trial) else exact(trial) for trial in trials]


def _is_exact(trial: Any) -> bool:
    """What `exact` would leave as it is: racing looks at the same scores again and again."""
    return type(trial) is Fraction and 0 <= trial.numerator <= trial.denominator <= 10**6


def _pairs(order: list[str], before: Mapping[str, Value], after: Mapping[str, Value]) -> list[tuple[str, Fraction]]:
    """Differences (candidate minus incumbent) of the tasks that both have."""
    found = []
    for task in order:
        old, new = before[task], after.get(task)
        if old is not None and new is not None:
            found.append((task, new - old))
    return found


def _stop(
    order: list[str], before: Mapping[str, Value], after: Mapping[str, Value], settings: GateSettings
) -> tuple[Decision, str] | None:
    """What this prefix already decides: too little coverage, a regression, or a lead that is out of reach."""
    missing = sum(before[t] is None or (t in after and after[t] is None) for t in order)
    floor = exact(settings.min_coverage)
    if Fraction(len(order) - missing, len(order)) < floor or missing == len(order):
        reason = f"{missing} of {len(order)} val tasks have no score for both documents"
        return "indecisive", f"{reason}, the floor is {float(floor):.0%}"
    if settings.mode == "paired" and len(order) - missing < 2:
        return "indecisive", "fewer than 2 val tasks have a pair of scores"
    pairs = _pairs(order, before, after)
    lost = [task for task, difference in pairs if difference < 0]
    if settings.no_regression and lost:
        return "reject", f"{lost[0]} got worse, and no_regression is set"
    if len(after) == len(order):
        return None  # the rule itself says it
    done = [difference for _, difference in pairs]
    gains = [1 - old for t in order if t not in after and (old := before[t]) is not None]
    spare = math.floor(len(order) * (1 - floor)) - missing
    if settings.mode == "paired":
        reachable = errors_in_reach(done, gains, spare, _z(settings))
        what = f"lead by more than {settings.z:g} standard errors"
    elif settings.mode == "margin":
        reachable = margin_in_reach(done, gains, spare, exact(settings.epsilon))
        what = f"lead by more than {settings.epsilon:g}"
    else:
        reachable, what = margin_in_reach(done, gains, spare, Fraction(0)), "beat the incumbent"
    return None if reachable else ("reject", f"after {len(after)} of {len(order)} val tasks it can no longer {what}")


def _z(settings: GateSettings) -> Fraction:
    return Fraction(settings.z).limit_denominator(10**6)


def _final(
    order: list[str], before: Mapping[str, Value], after: Mapping[str, Value], settings: GateSettings
) -> tuple[Decision, str]:
    """What the rule says of all tasks; at least one has a pair, for `paired` at least two."""
    differences = [difference for _, difference in _pairs(order, before, after)]
    n = len(differences)
    mean = sum(differences, Fraction(0)) / n
    change = f"{float(mean):+.4f} on {n} val tasks"
    if settings.mode == "paired":
        variance = sum(((d - mean) ** 2 for d in differences), Fraction(0)) / (n - 1)
        # mean > z * sqrt(variance / n), squared so that nothing is rounded.
        better = mean > 0 and mean**2 > _z(settings) ** 2 * variance / n
        if variance:
            change += f" = {float(mean) / math.sqrt(variance / n):+.2f} standard errors"
        rule = f"more than {settings.z:g} standard errors"
    elif settings.mode == "margin":
        better, rule = mean > exact(settings.epsilon), f"a margin above {settings.epsilon:g}"
    else:
        better, rule = mean > 0, "better than the incumbent"
    return "accept" if better else "reject", f"{change}, {'' if better else 'not '}{rule}"


def _by_rule(rule: Rule, current: Scores, candidate: Scores, settings: GateSettings) -> Verdict:
    """Ask a plugin. What it says is taken, what it reckons is not: scores in the record are always the metric's."""
    sides = [{task: _trials(scores[task]) for task in current} for scores in (current, candidate)]
    handed = [{task: list(trials) for task, trials in side.items()} for side in sides]  # a plugin may change its own
    where = f"gate_mode: the plugin {settings.mode!r}"
    with plugins.Border(where):
        said = rule(handed[0], handed[1], settings)
    if not isinstance(said, Verdict) or said.decision not in get_args(Decision) or not str(said.reason).strip():
        raise ConfigError(f"{where} returned {said!r:.200}", mend="return a skillgit.train.gate.Verdict with a reason")
    return replace(verdict(said.decision, "", *sides), reason=well_formed(" ".join(str(said.reason).split())))


def _verdict(
    decision: Decision, reason: str, order: list[str], before: Mapping[str, Value], after: Mapping[str, Value]
) -> Verdict:
    pairs = _pairs(order, before, after)
    gained = [(task, difference) for task, difference in pairs if difference > 0]
    lost = [(task, difference) for task, difference in pairs if difference < 0]
    missing = sum(before[t] is None or (t in after and after[t] is None) for t in order)
    whole = len(after) == len(order)
    compared = [t for t, _ in pairs] if whole else [t for t in order if before[t] is not None]
    known = sum((v for t, _ in pairs if (v := after[t]) is not None), Fraction(0))
    open_tasks = sum(t not in after and before[t] is not None for t in order)
    possible = len(pairs) + open_tasks
    return Verdict(
        decision=decision,
        reason=f"{reason} ({_flips('better', gained)}, {_flips('worse', lost)})",
        score=known / len(pairs) if whole and pairs else None,
        before=_mean([v for t in compared if (v := before[t]) is not None]),
        maximum=(known + open_tasks) / possible if not whole and possible else None,
        prefix=len(after),
        tasks=len(order),
        missing=missing,
        gained=tuple(task for task, _ in gained),
        lost=tuple(task for task, _ in lost),
    )


def _mean(values: list[Fraction]) -> Fraction:
    return Fraction(sum(values), len(values)) if values else Fraction(0)


def _flips(word: str, changes: list[tuple[str, Fraction]], most: int = 5) -> str:
    """`2 better: a, b`, with by how much where a task did not flip wholly: `1 worse: t-3 -0.25`."""
    if not changes:
        return f"0 {word}"
    named = [task if abs(by) == 1 else f"{task} {float(by):+.4g}" for task, by in changes[:most]]
    more = f" and {len(changes) - most} more" if len(changes) > most else ""
    return f"{len(changes)} {word}: {', '.join(named)}{more}"
