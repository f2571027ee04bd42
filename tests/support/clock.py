"""An event loop whose clock jumps to the next timer: hours pass in no time, and everything is deterministic.

    @virtual
    async def test_...: await asyncio.sleep(3600)

For code that waits for timers and for itself only; where nobody can ever go on, it says so instead of hanging.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

P = ParamSpec("P")


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop. Its time begins at 1000."""

    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise AssertionError("everybody waits for ever")
            self._loop.now += timeout
        return events


def virtual(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """A test that runs on such a loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def whole() -> None:
            await test(*args, **kwargs)

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(whole())

    return run


def now() -> float:
    """The running loop's time, in seconds."""
    return asyncio.get_running_loop().time()
