"""How many calls at once: the decision by outcomes, and slots in order of priority."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clock import now, virtual

from skillgit.models.limiter import FEW, REST_S, STEADY, TOO_MANY, WINDOW, Limiter, Pace


def feed(pace: Pace, outcomes: str) -> None:
    """`+` an answer, `-` a refusal, each of a call that began just before."""
    for outcome in outcomes:
        pace.answered(pace.cuts) if outcome == "+" else pace.refused(pace.cuts)


@pytest.mark.parametrize(
    ("outcomes", "limit"),
    [
        ("", 16),
        ("-" * 13, 16),
        ("-" * 14, 8),  # no answer yet: refusals are faster
        ("+" * 6 + "-" * 14, 8),
        ("+" * 18 + "-" * 14, 9),  # 16 * 18 / 32
        ("-" * 13 + "+" * 32 + "-" * 13, 16),  # the first ones have left the window
        ("-" * 28, 4),
        ("-" * 200, 1),
    ],
)
def test_refusals_lower_the_limit_to_the_goodput(outcomes: str, limit: int) -> None:
    pace = Pace(16)
    feed(pace, outcomes)
    assert pace.limit == limit


def test_answers_raise_it_again_one_by_one() -> None:
    pace = Pace(16)
    feed(pace, "-" * 28)
    limits = []
    for _ in range(60):
        pace.answered(pace.cuts)
        limits.append(pace.limit)
    # after STEADY answers each, from 9 on after as many as the limit
    assert [limits.count(limit) for limit in range(4, 10)] == [STEADY - 1, *[STEADY] * 4, 9]
    assert limits == sorted(limits)
    feed(pace, "+" * 500)
    assert pace.limit == 16


def test_it_does_not_grow_while_refusals_are_more_than_few() -> None:
    pace = Pace(16)
    feed(pace, "-" * 14)
    feed(pace, "-+++" * 50)
    assert FEW == 1 / 4
    assert pace.limit == 8


def test_calls_that_began_before_a_cut_do_not_count() -> None:
    pace = Pace(16)
    before = pace.cuts
    assert [pace.refused(before) for _ in range(20)] == [False] * 13 + [True] + [False] * 6
    for _ in range(100):
        pace.answered(before)
    assert pace.limit == 8


@given(st.integers(1, 40), st.text("+-", max_size=300))
def test_the_limit_stays_in_its_bounds_and_comes_back(most: int, outcomes: str) -> None:
    pace = Pace(most)
    for index, outcome in enumerate(outcomes):
        before = pace.limit
        feed(pace, outcome)
        assert 1 <= pace.limit <= most
        if pace.limit < before:
            assert outcomes[max(0, index + 1 - WINDOW) : index + 1].count("-") >= TOO_MANY
            assert pace.limit >= before // 2
    feed(pace, "+" * (WINDOW + STEADY * most + most * most))
    assert pace.limit == most


def test_a_server_that_refuses_a_random_fifth_is_hardly_slowed() -> None:
    for seed in range(20):
        pace, draw = Pace(16), random.Random(seed)
        limits = []
        for _ in range(1500):
            feed(pace, "-" if draw.random() < 0.2 else "+")
            limits.append(pace.limit)
        assert min(limits) >= 8
        assert sum(limits) / len(limits) > 15


@virtual
async def test_the_urgent_go_first_and_then_the_first_come() -> None:
    limiter = Limiter(1)
    went: list[str] = []

    async def work(name: str, priority: int) -> None:
        async with limiter.slot(priority):
            went.append(name)
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as group:
        for name, priority in (("held", 9), ("s1", 1), ("s2", 1), ("u1", 0), ("u2", 0), ("first", -1)):
            group.create_task(work(name, priority))
    assert went == ["held", "first", "u1", "u2", "s1", "s2"]


@virtual
async def test_a_cancelled_waiter_loses_no_slot() -> None:
    limiter = Limiter(1)
    got: list[int] = []

    async def take(number: int) -> None:
        async with limiter.slot():
            got.append(number)

    async with limiter.slot():
        tasks = [asyncio.create_task(take(number)) for number in range(3)]
        await asyncio.sleep(1)
        tasks[0].cancel()
        await asyncio.sleep(1)
    # The slot was handed to the second as the first one's was given back; now it goes on to the third.
    tasks[1].cancel()
    await asyncio.wait(tasks)
    assert (got, limiter.held) == ([2], 0)


@virtual
async def test_a_pause_holds_back_new_calls_only() -> None:
    limiter = Limiter(2)
    began: list[float] = []

    async def take() -> None:
        async with limiter.slot():
            began.append(now())
            await asyncio.sleep(1)

    start = now()
    first = asyncio.create_task(take())
    await asyncio.sleep(0)
    limiter.pause(5)
    second = asyncio.create_task(take())
    await asyncio.sleep(3)
    assert first.done()
    limiter.pause(7)
    limiter.pause(1)  # the longer one stays
    await second
    assert [at - start for at in began] == pytest.approx([0, 10], abs=0.01)
    assert began[1] >= start + 10


@virtual
async def test_many_refusals_pause_all_calls_and_few_do_not() -> None:
    limiter = Limiter(16)
    async with limiter.slot() as slot:
        start = now()
        for _ in range(TOO_MANY - 1):
            slot.overloaded(5)
        async with limiter.slot():
            assert now() == start
        slot.overloaded(5)
    assert limiter.limit == 8
    async with limiter.slot():
        assert start + 5 <= now() < start + 5.01


@virtual
async def test_the_slot_of_a_refused_try_rests() -> None:
    limiter = Limiter(2)
    async with limiter.slot():
        async with limiter.slot() as slot:
            slot.overloaded()
        start = now()
        async with limiter.slot():
            assert start + REST_S <= now() < start + REST_S + 0.01
        async with limiter.slot():  # that of an answered one does not
            assert now() < start + REST_S + 0.01


@virtual
async def test_a_lower_limit_waits_for_slots_that_are_out() -> None:
    limiter = Limiter(4)
    async with limiter.slot() as a, limiter.slot(), limiter.slot():
        for _ in range(TOO_MANY):
            a.overloaded()
        assert (limiter.limit, limiter.held) == (2, 3)
        late = asyncio.ensure_future(limiter.slot().__aenter__())
        await asyncio.sleep(1)
        assert not late.done()
    await late
    assert limiter.held == 1


def test_a_limiter_outlives_its_loop_even_with_a_pause() -> None:
    limiter = Limiter(1)

    async def paused() -> None:
        limiter.pause(0.05)

    async def take() -> None:
        async with limiter.slot():
            pass

    asyncio.run(paused())
    asyncio.run(asyncio.wait_for(take(), 10))
    assert limiter.held == 0


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 5)), max_size=20),
)
def test_never_more_than_the_limit_and_every_slot_comes_back(most: int, calls: list[tuple[int, int, int]]) -> None:
    """Calls of a priority that last so long and are cancelled after so long, unless they have ended."""

    @virtual
    async def run() -> None:
        limiter = Limiter(most)

        async def work(priority: int, lasts: int) -> None:
            async with limiter.slot(priority):
                assert limiter.held <= most
                await asyncio.sleep(lasts)

        async def cancelled(priority: int, lasts: int, after: int) -> None:
            task = asyncio.create_task(work(priority, lasts))
            await asyncio.sleep(after)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled() or task.exception() is None

        await asyncio.gather(*(cancelled(*call) for call in calls))
        assert limiter.held == 0
        async with limiter.slot():
            pass

    run()
