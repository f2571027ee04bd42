"""Rollout: scored attempts at tasks, through the call cache."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from skillgit.document.structure import body
from skillgit.envs.contract import Attempt, Environment, Score, Task
from skillgit.errors import EnvironmentFailedError, MeasurementError, ModelError, ModelRefusedError, OutsideError
from skillgit.execute.pool import map_bounded
from skillgit.models.base import Model, Reply, Request, Turn, Usage
from skillgit.models.cache import call_key
from skillgit.train.events import UnitDone
from skillgit.train.spend.budget import Meter


class Cache(Protocol):
    """What a rollout needs of the call cache."""

    def get(self, key: str) -> Any: ...

    def put(self, key: str, value: Any, kind: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Rollout:
    """One task's attempt, or why there is none. `usage` is zero where the cache answered."""

    task: Task
    trial: int
    attempt: Attempt | None
    error: str | None
    usage: Usage


Work = Callable[[tuple[Task, int]], Awaitable[Rollout]]


@dataclass(slots=True)
class _Health:
    """Failures in a row within one batch, without any success."""

    failed: int = 0
    succeeded: int = 0


Flights = dict[str, "asyncio.Task[Rollout]"]
"""Rollouts that were begun ahead of their stage and are under way, by cache key."""


class Roller:
    """Makes rollouts of one environment with one target.

    Args:
        flights: rollouts of other rollers that may be waited for instead of being asked for twice.
        meter: holds the command to its budget.

    Raises (from `batch` and what `on` returns):
        ModelRefusedError: no call can succeed.
        OutsideError: the first calls of a batch all failed: the endpoint or the environment is broken.
    """

    def __init__(
        self,
        environment: Environment,
        target: Model,
        cache: Cache,
        *,
        on_usage: Callable[[Usage], None],
        flights: Flights | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._environment = environment
        self._target = target
        self._cache = cache
        self._on_usage = on_usage
        self._flights: Flights = {} if flights is None else flights
        self._meter = meter or Meter()

    @property
    def in_flight(self) -> int:
        """The most calls of the target that make sense at once."""
        return self._target.in_flight

    @property
    def window(self) -> int:
        """The most attempts that may be under way: those that wait to be tried again take no slot."""
        return self._target.in_flight + getattr(self._target, "resting", 0)

    def on(self, document: str, blob: str, on_done: Callable[[UnitDone], None]) -> Work:
        """What attempts one (task, trial) with the document.

        Args:
            blob: the document's blob id, the first part of the cache key.
        """
        health = _Health()
        skill = body(document)

        async def one(item: tuple[Task, int]) -> Rollout:
            rollout = await self._one(skill, blob, *item, health)
            score = rollout.attempt.score.hard if rollout.attempt else None
            cached = rollout.attempt is not None and not rollout.usage.calls
            on_done(UnitDone(score, rollout.usage, cached))
            return rollout

        return one

    def known(self, blob: str, task: Task, trial: int) -> Rollout | None:
        """An attempt that the cache has."""
        found = self._cache.get(self.key(blob, task, trial))
        return None if found is None else Rollout(task, trial, decode_attempt(found), None, Usage())

    async def batch(
        self, document: str, blob: str, work: Sequence[tuple[Task, int]], on_done: Callable[[UnitDone], None]
    ) -> list[Rollout]:
        """Attempt each (task, trial) with the document. Results are in the order of `work`."""
        return await map_bounded(work, self.on(document, blob, on_done), limit=self._target.in_flight)

    def key(self, blob: str, task: Task, trial: int) -> str:
        """The cache key of a rollout (DESIGN, Caches)."""
        return call_key(
            kind="rollout",
            blob=blob,
            task=task.digest,
            environment=self._environment.digest,
            target=self._target.name,
            settings=dict(self._target.settings),
            trial=trial,
        )

    async def _one(self, skill: str, blob: str, task: Task, trial: int, health: _Health) -> Rollout:
        key = self.key(blob, task, trial)
        flight = self._flights.get(key)
        if flight is not None and flight is not asyncio.current_task():
            await asyncio.wait([flight])  # its answer is in the cache; where it failed, it is asked for here
        known = self.known(blob, task, trial)
        if known is not None:
            health.succeeded += 1
            return known
        spent = Usage()

        async def ask(request: Request) -> Reply:
            nonlocal spent
            reply = await self._target.complete(request)
            spent += reply.usage
            self._on_usage(reply.usage)
            return reply

        try:
            async with self._meter.unit():
                attempt = await self._environment.attempt(skill, task, ask)
                if attempt.reply:  # never an empty reply: another try may answer
                    self._cache.put(key, encode_attempt(attempt), "rollout")
        except ModelRefusedError:
            raise
        except (ModelError, EnvironmentFailedError, MeasurementError) as error:
            self._count_failure(health, error)
            return Rollout(task, trial, None, error.message, spent)
        health.succeeded += 1
        return Rollout(task, trial, attempt, None, spent)

    def _count_failure(self, health: _Health, error: OutsideError) -> None:
        """A dead endpoint must not be asked once for every task of the split."""
        health.failed += 1
        most = max(3, self._target.in_flight)
        if not health.succeeded and health.failed >= most:
            message = f"the first {health.failed} attempts all failed; the last: {error.message}"
            raise type(error)(message, mend=error.mend or "mend it and run the same command again") from error


def refuse_all_failed(rollouts: Sequence[Rollout], which: str) -> None:
    """A stage without a single score teaches nothing.

    Args:
        which: completes "all 8 attempts … failed".

    Raises:
        MeasurementError: every attempt failed.
    """
    errors = [rollout.error for rollout in rollouts if rollout.error is not None]
    if errors and len(errors) == len(rollouts):
        raise MeasurementError(
            f"all {len(errors)} attempts {which} failed; the last: {errors[-1]}",
            mend="mend it and run the same command again",
        )


def encode_attempt(attempt: Attempt) -> dict[str, Any]:
    """Plain JSON for the call cache and the evidence ref."""
    return {
        "reply": attempt.reply,
        "answer": attempt.answer,
        "hard": str(attempt.score.hard),
        "soft": str(attempt.score.soft),
        "reason": attempt.score.reason,
        "calls": list(attempt.calls),
        "transcript": [[turn.role, turn.text] for turn in attempt.transcript],
    }


def decode_attempt(value: Mapping[str, Any]) -> Attempt:
    """The inverse of `encode_attempt`, without the usage, which was paid before."""
    score = Score(Fraction(value["hard"]), Fraction(value["soft"]), value["reason"])
    turns = tuple(Turn(role, text) for role, text in value["transcript"])
    return Attempt(
        reply=value["reply"], answer=value["answer"], score=score, calls=tuple(value["calls"]), transcript=turns
    )
