"""The event log: stable keys, one line per event, whatever happens to the file."""

from __future__ import annotations

import stat
import sys
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from skillgit.errors import UsageError
from skillgit.models.base import Usage
from skillgit.train.events import Note, RunStarted, StepFinished, UnitDone
from skillgit.train.watch.eventlog import EventLog, as_json, read

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
