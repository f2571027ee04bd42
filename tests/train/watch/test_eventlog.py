"""The event log: stable keys, one line per event, whatever happens to the file."""

from __future__ import annotations

import os
import stat
import sys
import threading
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from skillgit.errors import SkillgitError, UsageError
from skillgit.models.base import Usage
from skillgit.train.events import Note, RunStarted, StepFinished, UnitDone
from skillgit.train.watch.callbacks import Listeners
from skillgit.train.watch.eventlog import EventLog, as_json, open_log, read

NOW = datetime(2026, 3, 4, 5, 6, 7, 89_000, tzinfo=UTC)
STEP = StepFinished(
    step=7,
    epoch=2,
    decision="accept-best",
    score=Fraction(2, 3),
    maximum=None,
    before=Fraction(1, 2),
    best=Fraction(2, 3),
    edits=2,
    reason="ok",
    calls=30,
    tokens=900,
    usd=Decimal("0.0120"),
)
no_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")


def test_the_keys_of_a_step() -> None:
    assert as_json(STEP, NOW) == {
        "event": "step_finished",
        "time": "2026-03-04T05:06:07.089+00:00",
        "step": 7,
        "epoch": 2,
        "decision": "accept-best",
        "score": "2/3",
        "score_value": 0.666667,
        "maximum": None,
        "before": "1/2",
        "before_value": 0.5,
        "best": "2/3",
        "best_value": 0.666667,
        "edits": 2,
        "reason": "ok",
        "calls": 30,
        "tokens": 900,
        "usd": "0.0120",
        "kind": "step",
    }


def test_every_event_comes_back(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: NOW)
    log(RunStarted("topics", "01k9", 2, 8, None))
    log(UnitDone(Fraction(1), Usage(1, 20, 0, 3)))
    log(Note("zwei\nZeilen – ja"))
    # Line by line, while the run goes on.
    found = read(tmp_path / "events.jsonl")
    log.close()
    assert [event["event"] for event in found] == ["run_started", "unit_done", "note"]
    assert found[1]["usage"] == {"calls": 1, "input_tokens": 20, "cached_tokens": 0, "output_tokens": 3}
    assert found[2]["text"] == "zwei\nZeilen – ja"


def test_a_cut_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"event":"note","text":"one"}\n{"event":"note","te')
    assert [event["text"] for event in read(path)] == ["one"]
    log = EventLog(path)
    log(Note("after the kill"))
    log.close()
    assert [event["text"] for event in read(path)] == ["one", "after the kill"]


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    EventLog(tmp_path / "events.jsonl").close()
    assert stat.S_IMODE((tmp_path / "events.jsonl").stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--events .*no/events.jsonl: No such file"):
        EventLog(tmp_path / "no" / "events.jsonl")
    with pytest.raises(UsageError, match="name an event log"):
        read(tmp_path / "no")


def test_a_file_that_is_no_pipe_is_written_at_once(tmp_path: Path) -> None:
    log = open_log(tmp_path / "events.jsonl")
    log(Note("now"))
    assert [event["text"] for event in read(tmp_path / "events.jsonl")] == ["now"]
    log.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def told(listeners: Listeners, count: int) -> bool:
    """Whether so many long events could be told, and the end: what waits for a reader for ever does not end a test."""

    def tell() -> None:
        for number in range(count):
            listeners(Note(f"{number} " + "x" * 1000))
        listeners.close()

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


@no_pipes
def test_a_slow_reader_of_a_pipe_gets_everything(pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    log = open_log(pipe)
    for number in range(500):
        log(Note(f"{number} " + "x" * 1000))
    os.set_blocking(reader, True)
    chunks: list[bytes] = []
    thread = threading.Thread(target=lambda: chunks.extend(iter(lambda: os.read(reader, 65536), b"")))
    thread.start()
    log.close()
    thread.join(20)
    os.close(reader)
    lines = b"".join(chunks).decode().splitlines()
    assert [line.split('"text": "')[1].split()[0] for line in lines] == [str(number) for number in range(500)]


@no_pipes
@pytest.mark.parametrize("leaves", [True, False])
def test_a_reader_that_leaves_or_hangs_holds_nothing_up(pipe: Path, leaves: bool) -> None:
    notes: list[str] = []
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    listeners = Listeners([open_log(pipe, patience=0.1), lambda event: notes.append(event.text[:70])])  # type: ignore[union-attr]
    if leaves:
        os.close(reader)
    assert told(listeners, 500)
    (said,) = [note for note in notes if note.startswith("the event log failed")]
    assert ("BrokenPipeError" if leaves else "it did not end") in said
    assert len(notes) == 501
    if not leaves:
        os.close(reader)


@no_pipes
def test_a_pipe_that_nobody_reads_is_said_at_once(pipe: Path) -> None:
    problems: list[str] = []

    def opened() -> None:
        try:
            open_log(pipe)
        except SkillgitError as error:
            problems.append(str(error))

    thread = threading.Thread(target=opened, daemon=True)
    thread.start()
    thread.join(20)
    assert problems == [f"--events {pipe}: nobody reads it; start its reader first"]
