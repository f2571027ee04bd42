"""The noise of a val measurement: one document measured several times, each as if against another (A/A). Pure."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations

from skillgit.config import EvaluationSettings
from skillgit.envs.contract import exact
from skillgit.errors import MeasurementError
from skillgit.train.gate import MODES, Decision, GateSettings, decide

Values = dict[str, list[Fraction | None]]
"""Task id to its repeats, as the gate takes them; None is an errored attempt."""

NOISE_Z = 1.645
"""Standard errors that noise alone exceeds, upwards, in one of twenty comparisons (normal distribution)."""

DRAWS = 500

NOTED_LEAD = Fraction(1, 10)
"""A least lead from here on is more than most steps bring, and is said before a run."""


@dataclass(frozen=True, slots=True)
class Against:
    """How one gate mode judges the document against itself.

    Args:
        pairs: ordered pairs of measurements. accepted, indecisive: how many of them were.
        share: of random recombinations (each task's pair drawn by itself), how many were accepted.
        least: the smallest lead, as a difference of val scores, that the rule could accept without any noise: so many
            whole tasks won, none lost; None where no lead is enough.
        detectable: the smallest lead that the rule accepts and that noise alone rarely reaches.
    """

    pairs: int
    accepted: int
    indecisive: int
    share: float
    least: Fraction | None
    detectable: float | None


@dataclass(frozen=True, slots=True)
class Noise:
    """What several measurements of one document say. Scores and differences are shares (0..1), not points.

    Args:
        flips: by task, the share of pairs of measurements in which its score differs; only tasks where it is not 0.
        mean: the val score. deviation: the standard deviation of the val score from one measurement to the next.
        error: the standard error of the difference between two measurements, from the differences of the tasks.
        median_error: the same where a task's repeats count by their median, as for `margin`.
    """

    tasks: int
    trials: int
    flips: Mapping[str, Fraction]
    mean: Fraction
    deviation: float
    error: float
    median_error: float
    modes: Mapping[str, Against]


def split_trials(measured: Mapping[str, Sequence[Fraction | None]], repeats: int) -> list[Values]:
    """Measurements of `repeats` attempts each, from all attempts of each task, in order."""
    count = min(len(trials) for trials in measured.values()) // repeats
    return [
        {task: list(trials[n * repeats : (n + 1) * repeats]) for task, trials in measured.items()} for n in range(count)
    ]


def analyse(trials: Sequence[Values], settings: GateSettings) -> Noise:
    """The noise between measurements of one document, and what each gate mode makes of it.

    Args:
        trials: at least two measurements of the same tasks.
        settings: the configured gate; the other modes are looked at with its numbers.

    Raises:
        MeasurementError: no task has a score in every measurement.
    """
    means = [{task: _mean(values) for task, values in trial.items()} for trial in trials]
    medians = [{task: _median(values) for task, values in trial.items()} for trial in trials]
    common = [task for task in trials[0] if all(trial[task] is not None for trial in means)]
    if not common:
        raise MeasurementError("no val task has a score in every trial", mend="mend what fails and calibrate again")
    totals = [sum((v for t in common if (v := trial[t]) is not None), Fraction(0)) / len(common) for trial in means]
    flips = {task: share for task in sorted(trials[0]) if (share := _flip_share([trial[task] for trial in means]))}
    error, median_error = _standard_error(means), _standard_error(medians)
    rules = {mode: replace(settings, mode=mode, rule=None) for mode in MODES}
    if settings.rule is not None:
        rules[settings.mode] = settings
    modes = {mode: _against(trials, rule, median_error if mode == "margin" else error) for mode, rule in rules.items()}
    return Noise(
        tasks=len(trials[0]),
        trials=len(trials),
        flips=flips,
        mean=sum(totals, Fraction(0)) / len(totals),
        deviation=statistics.stdev(map(float, totals)),
        error=error,
        median_error=median_error,
        modes=modes,
    )


def least_wins(tasks: int, settings: GateSettings) -> int | None:
    """So many of the val tasks have to be won for an acceptance, where none is lost; None where no number is enough,
    or for plugins.

    Where tasks are lost as well, or won by less than a whole point, more are needed, never fewer: S^2/Q of k wins is
    at most k (`skillgit.train.gate.bounds`), and a lead above epsilon is shared by at least so many tasks. (Errored
    attempts make fewer tasks, and so at times one win less.)
    """
    won: int | None = None
    if settings.mode == "strict":
        won = 1
    elif settings.mode == "margin":
        won = math.floor(exact(settings.epsilon) * tasks) + 1
    elif settings.mode == "paired" and tasks >= 2:
        # k differences of 1: k^2 (n - 1 + z^2) > z^2 n k; all n have no variance.
        z2 = Fraction(settings.z).limit_denominator(10**6) ** 2
        won = min(math.floor(z2 * tasks / (tasks - 1 + z2)) + 1, tasks)
    return won if won is not None and won <= tasks else None


def least_lead(tasks: int, settings: GateSettings) -> Fraction | None:
    """`least_wins` as a difference of val scores, 0..1."""
    won = least_wins(tasks, settings)
    return None if won is None else Fraction(won, tasks)


def small_val_note(tasks: int, settings: EvaluationSettings) -> str | None:
    """What to say at a run's start where the gate accepts only large leads on so few val tasks; None where it does not.

    Nothing is said of plugins, of one win that is enough, nor of leads below `NOTED_LEAD`.
    """
    mode = settings.gate_mode
    if not settings.use_gate or mode not in MODES or tasks < 1:
        return None
    won = least_wins(tasks, GateSettings(mode, z=settings.z, epsilon=settings.epsilon))
    has = f"val has {tasks} task{'' if tasks == 1 else 's'}"
    if won is None:
        mend = "add val tasks" if mode == "paired" else "lower evaluation.epsilon"
        return f"{has}: the {mode} gate can accept nothing there; {mend}"
    if won == 1 or Fraction(won, tasks) < NOTED_LEAD:
        return None
    return f"{has}: the {mode} gate accepts only where at least {won} of them are won, and more where some are lost"


def detectable(tasks: int, error: float, settings: GateSettings) -> float | None:
    """The smallest lead that the rule accepts and that is above the noise: `z` standard errors for `paired`,
    `NOISE_Z` for the others, which do not look at noise themselves."""
    least = least_lead(tasks, settings)
    if least is None:
        return None
    return max(float(least), (settings.z if settings.mode == "paired" else NOISE_Z) * error)


def _against(trials: Sequence[Values], settings: GateSettings, error: float) -> Against:
    known: dict[object, Decision] = {}

    def judged(current: Values, candidate: Values) -> Decision:
        if settings.rule is not None:
            return decide(current, candidate, settings).decision
        # No built-in rule looks at a task's name, so equal pairs in another order are the same case.
        key = tuple(sorted(str((current[task], candidate[task])) for task in current))
        if key not in known:
            known[key] = decide(current, candidate, settings).decision
        return known[key]

    decisions = [judged(a, b) for a, b in permutations(trials, 2)]
    chance, order = random.Random(0), range(len(trials))
    accepted = 0
    for _ in range(DRAWS):
        current, candidate = Values(), Values()
        for task in trials[0]:
            one, other = chance.sample(order, 2)
            current[task], candidate[task] = trials[one][task], trials[other][task]
        accepted += judged(current, candidate) == "accept"
    tasks = len(trials[0])
    return Against(
        pairs=len(decisions),
        accepted=decisions.count("accept"),
        indecisive=decisions.count("indecisive"),
        share=accepted / DRAWS,
        least=least_lead(tasks, settings),
        detectable=detectable(tasks, error, settings),
    )


def _standard_error(trials: Sequence[Mapping[str, Fraction | None]]) -> float:
    """Of the difference between two measurements: the mean over pairs of the sample variance over tasks / tasks."""
    found = []
    for one, other in combinations(trials, 2):
        pairs = [(a, b) for t in one if (a := one[t]) is not None and (b := other[t]) is not None]
        if len(pairs) > 1:
            found.append(statistics.variance([b - a for a, b in pairs]) / len(pairs))
    return math.sqrt(statistics.mean(found)) if found else 0.0


def _flip_share(values: Sequence[Fraction | None]) -> Fraction:
    pairs = [(a, b) for a, b in combinations(values, 2) if a is not None and b is not None]
    return Fraction(sum(a != b for a, b in pairs), len(pairs)) if pairs else Fraction(0)


def _mean(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return Fraction(sum(known), len(known)) if known else None


def _median(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return Fraction(statistics.median(known)) if known else None
