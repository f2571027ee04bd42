"""Bounded concurrency."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from skillgit.execute.pool import map_bounded


@dataclass
class Work:
    """Notes who began, who ended and who was cancelled, and how many were at work at once."""

    delays: dict[int, float] = field(default_factory=dict)
    fails: dict[int, BaseException] = field(default_factory=dict)
    began: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    busy: int = 0
    most: int = 0

    async def __call__(self, item: int) -> int:
        self.began.append(item)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await asyncio.sleep(self.delays.get(item, 0))
            if item in self.fails:
                raise self.fails[item]
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # giving a connection back takes a moment
            self.cancelled.append(item)
            raise
        finally:
            self.busy -= 1
        self.ended.append(item)
        return item * 10


@pytest.mark.parametrize(("count", "limit", "most"), [(10, 3, 3), (2, 16, 2), (5, 1, 1), (0, 4, 0)])
async def test_results_are_in_order_and_at_most_so_many_run(count: int, limit: int, most: int) -> None:
    work = Work({n: 0.001 * (count - n) for n in range(count)})
    assert await map_bounded(range(count), work, limit=limit) == [n * 10 for n in range(count)]
    assert work.began == list(range(count))
    assert work.most == most


async def test_a_worker_that_is_done_takes_the_next_item() -> None:
    work = Work({0: 0.05})
    await map_bounded(range(6), work, limit=2)
    assert work.ended == [1, 2, 3, 4, 5, 0]


async def test_results_may_be_none() -> None:
    async def nothing(item: int) -> None:
        await asyncio.sleep(0)

    assert await map_bounded([1, 2, 3], nothing, limit=2) == [None, None, None]


async def test_the_first_failure_ends_the_batch_and_no_call_outlives_it() -> None:
    work = Work({0: 60, 1: 0.001, 2: 60}, {1: ValueError("one")})
    with pytest.raises(ValueError, match="one"):
        await map_bounded(range(9), work, limit=3)
    assert (sorted(work.cancelled), work.busy) == ([0, 2], 0)
    assert work.began == [0, 1, 2]


async def test_several_failures_at_once_raise_the_first() -> None:
    work = Work(fails={0: ValueError("zero"), 1: KeyError("one")})
    with pytest.raises(ValueError, match="zero"):
        await map_bounded(range(2), work, limit=2)
    assert work.busy == 0


async def test_a_cancelled_batch_waits_for_its_workers() -> None:
    work = Work(dict.fromkeys(range(4), 60))
    task = asyncio.ensure_future(map_bounded(range(4), work, limit=2))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (sorted(work.cancelled), work.busy, work.began) == ([0, 1], 0, [0, 1])
