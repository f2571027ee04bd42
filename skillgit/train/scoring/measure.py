"""Measure a document on val tasks: wholly, or only as far as the gate needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from skillgit.envs.contract import Task
from skillgit.train.events import UnitDone
from skillgit.train.gate import GateSettings, Verdict, canonical_order, decide, race
from skillgit.train.scoring.rollout import Roller, Rollout
from skillgit.train.scoring.scores import Measurement, Metric, Trial, by_metric

OnDone = Callable[[UnitDone], None]

Spare = Callable[[int, bool], None]
"""Told how many of the target's slots are free, and whether the candidate is ahead: others may use them."""


def trials_of(rollouts: Sequence[Rollout]) -> Measurement:
    """Rollouts by task, trials in order."""
    found: dict[str, dict[int, Trial | None]] = {}
    for rollout in rollouts:
        score = rollout.attempt.score if rollout.attempt else None
        trial = Trial(score.hard, score.soft) if score else None
        found.setdefault(rollout.task.id, {})[rollout.trial] = trial
    return {task: tuple(trials[t] for t in sorted(trials)) for task, trials in found.items()}


async def measure_all(
    roller: Roller,
    document: str,
    blob: str,
    tasks: Sequence[Task],
    repeats: int,
    on_done: OnDone,
    *,
    spare: Spare | None = None,
) -> tuple[Measurement, list[Rollout]]:
    """Every task, `repeats` trials each, in the order of the tasks."""
    work = [(task, trial) for task in tasks for trial in range(repeats)]
    rollouts = await attempt_all(roller, document, blob, work, on_done, spare=spare)
    return trials_of(rollouts), rollouts


async def attempt_all(
    roller: Roller,
    document: str,
    blob: str,
    work: Sequence[tuple[Task, int]],
    on_done: OnDone,
    *,
    spare: Spare | None = None,
) -> list[Rollout]:
    """Each (task, trial), in the order of `work`."""
    stream = Stream(roller, document, blob, work, on_done)
    await stream.run(lambda _: True, lambda: False, lambda free: spare(free, False) if spare else None)
    return [stream.results[index] for index in range(len(work))]


@dataclass(slots=True)
class Stream:
    """Units of work, started in order as slots become free."""

    roller: Roller
    document: str
    blob: str
    work: Sequence[tuple[Task, int]]
    on_done: OnDone
    results: dict[int, Rollout] = field(default_factory=dict)

    async def run(
        self,
        may_start: Callable[[int], bool],
        enough: Callable[[], bool],
        spare: Callable[[int], None],
    ) -> list[asyncio.Task[Rollout]]:
        """Work until all is done, or it is enough.

        Args:
            may_start: whether a unit may be begun now; where nothing is under way the next one always may.
            enough: asked after each result.
            spare: told of slots that nothing here wants.

        Returns: the units under way when it was enough; they are left running, and their answers go to the cache.
        """
        # What is in the cache comes first: where it decides, nothing else is asked for.
        for index, (task, trial) in enumerate(self.work):
            known = self.roller.known(self.blob, task, trial)
            if known is not None:
                self.results[index] = known
                self.on_done(UnitDone(known.attempt.score.hard if known.attempt else None, cached=True))
        if self.results and enough():
            return []
        attempt = self.roller.on(self.document, self.blob, self.on_done)
        missing = [index for index in range(len(self.work)) if index not in self.results]
        running: dict[asyncio.Task[Rollout], int] = {}

        async def unit(item: tuple[Task, int]) -> Rollout:
            return await attempt(item)

        try:
            while True:
                while missing and len(running) < self.roller.window:
                    if running and not may_start(missing[0]):
                        break
                    index = missing.pop(0)
                    running[asyncio.create_task(unit(self.work[index]))] = index
                if not running:
                    return []
                if len(running) < self.roller.window:
                    spare(self.roller.window - len(running))
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    self.results[running.pop(one)] = one.result()
                if enough():
                    left, running = list(running), {}
                    return left
        finally:
            for one in running:
                one.cancel()
            # Cancelled units are awaited, so that no call outlives the stage that failed.
            await asyncio.gather(*running, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Gated:
    """A verdict with what it stands on: the measurement is cut to the deciding prefix unless it is whole.

    `left` are attempts beyond the prefix that are still under way: somebody has to wait for them in the end.
    """

    verdict: Verdict
    measurement: Measurement
    rollouts: tuple[Rollout, ...]
    left: tuple[asyncio.Task[Rollout], ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How a candidate is measured.

    Args:
        racing: stop as soon as the verdict is known.
        eager: with racing: begin as many attempts at once as there are slots. Otherwise only the tasks that the
            incumbent fails are begun until the candidate is ahead: fewer calls for a candidate that will be
            rejected, more time for one that will be accepted. It changes time and calls, never the record.
        whole: measure and keep all tasks, whatever a part of them decides: what is accepted by force needs its score.
    """

    gate: GateSettings
    metric: Metric
    repeats: int = 1
    racing: bool = True
    eager: bool = True
    whole: bool = False


async def measure_against(
    roller: Roller,
    document: str,
    blob: str,
    tasks: Sequence[Task],
    incumbent: Measurement,
    rules: Rules,
    on_done: OnDone,
    *,
    spare: Spare | None = None,
) -> Gated:
    """Measure a candidate in canonical order, until the gate can say no, or to the end."""
    by_id = {task.id: task for task in tasks}
    current = by_metric(incumbent, rules.metric)
    order = canonical_order(current)
    work = [(by_id[task], trial) for task in order for trial in range(rules.repeats)]
    stream = Stream(roller, document, blob, work, on_done)
    race_ = _Race(stream, order, current, rules)
    left = await stream.run(race_.may_start, race_.decided, lambda free: spare(free, race_.ahead()) if spare else None)
    measured = race_.measured
    verdict = race_.verdict or decide(current, by_metric(measured, rules.metric), rules.gate, whole=rules.whole)
    kept = set(order[: verdict.prefix])
    return Gated(
        verdict,
        {task: trials for task, trials in measured.items() if task in kept},
        tuple(stream.results[i] for i in range(len(work)) if i in stream.results and work[i][0].id in kept),
        tuple(left),
    )


class _Race:
    """What is known so far of a candidate."""

    def __init__(
        self, stream: Stream, order: list[str], current: dict[str, list[Fraction | None]], rules: Rules
    ) -> None:
        self._stream, self._order, self._current, self._rules = stream, order, current, rules
        self._fails = sum(_mean(current[task]) != 1 for task in order) * rules.repeats
        self._prefix = self._counted = 0
        self._lead = Fraction(0)
        self.verdict: Verdict | None = None

    @property
    def measured(self) -> Measurement:
        """Tasks with all their trials."""
        repeats, results = self._rules.repeats, self._stream.results
        whole = [n for n in range(len(self._order)) if all(n * repeats + trial in results for trial in range(repeats))]
        return trials_of([results[n * repeats + trial] for n in whole for trial in range(repeats)])

    def may_start(self, unit: int) -> bool:
        return not self._rules.racing or self._rules.eager or unit < self._fails or self.ahead()

    def ahead(self) -> bool:
        """Whether it leads on the tasks measured so far."""
        repeats, results = self._rules.repeats, self._stream.results
        new = list(islice(results, self._counted, None))  # units in the order in which they ended
        self._counted = len(results)
        for number in dict.fromkeys(unit // repeats for unit in new):
            self._lead += self._gain(number)
        return self._lead > 0

    def _gain(self, number: int) -> Fraction:
        """What one task adds to the lead; nothing before its last trial is in."""
        repeats, results = self._rules.repeats, self._stream.results
        trials = [results.get(number * repeats + trial) for trial in range(repeats)]
        known = [rollout for rollout in trials if rollout is not None]
        if len(known) < repeats:
            return Fraction(0)
        task = self._order[number]
        before, after = _mean(self._current[task]), _mean(by_metric(trials_of(known), self._rules.metric)[task])
        return after - before if before is not None and after is not None else Fraction(0)

    def decided(self) -> bool:
        if not self._rules.racing:
            return False
        repeats, results = self._rules.repeats, self._stream.results
        before = self._prefix
        while self._prefix < len(self._order) and all(
            self._prefix * repeats + trial in results for trial in range(repeats)
        ):
            self._prefix += 1
        if self._prefix == before:
            return False
        known = by_metric(self.measured, self._rules.metric)
        self.verdict = race(self._current, known, self._rules.gate)
        return self.verdict is not None


def _mean(trials: Sequence[Fraction | None]) -> Fraction | None:
    known = [trial for trial in trials if trial is not None]
    return Fraction(sum(known), len(known)) if known else None
