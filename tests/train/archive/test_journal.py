"""Journal files: what was written is read back; what this version cannot read is refused in one line."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.errors import RefusedError
from skillgit.train.archive.journal import (
    FORMAT,
    RunInfo,
    RunState,
    StepRecord,
    exact_number,
    exact_text,
    from_files,
    to_files,
)

COMMIT = "c" * 40
OID = "a" * 40
INFO = RunInfo("01k9x0c5v2m8q4t7b3n6r1d9sf", "topics", "skills/topics/SKILL.md", OID, {"train": {"seed": 42}}, 4)
SCORES = {OID: {"val-1": [["1/1", "1/3"], None]}}


def state(**more: Any) -> RunState:
    return RunState(OID, OID, OID, OID, "sha256:x", {"name": "openai/sim", "settings": {}}, **more)


def record(**more: Any) -> StepRecord:
    known = {"decision": "accept", "reason": "better", "document": OID, "document_before": OID}
    return StepRecord(kind="step", step=1, epoch=1, **known | more)


def files(**more: Any) -> dict[str, bytes]:
    return {**to_files(INFO, state(), record(), SCORES), **more}


whole = st.text(st.characters(codec="utf-8"))


@given(whole, st.lists(whole), st.integers(0, 9), st.dictionaries(whole, whole))
def test_round_trip(text: str, blobs: list[str], number: int, edit: dict[str, str]) -> None:
    now = state(reason=text, tried=blobs, idle=number, rejected=[{"document": OID, "text": text}])
    step = record(reason=text, edits=[edit], refs=[["refs/heads/x", None, OID]], score="1/3", gained=blobs)
    written = to_files(INFO, now, step, SCORES)
    read = from_files(COMMIT, written)
    assert (read.info, read.state, read.record, read.scores) == (INFO, now, step, SCORES)
    assert to_files(read.info, read.state, read.record, read.scores) == written


def test_unchanged_values_give_equal_bytes() -> None:
    """So git keeps one blob for `run.json` and, on a rejection, for `scores.json`."""
    assert files() == files()
    assert files()["run.json"] == to_files(INFO, state(step=9), record(), {})["run.json"]


@pytest.mark.parametrize("number", [None, Fraction(0), Fraction(1, 3), Fraction(1)])
def test_exact_numbers(number: Fraction | None) -> None:
    text = exact_text(number)
    assert text is None or text == f"{Fraction(text).numerator}/{Fraction(text).denominator}"
    assert exact_number(text) == number


def test_a_newer_format_is_refused() -> None:
    newer = json.loads(files()["run.json"]) | {"format": FORMAT + 1}
    with pytest.raises(RefusedError, match="newer") as caught:
        from_files(COMMIT, files(**{"run.json": json.dumps(newer).encode()}))
    assert caught.value.mend == "upgrade skillgit"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b"{}"])
@pytest.mark.parametrize("name", ["run.json", "state.json", "step.json"])
def test_unreadable(name: str, content: bytes) -> None:
    with pytest.raises(RefusedError, match=COMMIT[:12]):
        from_files(COMMIT, files(**{name: content}))


@pytest.mark.parametrize("name", ["run.json", "state.json", "step.json", "scores.json"])
def test_a_missing_file(name: str) -> None:
    some = files()
    del some[name]
    with pytest.raises(RefusedError):
        from_files(COMMIT, some)


def test_a_field_that_a_later_version_added_is_passed_over() -> None:
    more = json.loads(files()["step.json"]) | {"mood": "good"}
    assert from_files(COMMIT, files(**{"step.json": json.dumps(more).encode()})).record == record()
