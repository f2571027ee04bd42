"""Ends that a person or a rule decides: Ctrl-C once and twice, SIGTERM, and patience."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from skillgit.errors import InterruptedRunError

MEND = "the same command goes on where it was"


def out_of_patience(without: int, patience: int) -> str | None:
    """Whether `train.patience` ends the run, in a sentence.

    Args:
        without: steps in a row without an accepted candidate.
        patience: 0 for no such end.
    """
    if not patience or without < patience:
        return None
    return f"no candidate was accepted in {without} step{'' if without == 1 else 's'} (patience {patience})"


class Interrupts:
    """Ctrl-C while a run goes on: once to finish the running step, twice to stop now. SIGTERM stops now.

    A context manager of the task that runs the training, inside its event loop:

        with Interrupts(say, lambda: f"step {number}") as stop:
            while ...:
                await take(step)
                stop.check()

    To stop now, the task is cancelled; what had been answered by then is in the call cache. All three ways end with
    exit code 130 (SIGTERM too: to whoever runs the command, 130 means "interrupted, and can be resumed"). The handlers
    that were there before come back when the block ends.

    Args:
        say: tells the person.
        doing: what is running, as it fits behind "finishing".
    """

    def __init__(self, say: Callable[[str], None], doing: Callable[[], str] = lambda: "the running step") -> None:
        self._say = say
        self._doing = doing
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._undo: list[tuple[signal.Signals, Any, bool]] = []
        self.asked = False
        """Pressed once: end at the next safe point."""
        self.now = False
        """Pressed twice, or SIGTERM."""

    def check(self) -> None:
        """To be called where a run can end: behind a step that is in the journal.

        Raises:
            InterruptedRunError: the person asked for it.
        """
        if self.asked or self.now:
            raise InterruptedRunError("interrupted", mend=MEND)

    def __enter__(self) -> Interrupts:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._catch(signal.SIGINT, self._interrupt)
        self._catch(signal.SIGTERM, self._stop_now)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, previous, by_loop in reversed(self._undo):
            if by_loop and self._loop is not None:
                self._loop.remove_signal_handler(number)
            # The loop puts the default back, and not what was there.
            signal.signal(number, signal.SIG_DFL if previous is None else previous)
        self._undo = []
        if self.now and self._task is not None:
            self._task.uncancel()
            if isinstance(error, asyncio.CancelledError):
                raise InterruptedRunError("interrupted", mend=MEND) from None

    def _catch(self, number: signal.Signals, act: Callable[[], None]) -> None:
        loop = self._loop
        if loop is None:
            raise AssertionError("handlers are installed inside the block")

        def later(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(act)

        previous = signal.getsignal(number)
        # ValueError, RuntimeError: not the main thread, where no signal ever arrives.
        with contextlib.suppress(ValueError, RuntimeError):
            try:
                loop.add_signal_handler(number, act)
                self._undo.append((number, previous, True))
            except NotImplementedError:  # Windows
                signal.signal(number, later)
                self._undo.append((number, previous, False))

    def _interrupt(self) -> None:
        if self.asked:
            self._stop_now()
        else:
            self.asked = True
            self._say(f"finishing {self._doing()}; press Ctrl-C again to stop now")

    def _stop_now(self) -> None:
        if not self.now and self._task is not None:
            self.now = True
            self._task.cancel()
