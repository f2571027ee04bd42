"""What is printed, and where."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.cli import output


@given(st.text())
def test_one_line_is_one_line_without_controls(text: str) -> None:
    line = output.one_line(text)
    assert line == "" or (line.isprintable() and len(line.splitlines()) == 1)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        yield stream
    os.close(master)


def test_colour_on_a_terminal_only(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal:
        assert output.is_terminal(terminal)
        assert output.colour("x", "red", terminal) == "\x1b[31mx\x1b[0m"
        monkeypatch.setenv("NO_COLOR", "1")
        assert output.colour("x", "red", terminal) == "x"
        monkeypatch.setenv("NO_COLOR", "")
        monkeypatch.setenv("TERM", "dumb")
        assert output.colour("x", "red", terminal) == "x"
    assert not output.is_terminal(terminal)
    assert output.colour("x", "red", io.StringIO()) == "x"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_json_survives_any_stdout(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    value = {"z": "naïve 技能", "a": ["\udc80", 1, None]}
    output.print_json(value)
    sys.stdout.flush()
    back = json.loads(raw.getvalue().decode(encoding))
    assert back == value
    assert list(back) == ["z", "a"]


def test_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("note")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "note\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\n\ntwo", "one; two"),
        ("one.\n\ntwo\n \n\nthree", "one. two; three"),
        ("one\ntwo", "one two"),
        ("\n\none\n\n", "one"),
        ("one\r\n\r\n\x1b[1mtwo", "one; \\x1b[1mtwo"),
        ("", ""),
    ],
)
def test_paragraphs_on_one_line(text: str, line: str) -> None:
    assert output.joined(text) == line


def test_counts() -> None:
    assert [output.counted(number, "call") for number in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]
