"""A hosted model made steady: waits, copies of calls that hang, priorities, by a clock that jumps."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping

import pytest
from support.clients import ASK
from support.clock import now, virtual

from skillgit.config import Limits
from skillgit.errors import ModelError, ModelRefusedError, OverloadedError
from skillgit.models.base import Json, Reply, Request, Usage
from skillgit.models.limiter import PRIORITY, Limiter
from skillgit.models.steady import MOST_TRIES, SteadyModel, delay_s, first_good, patience_s

HANG = float("inf")
Plan = Callable[[int], float | ModelError]
"""What happens to the n-th try: it is answered after so many seconds, or it fails at once."""


class Server:
    """A model that follows a plan. A try that takes HANG is never answered."""

    name = "fake/model"
    settings: Mapping[str, Json] = {"endpoint": "fake"}
    in_flight = 16

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.began: list[float] = []
        self.cancelled: list[int] = []
        self.busy = self.most_busy = 0
        self.closed = False

    async def complete(self, request: Request) -> Reply:
        number = len(self.began)
        self.began.append(now())
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            what = self._plan(number)
            if isinstance(what, ModelError):
                await asyncio.sleep(0.01)
                raise what
            await (asyncio.get_running_loop().create_future() if what == HANG else asyncio.sleep(what))
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        finally:
            self.busy -= 1
        return Reply(str(number), Usage(1, 10, 0, 2))

    async def close(self) -> None:
        self.closed = True


def steady(plan: Plan, *, in_flight: int = 16, hedge: bool = True, timeout_s: float = 120.0) -> SteadyModel:
    limits = Limits(in_flight=in_flight, hedge=hedge, timeout_s=timeout_s)
    return SteadyModel(Server(plan), limits, draw=random.Random(1).random)


def server_of(model: SteadyModel) -> Server:
    assert isinstance(model._inner, Server)
    return model._inner


async def at_once(model: SteadyModel, calls: int) -> list[Reply]:
    return await asyncio.gather(*(model.complete(ASK) for _ in range(calls)))


def at(*plan: float | ModelError, then: float = 0.3) -> Plan:
    """The first tries as listed, all others take `then`."""
    return lambda number: plan[number] if number < len(plan) else then


def busy(wait_s: float | None = None) -> OverloadedError:
    return OverloadedError("fake/model: 429", mend="wait", wait_s=wait_s)


def test_delays_double_with_full_jitter_up_to_a_bound() -> None:
    assert [delay_s(None, n, 1.0) for n in range(1, 10)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8, 8]
    assert delay_s(None, 4, 0.25) == 0.2
    assert delay_s(None, 4, 0.0) == 0
    assert delay_s(7.5, 4, 0.25) == 7.5
    assert delay_s(0.0, 4, 1.0) == 0.8


def test_patience_follows_the_median() -> None:
    assert patience_s([]) == 8
    assert patience_s([0.3]) == 6
    assert patience_s([1.0, 1.0, 30.0]) == 20
    assert patience_s([0.3] * 5) == 2
    assert patience_s([1.0, 1.0, 1.0, 90.0, 90.0]) == 5


@virtual
async def test_a_wait_that_is_asked_for_is_kept_and_the_slot_is_free_meanwhile() -> None:
    model = steady(at(busy(30)), in_flight=1)
    start = now()
    first = asyncio.create_task(model.complete(ASK))
    await asyncio.sleep(0.1)
    assert (await model.complete(ASK)).text == "1"
    assert now() - start < 1
    reply = await first
    assert server_of(model).began[2] - start == pytest.approx(30.01)
    assert reply.usage == Usage(1, 10, 0, 2)
    assert (model.overloads, model.hedges, model.limiter.held) == (1, 0, 0)


@virtual
async def test_a_server_that_refuses_for_ever_is_given_up() -> None:
    model = steady(lambda _: busy())
    start = now()
    with pytest.raises(OverloadedError, match="429; wait"):
        await model.complete(ASK)
    assert len(server_of(model).began) == MOST_TRIES == model.overloads
    assert 2 < now() - start < 29
    assert model.limiter.held == 0


@virtual
async def test_waits_that_are_too_long_are_not_waited_for() -> None:
    start = now()
    with pytest.raises(OverloadedError):
        await steady(lambda _: busy(61)).complete(ASK)
    assert now() - start < 1
    # With a timeout of 10 s a call may take 90 s: two waits of 40 s, no third.
    short = steady(lambda _: busy(40), timeout_s=10)
    with pytest.raises(OverloadedError):
        await short.complete(ASK)
    assert len(server_of(short).began) == 3


@virtual
async def test_other_failures_are_not_retried() -> None:
    for error in (ModelRefusedError("401"), ModelError("500, after the SDK's retries")):
        model = steady(at(error))
        with pytest.raises(type(error)):
            await model.complete(ASK)
        assert len(server_of(model).began) == 1


@virtual
async def test_a_hanging_call_is_sent_once_more_and_counted_once() -> None:
    model = steady(at(*[0.3] * 9, HANG))
    start = now()
    replies = await at_once(model, 16)
    assert now() - start < 3
    assert sum((reply.usage for reply in replies), Usage()) == Usage(16, 160, 0, 32)
    assert (model.hedges, model.limiter.held) == (1, 0)
    server = server_of(model)
    assert (len(server.began), server.cancelled, server.busy) == (17, [9], 0)


@virtual
async def test_a_first_call_that_hangs_loses_less_than_ten_seconds() -> None:
    model = steady(at(HANG))
    start = now()
    await model.complete(ASK)
    assert 8 <= now() - start < 10


@virtual
async def test_the_first_of_two_that_is_merely_slow_still_counts() -> None:
    model = steady(at(9, 50))
    start = now()
    assert (await model.complete(ASK)).text == "0"
    assert now() - start == pytest.approx(9)
    assert server_of(model).cancelled == [1]


@virtual
async def test_without_hedging_a_call_is_sent_once() -> None:
    model = steady(at(100), hedge=False)
    await model.complete(ASK)
    assert (model.hedges, len(server_of(model).began)) == (0, 1)


@virtual
async def test_a_slow_model_costs_one_copy_before_its_first_answer() -> None:
    model = steady(lambda number: 60)
    await at_once(model, 16)
    assert model.hedges == 1
    await at_once(model, 16)
    assert model.hedges == 1


@virtual
async def test_a_server_that_turns_slow_is_not_doubled_in_load() -> None:
    model = steady(at(*[0.3] * 16, then=30))
    await at_once(model, 16)
    await at_once(model, 16)
    assert server_of(model).most_busy == 16 + 4


@virtual
async def test_a_limit_of_one_does_not_keep_a_hanging_call_from_being_sent_again() -> None:
    model = steady(at(HANG, HANG, then=0.3), in_flight=1)
    calls = asyncio.gather(model.complete(ASK), return_exceptions=True)
    await asyncio.sleep(60)
    assert len(server_of(model).began) == 2  # one copy, no more
    calls.cancel()
    await asyncio.wait([calls])
    assert (server_of(model).busy, model.limiter.held) == (0, 0)
    assert (await model.complete(ASK)).text == "2"


@virtual
async def test_a_copy_that_is_refused_waits_and_is_sent_again() -> None:
    model = steady(at(HANG, busy(3), busy()))
    start = now()
    assert (await model.complete(ASK)).text == "3"
    assert 11 < now() - start < 13
    assert (model.hedges, model.overloads) == (1, 2)


@virtual
async def test_where_one_of_two_fails_the_other_is_waited_for() -> None:
    async def after(seconds: float, what: Reply | Exception) -> Reply:
        await asyncio.sleep(seconds)
        if isinstance(what, Exception):
            raise what
        return what

    async def race(*tries: tuple[float, Reply | Exception]) -> Reply:
        futures = [asyncio.ensure_future(after(*one)) for one in tries]
        try:
            return await first_good(futures)
        finally:
            await asyncio.gather(*futures, return_exceptions=True)

    good, bad, worse = Reply("good"), ModelError("bad"), ModelError("worse")
    assert await race((1, bad), (2, good)) == good
    assert await race((2, good), (1, bad)) == good
    with pytest.raises(ModelError, match="bad"):
        await race((2, bad), (1, worse))
    with pytest.raises(ModelRefusedError, match="401"):
        await race((2, good), (1, ModelRefusedError("401")))
    with pytest.raises(KeyError):
        await race((1, KeyError("a bug")), (2, good))


@virtual
async def test_cancelled_calls_leave_nothing_behind() -> None:
    model = steady(lambda number: HANG if number % 2 else busy(40))
    calls = [asyncio.create_task(model.complete(ASK)) for _ in range(40)]
    await asyncio.sleep(9)  # most hang, one has a copy, the others wait to be tried again
    assert (model.hedges, server_of(model).busy > 9, 9 < model.limiter.held <= 16) == (1, True, True)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    assert all(call.cancelled() for call in calls)
    assert (server_of(model).busy, model.limiter.held) == (0, 0)
    assert len(asyncio.all_tasks()) == 1


@virtual
async def test_speculative_calls_go_last() -> None:
    model = steady(lambda number: 1, in_flight=1)
    order: list[str] = []

    async def ask(name: str, priority: int) -> None:
        PRIORITY.set(priority)  # of this task's context alone
        await model.complete(ASK)
        order.append(name)

    asks = [ask("first", 0), ask("guess", 1), ask("guess again", 1), ask("sure", 0)]
    await asyncio.gather(*map(asyncio.create_task, asks))
    assert order == ["first", "sure", "guess", "guess again"]
    assert PRIORITY.get() == 0


@virtual
async def test_a_server_that_admits_five_gets_about_five() -> None:
    def admit(number: int) -> float | ModelError:
        return busy() if server_of(model).busy > 5 else 0.3

    model = steady(admit)
    start = now()
    limits: list[int] = []

    async def worker() -> None:
        for _ in range(20):
            await model.complete(ASK)
            limits.append(model.limiter.limit)

    await asyncio.gather(*(worker() for _ in range(16)))
    settled = limits[100:]
    assert 3 <= min(settled) <= max(settled) <= 9
    assert now() - start < 1.5 * 320 * 0.3 / 5
    assert model.overloads < 320


@pytest.mark.parametrize("wait_s", [None, 0.2])
def test_a_random_fifth_of_refusals_costs_less_than_half_the_time_again(wait_s: float | None) -> None:
    @virtual
    async def run(share: float) -> None:
        draw = random.Random(7)

        def answer(number: int) -> float | ModelError:
            return busy(wait_s) if draw.random() < share else draw.lognormvariate(-1.28, 0.4)

        model = steady(answer)
        start = now()

        async def worker() -> None:
            for _ in range(40):
                await model.complete(ASK)

        await asyncio.gather(*(worker() for _ in range(16)))
        times.append(now() - start)
        assert model.hedges == 0

    times: list[float] = []
    run(0.0)
    run(0.2)
    assert times[0] < times[1] < 1.5 * times[0]


@virtual
async def test_models_of_one_endpoint_share_their_limiter() -> None:
    limiter = Limiter(2)
    servers = [Server(lambda number: 1), Server(lambda number: 1)]
    models = [SteadyModel(server, Limits(in_flight=2), limiter=limiter) for server in servers]
    start = now()
    await asyncio.gather(*(model.complete(ASK) for model in models * 2))
    assert now() - start == pytest.approx(2)


@virtual
async def test_it_shows_the_model_inside() -> None:
    model = steady(at(), in_flight=3)
    assert (model.name, model.settings, model.in_flight) == ("fake/model", {"endpoint": "fake"}, 3)
    await model.close()
    assert server_of(model).closed
