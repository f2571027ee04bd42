"""Bounded concurrency on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def map_bounded(items: Sequence[T], work: Callable[[T], Awaitable[R]], *, limit: int) -> list[R]:
    """Run `work` over `items`, at most `limit` at once, started in order.

    Returns: the results, in the order of the items.

    Raises: the first exception that a worker raised, after the others were cancelled.
    """
    results: list[R | None] = [None] * len(items)
    queue = iter(range(len(items)))

    async def worker() -> None:
        for index in queue:
            results[index] = await work(items[index])

    workers = [asyncio.ensure_future(worker()) for _ in range(min(limit, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        # Cancelled workers are awaited, so that no call outlives the batch it belongs to.
        await asyncio.gather(*workers, return_exceptions=True)
    return results  # type: ignore[return-value]
