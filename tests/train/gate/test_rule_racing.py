"""Racing on or off, in any order of answers and at any concurrency: one record (issue 3: over 1,000 cases)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import Any, cast

import pytest

from skillgit.envs.contract import Attempt, Score, Task
from skillgit.models.base import Usage
from skillgit.train.gate import GateSettings
from skillgit.train.scoring.measure import Gated, Rules, measure_against
from skillgit.train.scoring.rollout import Roller, Rollout
from skillgit.train.scoring.scores import Measurement, Metric, Trial

CASES = 1200
SCORES = {"hard": (0, 1), "soft": (0, 1, Fraction(1, 3), Fraction(1, 4), Fraction(9, 10))}


class Answers:
    """A roller whose answers are known beforehand and arrive in any order; some are in the cache."""

    def __init__(self, truth: Measurement, chance: random.Random, in_flight: int, cached: float) -> None:
        self._truth, self._chance, self.window = truth, chance, in_flight
        self._cached = {task for task in truth if chance.random() < cached}
        self.asked = 0

    def known(self, blob: str, task: Task, trial: int) -> Rollout | None:
        found = self._rollout(task, trial)
        return found if task.id in self._cached and found.attempt else None

    def on(self, document: str, blob: str, on_done: object) -> Callable[[tuple[Task, int]], Awaitable[Rollout]]:
        async def one(item: tuple[Task, int]) -> Rollout:
            self.asked += 1
            for _ in range(self._chance.randrange(4)):
                await asyncio.sleep(0)
            return self._rollout(*item)

        return one

    def _rollout(self, task: Task, trial: int) -> Rollout:
        found = self._truth[task.id][trial]
        attempt = Attempt("reply", "", Score(found.hard, found.soft, "")) if found else None
        return Rollout(task, trial, attempt, None if found else "busy", Usage())


def measurement(chance: random.Random, n: int, repeats: int, level: float, errors: float) -> Measurement:
    def trial() -> Trial | None:
        if chance.random() < errors:
            return None
        hard = Fraction(chance.random() < level)
        return Trial(hard, Fraction(chance.choice(SCORES["soft"])) if chance.random() > level else hard)

    return {f"t{k:02d}": tuple(trial() for _ in range(repeats)) for k in range(n)}


def gate(chance: random.Random) -> GateSettings:
    return GateSettings(
        mode=chance.choice(["strict", "paired", "margin"]),
        no_regression=chance.random() < 0.2,
        min_coverage=chance.choice([0.0, 0.5, 0.8, 0.9, 1.0]),
        z=chance.choice([0.0, 0.5, 1.0, 2.0]),
        epsilon=chance.choice([0.0, 0.05, 0.1, 0.3]),
    )


def record(gated: Gated) -> tuple[Any, ...]:
    """All that a step writes down of a measurement."""
    rows = [(r.task.id, r.trial, r.attempt.score if r.attempt else None, r.error) for r in gated.rollouts]
    return gated.verdict, gated.measurement, rows


@pytest.mark.parametrize("part", range(4))
async def test_racing_changes_calls_and_nothing_else(part: int) -> None:
    chance = random.Random(f"racing/{part}")
    decisions: Counter[str] = Counter()
    fewer = 0
    for _ in range(CASES // 4):
        n, repeats, errors = chance.randrange(1, 15), chance.choice([1, 1, 2, 3]), chance.choice([0.0, 0.0, 0.1])
        levels = [chance.choice([0.2, 0.5, 0.8]), chance.choice([0.2, 0.6, 0.9])]
        current, truth = (measurement(chance, n, repeats, level, errors) for level in levels)
        tasks = [Task(id=task, input=task, answers=(), fields={}, digest=task, source="") for task in current]
        chance.shuffle(tasks)
        chosen, metric = gate(chance), Metric(chance.choice(["hard", "soft", "mixed"]))
        found = []
        for racing, eager, in_flight, cached in (
            (False, True, 1, 0.0),
            (True, False, 1, 0.0),
            (True, chance.random() < 0.5, chance.randrange(2, 20), chance.choice([0.0, 0.4])),
        ):
            roller = Answers(truth, chance, in_flight, cached)
            rules = Rules(chosen, metric, repeats, racing, eager)
            gated = await measure_against(cast(Roller, roller), "", "", tasks, current, rules, lambda _: None)
            await asyncio.gather(*gated.left)
            found.append((record(gated), roller.asked))
        (whole, all_calls), (raced, calls), (wide, _) = found
        assert raced == whole
        assert wide == whole
        assert all_calls == n * repeats
        assert calls == whole[0].prefix * repeats  # one at a time, nothing is asked beyond the prefix
        fewer += calls < all_calls
        decisions[f"{chosen.mode}/{whole[0].decision}"] += 1
    assert len(decisions) == 9, decisions
    assert fewer > CASES // 4 * 0.4
