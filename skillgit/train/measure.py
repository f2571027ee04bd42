"""Measure a document on val tasks: wholly, or only as far as the gate needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillgit.envs.contract import Task
from skillgit.train.events import UnitDone
from skillgit.train.gate import GateSettings, Verdict, canonical_order, decide, race
from skillgit.train.rollout import Roller, Rollout
from skillgit.train.scores import Measurement, Metric, Trial, by_metric

OnDone = Callable[[UnitDone], None]


def trials_of(rollouts: Sequence[Rollout]) -> Measurement:
    """Rollouts by task, trials in order."""
    found: dict[str, dict[int, Trial | None]] = {}
    for rollout in rollouts:
        score = rollout.attempt.score if rollout.attempt else None
        trial = Trial(score.hard, score.soft) if score else None
        found.setdefault(rollout.task.id, {})[rollout.trial] = trial
    return {task: tuple(trials[t] for t in sorted(trials)) for task, trials in found.items()}


async def measure_all(
    roller: Roller, document: str, blob: str, tasks: Sequence[Task], repeats: int, on_done: OnDone
) -> tuple[Measurement, list[Rollout]]:
    """Every task, `repeats` trials each, in the order of the tasks."""
    work = [(task, trial) for task in tasks for trial in range(repeats)]
    rollouts = await roller.batch(document, blob, work, on_done)
    return trials_of(rollouts), rollouts


@dataclass(frozen=True, slots=True)
class Gated:
    """A verdict with what it stands on: the measurement is cut to the deciding prefix unless it is whole."""

    verdict: Verdict
    measurement: Measurement
    rollouts: tuple[Rollout, ...]


async def measure_against(
    roller: Roller,
    document: str,
    blob: str,
    tasks: Sequence[Task],
    incumbent: Measurement,
    *,
    settings: GateSettings,
    metric: Metric,
    repeats: int,
    wave: int,
    racing: bool,
    on_done: OnDone,
) -> Gated:
    """Measure a candidate in waves of tasks in canonical order, until the gate can say no, or to the end.

    Args:
        wave: tasks measured before the next look; it changes time and calls, never the record.
    """
    by_id = {task.id: task for task in tasks}
    current = by_metric(incumbent, metric)
    order = canonical_order(current)
    rollouts: list[Rollout] = []
    size = wave if racing else len(order)
    verdict: Verdict | None = None
    for start in range(0, len(order), size):
        work = [(by_id[task], trial) for task in order[start : start + size] for trial in range(repeats)]
        rollouts += await roller.batch(document, blob, work, on_done)
        verdict = race(current, by_metric(trials_of(rollouts), metric), settings)
        if verdict is not None:
            break
    measured = trials_of(rollouts)
    if verdict is None:
        verdict = decide(current, by_metric(measured, metric), settings)
    kept = set(order[: verdict.prefix])
    return Gated(
        verdict,
        {task: trials for task, trials in measured.items() if task in kept},
        tuple(rollout for rollout in rollouts if rollout.task.id in kept),
    )
