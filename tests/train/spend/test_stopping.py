"""Ctrl-C once and twice, SIGTERM, and patience."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import pytest

from skillgit.errors import InterruptedRunError
from skillgit.train.spend.stopping import Interrupts, out_of_patience

signals = pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")


@pytest.mark.parametrize(
    ("without", "patience", "sentence"),
    [
        (5, 0, None),
        (2, 3, None),
        (3, 3, "no candidate was accepted in 3 steps (patience 3)"),
        (1, 1, "no candidate was accepted in 1 step (patience 1)"),
    ],
)
def test_patience(without: int, patience: int, sentence: str | None) -> None:
    assert out_of_patience(without, patience) == sentence


async def _press(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)
    await asyncio.sleep(0.05)


@signals
async def test_once_finishes_the_step() -> None:
    said: list[str] = []

    async def work() -> None:
        with Interrupts(said.append, lambda: "step 7") as stop:
            stop.check()
            await _press()
            said.append("finished")
            stop.check()
            said.append("went on")

    with pytest.raises(InterruptedRunError, match="goes on where it was") as raised:
        await work()
    assert said == ["finishing step 7; press Ctrl-C again to stop now", "finished"]
    assert raised.value.exit_code == 130


@signals
@pytest.mark.parametrize("presses", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGTERM]])
async def test_twice_stops_now(presses: list[signal.Signals]) -> None:
    reached: list[str] = []

    async def work() -> None:
        with Interrupts(lambda _: None):
            for number in presses:
                await _press(number)
            reached.append("the rest of the step")

    with pytest.raises(InterruptedRunError):
        await work()
    assert reached == []
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)  # closing what is open may still await


@signals
async def test_another_cancellation_stays_one() -> None:
    async def work() -> None:
        with Interrupts(lambda _: None):
            await asyncio.sleep(10)

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@signals
async def test_handlers_come_back() -> None:
    def mine(*_: Any) -> None: ...

    before = {number: signal.signal(number, mine) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with Interrupts(lambda _: None):
            assert mine not in (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
        assert signal.getsignal(signal.SIGINT) is mine
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def test_no_signals_in_another_thread() -> None:
    def work() -> bool:
        async def inner() -> bool:
            with Interrupts(lambda _: None) as stop:
                stop.check()
                return stop.asked

        return asyncio.run(inner())

    assert await asyncio.to_thread(work) is False
