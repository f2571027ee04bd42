"""Listeners that can never break a run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from skillgit.errors import SkillgitError
from skillgit.models.endpoint import well_formed
from skillgit.train.events import Event, Listener, Note


def name_of(listener: Listener) -> str:
    """How a note speaks of a listener: its `name`, or what Python calls it."""
    found = getattr(listener, "name", None) or getattr(listener, "__qualname__", None) or type(listener).__qualname__
    return str(found)


def _failure(call: Callable[[], Any]) -> str | None:
    """What went wrong in a listener's code, in a line.

    The one place where everything is caught: a listener is anybody's code, and whatever it raises, the run must go
    on. It is always said, by the caller.
    """
    try:
        call()
    except SkillgitError as error:
        return well_formed(str(error))
    except Exception as error:  # noqa: BLE001 - see above
        return well_formed(f"{type(error).__name__}: {error}".rstrip(": "))
    return None


class Listeners:
    """Tells each of several listeners every event. One that raises is detached, and a Note tells the others.

    Args:
        listeners: told in this order.

    `display`, which is told first, is the command's own: what it raises (its reader has left) ends the command.
    """

    def __init__(self, listeners: Iterable[Listener], display: Listener | None = None) -> None:
        self._listeners = list(listeners)
        self._failed: list[Listener] = []
        self.display = display

    def __call__(self, event: Event) -> None:
        if self.display is not None:
            self.display(event)
        for listener in list(self._listeners):
            if listener in self._listeners:  # it may have failed on the note of another
                self._after(listener, _failure(partial(listener, event)))

    def close(self) -> None:
        """End those that have a `close`, once; the notes of what went wrong go to the others, which hear no more."""
        failed = list(self._failed)
        for listener in list(self._listeners):
            end = getattr(listener, "close", None)
            if end is not None:
                self._after(listener, _failure(end))
        for listener in failed:
            _failure(getattr(listener, "close", lambda: None))  # that it failed is said already
        self._listeners, self._failed = [], []

    def _after(self, listener: Listener, problem: str | None) -> None:
        if problem is not None and listener in self._listeners:
            self._listeners.remove(listener)
            self._failed.append(listener)
            self(Note(f"{name_of(listener)} failed and is told nothing more: {problem}"))


class Background:
    """A listener that is called in a thread of its own, in order: one that waits for a network holds no step up.

    What it raises comes out of the next call, where `Listeners` detaches it.

    Args:
        inner: may have a `close`.
        patience: seconds that `close` waits for what is not yet told.
    """

    def __init__(self, inner: Listener, *, patience: float = 30.0) -> None:
        self.name = name_of(inner)
        self._inner = inner
        self._patience = patience
        self._waiting: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._problem: str | None = None
        # A daemon: a hanging server must not keep the process alive.
        self._thread = threading.Thread(target=self._work, name=f"skillgit-{self.name}", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Hand an event over.

        Raises:
            SkillgitError: the listener failed on an earlier one.
        """
        self._raise()
        self._waiting.put(event)

    def close(self) -> None:
        """Let the listener hear the rest and close it.

        Raises:
            SkillgitError: it failed, or is not done in time.
        """
        self._waiting.put(None)
        self._thread.join(self._patience)
        self._raise()
        if self._thread.is_alive():
            raise SkillgitError(f"it did not end within {self._patience:g} seconds")

    def _raise(self) -> None:
        if self._problem is not None:
            raise SkillgitError(self._problem)

    def _work(self) -> None:
        while (event := self._waiting.get()) is not None:
            if self._problem is None:
                self._problem = _failure(partial(self._inner, event))
        end = getattr(self._inner, "close", None)
        if end is not None:
            problem = _failure(end)
            self._problem = self._problem or problem
