"""A hosted model made steady: slots, waits where the server is overloaded, and a second try for a call that hangs.

Times are the event loop's, so that tests bring their own.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from skillgit.config import Limits
from skillgit.errors import ModelError, ModelRefusedError, OverloadedError
from skillgit.models.base import Json, Model, Reply, Request
from skillgit.models.endpoint import LONGEST_WAIT_S, deadline_s
from skillgit.models.limiter import PRIORITY, Limiter, Slot

FIRST_DELAY_S = 0.1
"""Before the second try, where the server asks for no wait; doubled for each try after it."""

LONGEST_DELAY_S = 8.0

MOST_TRIES = 10
"""Of one call that the server refuses as one too many. With the delays: about 14 s in all, 29 s at most."""

LATENCIES = 64
"""The last answered calls whose median tells how long a call usually takes."""

_LOOK_S = 0.25
"""How often a call that is waited for is compared with the median, which moves as others are answered."""


def delay_s(asked_s: float | None, refusals: int, draw: float) -> float:
    """How long a refused call waits.

    Args:
        asked_s: what the server asked for: waited for to the end. None or 0 says nothing about how long.
        refusals: of this call so far, at least 1.
        draw: a random number in 0..1: full jitter, so that calls refused together do not come back together.
    """
    return asked_s or draw * min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (refusals - 1))


def patience_s(latencies: Sequence[float]) -> float:
    """How long a call may take before it counts as hanging.

    Five medians: of lognormal latencies with sigma 0.4 one in 35,000 takes longer. With fewer than five samples the
    median may be that of the shortest calls, so it is twenty. With none it is 8 s: a hanging first call loses less than
    10 s, and a slow model's first calls cost one duplicate at a time (see `SteadyModel`) until one is answered.
    """
    if not latencies:
        return 8.0
    return max(6.0, 20 * median(latencies)) if len(latencies) < 5 else max(2.0, 5 * median(latencies))


class SteadyModel:
    """A model around a hosted one. What the endpoint refuses for its load is tried again, what hangs is sent twice.

    A try takes a slot of the limiter, by the `PRIORITY` of its context, and gives it back while it waits to be tried
    again. A copy of a hanging call goes in the slot of the first: what hangs takes nothing of the server's capacity.
    There is one copy per call at most; at once there are as many as a quarter of the calls under way, but at least one,
    and one only before the first answer, so that a slow server's load is not doubled.

    Args:
        inner: raises OverloadedError at once for what may be tried again later.
        limiter: shared by the models of one endpoint; None for one of its own.
        draw: random numbers in 0..1 for the delays.
    """

    def __init__(
        self,
        inner: Model,
        limits: Limits,
        *,
        limiter: Limiter | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._inner = inner
        self._limits = limits
        self._draw = draw
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._under_way = self._copies = 0
        self.limiter = limiter or Limiter(limits.in_flight)
        self.overloads = 0
        """Tries that the server refused for its load."""
        self.hedges = 0
        """Calls of which a copy was sent."""
        self.resting = 0
        """Calls that wait to be tried again, and hold no slot: as many more may be begun."""

    @property
    def name(self) -> str:
        """The inner model's."""
        return self._inner.name

    @property
    def settings(self) -> Mapping[str, Json]:
        """The inner model's: nothing here changes replies."""
        return self._inner.settings

    @property
    def in_flight(self) -> int:
        """As configured under `limits`, whatever the server bears just now."""
        return self._limits.in_flight

    async def close(self) -> None:
        """Close the inner model."""
        await self._inner.close()

    async def complete(self, request: Request) -> Reply:
        """Answer; see `skillgit.models.base.Model`. The usage is that of one call, whatever was sent.

        Raises:
            OverloadedError: refused MOST_TRIES times, or the waits asked for are too long.
        """
        backoff: Backoff | None = None
        while True:
            async with self.limiter.slot(PRIORITY.get()) as slot:
                backoff = backoff or self._backoff()  # from the first try on: the wait for a slot does not count
                try:
                    reply = await self._hedged(request, slot)
                except OverloadedError as error:
                    wait = backoff.after(error)
                else:
                    slot.succeeded()
                    return reply
            self.resting += 1
            try:
                await asyncio.sleep(wait)
            finally:
                self.resting -= 1

    async def _hedged(self, request: Request, slot: Slot) -> Reply:
        """One try, and a copy of it where it hangs. Neither outlives this call."""
        tries = [asyncio.ensure_future(self._try(request, slot))]
        began = asyncio.get_running_loop().time()
        self._under_way += 1
        try:
            while not tries[0].done():
                await asyncio.wait(tries, timeout=_LOOK_S if self._limits.hedge else None)
                if not tries[0].done() and self._is_hanging(began):
                    self.hedges += 1
                    self._copies += 1
                    tries.append(asyncio.ensure_future(self._copy(request, slot)))
                    break
            return await first_good(tries)
        finally:
            self._under_way -= 1
            self._copies -= len(tries) - 1
            for one in tries:
                one.cancel()
            await asyncio.gather(*tries, return_exceptions=True)

    def _is_hanging(self, began: float) -> bool:
        """Whether a call that began then is to be sent again now."""
        most = max(1, self._under_way // 4) if self._latencies else 1
        return self._copies < most and asyncio.get_running_loop().time() - began >= patience_s(self._latencies)

    async def _try(self, request: Request, slot: Slot) -> Reply:
        """Ask the inner model once."""
        began = asyncio.get_running_loop().time()
        try:
            reply = await self._inner.complete(request)
        except OverloadedError as error:
            self.overloads += 1
            slot.overloaded(error.wait_s)
            raise
        self._latencies.append(asyncio.get_running_loop().time() - began)
        return reply

    async def _copy(self, request: Request, slot: Slot) -> Reply:
        """The second of a hanging call; it waits by itself where it is refused, as the first still hangs."""
        backoff = self._backoff()
        while True:
            try:
                return await self._try(request, slot)
            except OverloadedError as error:
                wait = backoff.after(error)
            await asyncio.sleep(wait)

    def _backoff(self) -> Backoff:
        return Backoff(deadline_s(self._limits.timeout_s), self._draw)


class Backoff:
    """The waits of one call, until it is given up.

    Args:
        most_s: seconds from its first try after which no further one begins.
    """

    def __init__(self, most_s: float, draw: Callable[[], float]) -> None:
        self._until = asyncio.get_running_loop().time() + most_s
        self._draw = draw
        self._refusals = 0

    def after(self, error: OverloadedError) -> float:
        """Seconds to wait after a refusal.

        Raises:
            OverloadedError: the one given, where no further try is worth it.
        """
        self._refusals += 1
        wait = delay_s(error.wait_s, self._refusals, self._draw())
        late = asyncio.get_running_loop().time() + wait > self._until
        if late or self._refusals >= MOST_TRIES or wait > LONGEST_WAIT_S:
            raise error
        return wait


async def first_good(tries: Sequence[asyncio.Future[Reply]]) -> Reply:
    """The first answer. The caller cancels what is still under way.

    Raises:
        ModelRefusedError: of any try, at once: no other can succeed.
        ModelError: of the first try, when all have failed.
    """
    waiting: set[asyncio.Future[Reply]] = set(tries)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in sorted(done, key=tries.index):
            error = one.exception()
            if error is None:
                return one.result()
            if isinstance(error, ModelRefusedError) or not isinstance(error, ModelError):
                raise error
    return tries[0].result()
