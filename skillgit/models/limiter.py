"""How many calls an endpoint gets at once: bounded, the urgent first, fewer while it refuses, more as it recovers.

It lies here and not in `execute`: rooms of one floor do not know each other (DESIGN, section 4).
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections import deque
from collections.abc import AsyncIterator
from contextvars import ContextVar

PRIORITY: ContextVar[int] = ContextVar("PRIORITY", default=0)
"""Of the calls made in this context; lower is more urgent. Speculative work sets it above 0 in its own task."""

WINDOW = 32
"""The last outcomes (answers and refusals) that a decision looks at."""

TOO_MANY = 14
"""Refusals in the window that lower the limit: clearly above a third. Of a server that refuses a random fifth,
whatever the load, a window has so many once in some 500, so that its calls are retried and not held back."""

FEW = 0.25
"""The share of refusals in the window below which the limit grows."""


STEADY = 8
"""Answers that the limit needs at least before it grows: a low one would grow at every other call."""

REST_S = 0.05
"""How long a slot stays empty after a refusal. Refusals come faster than answers: without a rest, one slot too many
would be refused a hundred times while the others wait for their answers."""


class Pace:
    """The decision alone: outcomes in, limit out.

    At `TOO_MANY` the limit becomes the goodput, limit times the share of answers, yet at least half of what it was:
    refusals come faster than answers, so the share is too low at first. Outcomes of calls that began before the last
    cut say nothing about the new limit and do not count. While refusals are few, the limit grows by one after as many
    answers as it is high (about once in the time of a call, as TCP does), yet after `STEADY` at least, up to `most`.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = most
        self.cuts = 0
        """How often the limit was lowered. A call notes it as it begins and brings it back with its outcome."""
        self._refused: deque[bool] = deque(maxlen=WINDOW)
        self._answers = 0

    def answered(self, cuts: int) -> None:
        """A call that began after `cuts` cuts got its answer."""
        if cuts != self.cuts:
            return
        self._refused.append(False)
        self._answers += 1
        if self._answers >= max(STEADY, self.limit) and sum(self._refused) < FEW * len(self._refused):
            self._answers = 0
            self.limit = min(self.most, self.limit + 1)

    def refused(self, cuts: int) -> bool:
        """A call that began after `cuts` cuts was refused as one too many.

        Returns: whether this lowered the limit (at 1: whether it would have).
        """
        if cuts != self.cuts:
            return False
        self._refused.append(True)
        refusals, outcomes = sum(self._refused), len(self._refused)
        if refusals < TOO_MANY:
            return False
        self.limit = max(1, self.limit // 2, self.limit * (outcomes - refusals) // outcomes)
        self.cuts += 1
        self._refused.clear()
        self._answers = 0
        return True


class Slot:
    """Leave for one try, to be told its outcome. A failure that says nothing about load is not told."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._cuts = limiter.pace.cuts
        self.refused = False

    def succeeded(self) -> None:
        """The server answered."""
        self._limiter.pace.answered(self._cuts)
        self._limiter.hand_on()

    def overloaded(self, wait_s: float | None = None) -> None:
        """The server refused the try as one too many.

        Args:
            wait_s: the wait that it asked for; where refusals are many, all new calls wait as long.
        """
        self.refused = True
        if self._limiter.pace.refused(self._cuts) and wait_s:
            self._limiter.pause(wait_s)


class Limiter:
    """Slots of one endpoint, for calls of one event loop at a time.

    Args:
        most: the limit where the endpoint refuses nothing.
    """

    def __init__(self, most: int) -> None:
        self.pace = Pace(most)
        self._held = 0
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._rests: deque[float] = deque()
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def limit(self) -> int:
        """The most calls at once, as of now."""
        return self.pace.limit

    @property
    def held(self) -> int:
        """Slots that are taken. Just after a cut there may be more than the limit."""
        return self._held

    @contextlib.asynccontextmanager
    async def slot(self, priority: int = 0) -> AsyncIterator[Slot]:
        """Wait for a slot and hold it.

        Args:
            priority: lower goes first; within a priority, who came first.
        """
        await self._acquire(priority)
        slot = Slot(self)
        try:
            yield slot
        finally:
            if slot.refused:
                self._rests.append(asyncio.get_running_loop().time() + REST_S)
            self._give_back()

    def pause(self, seconds: float) -> None:
        """Give no slot before so many seconds are over. A longer pause that is under way stays."""
        self._until = max(self._until, asyncio.get_running_loop().time() + seconds)

    def hand_on(self) -> None:
        """Give the free slots to those who wait, or see to it that this is called when the next one will be free."""
        while self._waiting:
            now = asyncio.get_running_loop().time()
            while self._rests and self._rests[0] <= now:
                self._rests.popleft()
            if now < self._until:
                self._wake(self._until)
                break
            if self._held + len(self._rests) >= self.limit:
                if self._rests:
                    self._wake(self._rests[0])
                break
            _, _, waiter = heapq.heappop(self._waiting)
            if not waiter.done():  # else it was cancelled
                self._held += 1
                waiter.set_result(None)

    def _wake(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # A timer may come a tick of the clock too early, and would then set itself again.
        self._timer = asyncio.get_running_loop().call_at(at + 0.001, self.hand_on)

    def _give_back(self) -> None:
        self._held -= 1
        self.hand_on()

    async def _acquire(self, priority: int) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), waiter))
        self.hand_on()
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # the slot came in the same moment
                self._give_back()
            raise
