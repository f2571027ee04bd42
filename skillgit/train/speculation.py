"""Speculation: the next mini-batch is rolled out while the target has slots that nobody wants.

A wrong guess costs calls and never anything else: what was attempted ahead is only in the call cache, where the step
that needs it finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from skillgit.envs.contract import Task
from skillgit.models.limiter import PRIORITY
from skillgit.train.events import UnitDone
from skillgit.train.scoring.rollout import Flights, Roller, Rollout


@dataclass(frozen=True, slots=True)
class Guess:
    """The document that the next step will probably start from."""

    document: str
    blob: str


@dataclass(slots=True)
class Ahead:
    """What runs beside a run's stages. At most one mini-batch is begun ahead.

    Args:
        flights: shared with the rollers, which wait for an attempt that is under way instead of repeating it.
    """

    flights: Flights = field(default_factory=dict)
    _batch: tuple[Task, ...] = ()
    _begun: set[str] = field(default_factory=set)
    _left: set[asyncio.Task[Rollout]] = field(default_factory=set)

    def plan(self, batch: Sequence[Task]) -> None:
        """The tasks of the next step; none where there is no next step, or speculation is off."""
        self._batch, self._begun = tuple(batch), set()

    def fill(self, roller: Roller, free: int, guess: Guess) -> None:
        """Begin as many of the planned attempts as there are free slots."""
        free -= sum(not task.done() for task in self._left | set(self.flights.values()))
        attempt = roller.on(guess.document, guess.blob, unseen)
        for task in self._batch:
            if free <= 0:
                return
            if task.id in self._begun:
                continue
            self._begun.add(task.id)
            key = roller.key(guess.blob, task, 0)
            if key in self.flights:
                continue

            async def unit(task: Task = task) -> Rollout:
                PRIORITY.set(1)  # a task has a context of its own: only its calls let the stages' own go first
                return await attempt((task, 0))

            flight = asyncio.create_task(unit())
            self.flights[key] = flight
            flight.add_done_callback(partial(self._landed, key))
            free -= 1

    def keep(self, left: Sequence[asyncio.Task[Rollout]]) -> None:
        """Let attempts that a stage no longer needs come to their end beside the next stages."""
        for task in left:
            self._left.add(task)
            task.add_done_callback(self._forget)

    async def close(self, *, cancel: bool = False) -> None:
        """Wait for what is under way, so that its usage is counted; or cancel it."""
        running = [*self.flights.values(), *self._left]
        if cancel:
            for task in running:
                task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _landed(self, key: str, flight: asyncio.Task[Rollout]) -> None:
        self.flights.pop(key, None)
        self._forget(flight)

    def _forget(self, task: asyncio.Task[Rollout]) -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()  # a failure ahead of time is met again by the stage that needs the attempt


def unseen(_: UnitDone) -> None:
    """Progress is shown for a stage's own units alone."""
