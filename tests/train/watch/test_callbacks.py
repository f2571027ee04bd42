"""Listeners that fail must not break a run, nor silence the others."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from support.training import Watcher, Yard
from support.world import TopicWorld

from skillgit.errors import RefusedError, SkillgitError
from skillgit.train.events import Event, Note, RunFinished
from skillgit.train.watch.callbacks import Background, Listeners

EVENT = Note("hello")


class Broken:
    """Fails on the second event."""

    name = "the tracker"

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.heard = 0

    def __call__(self, event: Event) -> None:
        self.heard += 1
        if self.heard == 2:
            raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [(ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"), (RefusedError("no", mend="ask"), "no; ask")],
)
def test_a_failing_listener_is_detached_and_named(error: Exception, said: str) -> None:
    first, broken, last = Watcher(), Broken(error), Watcher()
    listeners = Listeners([first, broken, last])
    for _ in range(4):
        listeners(EVENT)
    note = f"the tracker failed and is told nothing more: {said}"
    assert broken.heard == 2
    assert first.notes == ["hello", "hello", note, "hello", "hello"]
    assert last.notes == ["hello", note, "hello", "hello", "hello"]


def test_a_listener_that_fails_on_the_note_is_detached_too() -> None:
    watcher = Watcher()
    listeners = Listeners([Broken(OSError("gone")), Broken(ValueError("too")), watcher])
    listeners(EVENT)
    listeners(EVENT)
    assert len([note for note in watcher.notes if "told nothing more" in note]) == 2
    listeners(EVENT)
    assert watcher.notes[-1] == "hello"


def test_an_interruption_passes() -> None:
    listeners = Listeners([Broken(KeyboardInterrupt())])
    listeners(EVENT)
    with pytest.raises(KeyboardInterrupt):
        listeners(EVENT)


def test_the_display_is_told_first_and_may_fail() -> None:
    """It is the command's own: where its reader has left, the command ends."""
    told: list[str] = []

    def display(event: Event) -> None:
        told.append(event.text if isinstance(event, Note) else "")
        if len(told) > 2:
            raise BrokenPipeError

    broken = Broken(OSError("gone"))
    broken.heard = 1
    listeners = Listeners([broken], display)
    listeners(EVENT)
    assert told == ["hello", "the tracker failed and is told nothing more: OSError: gone"]
    with pytest.raises(BrokenPipeError):
        listeners(EVENT)


def test_what_a_listener_says_can_be_written() -> None:
    watcher = Watcher()
    listeners = Listeners([Broken(ValueError("half \ud800")), Broken(SkillgitError("half \ud800")), watcher])
    listeners(EVENT)
    listeners(EVENT)
    said = [note.rpartition(": ")[2] for note in watcher.notes if "failed" in note]
    assert said == ["half \ufffd", "half \ufffd"]


def test_one_that_failed_is_closed_in_the_end_once() -> None:
    ends: list[str] = []

    class Failing(Broken):
        def close(self) -> None:
            ends.append("closed")
            raise OSError("again")

    watcher = Watcher()
    failing = Failing(OSError("gone"))
    listeners = Listeners([failing, watcher])
    listeners(EVENT)
    listeners(EVENT)
    assert (failing.heard, ends) == (2, [])
    listeners.close()
    listeners.close()
    assert ends == ["closed"]
    assert len(watcher.notes) == 3, "hello twice, and once that it failed"


def test_close_closes_all() -> None:
    closed, watcher = [], Watcher()

    class Closing(Watcher):
        def close(self) -> None:
            closed.append(self)
            raise OSError("the disk is gone")

    listeners = Listeners([Closing(), Closing(), watcher])
    listeners.close()
    assert len(closed) == 2
    assert len(watcher.notes) == 2


def test_in_the_background_a_slow_listener_holds_nothing_up() -> None:
    free, heard = threading.Event(), []

    def slow(event: Event) -> None:
        free.wait(10)
        heard.append((event, threading.current_thread() is threading.main_thread()))

    behind = Background(slow)
    behind(EVENT)
    behind(Note("second"))
    assert heard == []
    free.set()
    behind.close()
    assert heard == [(EVENT, False), (Note("second"), False)]


def test_in_the_background_a_failure_comes_out_of_the_next_call() -> None:
    behind = Background(Broken(ValueError("no server")))
    for _ in range(2):
        behind(EVENT)
    with pytest.raises(SkillgitError, match="ValueError: no server"):
        behind.close()
    with pytest.raises(SkillgitError):
        behind(EVENT)
    assert behind.name == "the tracker"


def test_a_hanging_listener_is_left_behind() -> None:
    free = threading.Event()
    behind = Background(lambda _: free.wait(10) and None, patience=0.01)
    behind(EVENT)
    with pytest.raises(SkillgitError, match="did not end within"):
        behind.close()
    free.set()


async def test_a_run_outlives_its_listener(yard: Callable[..., Yard]) -> None:
    here = yard(TopicWorld(2))
    here.watcher = Watcher()
    from support import training

    listeners = Listeners([Broken(RuntimeError("bug")), here.watcher])
    async with training.session(here.root, overrides=["train.num_epochs=1"]) as opened:
        opened.listener = listeners
        with training.SkillLock.acquire(opened.repo, training.SKILL) as lock:
            await training.train(opened, lock)
    assert "the tracker failed and is told nothing more: RuntimeError: bug" in here.watcher.notes
    assert isinstance(here.watcher.events[-1], RunFinished)
