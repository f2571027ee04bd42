"""A download is shown as a bar to a person and as four lines to a log."""

from __future__ import annotations

import os
import pty
import select

import pytest

from skillgit.models.weights_progress import shown


def test_lines_by_quarters() -> None:
    said: list[str] = []
    with shown("tiny", 100, said.append) as progress:
        for done in (10, 30, 30, 60, 100):
            progress(done)
    assert said == ["tiny: 25 %", "tiny: 50 %", "tiny: 100 %"]


def test_a_source_that_starts_anew_is_shown_anew() -> None:
    said: list[str] = []
    with shown("tiny", 100, said.append) as progress:
        for done in (60, 0, 30):
            progress(done)
    assert said == ["tiny: 50 %", "tiny: 25 %"]


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    said: list[str] = []
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        with shown("tiny", 100, said.append) as progress:
            progress(40)
        monkeypatch.undo()
        seen = b""
        while select.select([master], [], [], 0.2)[0]:
            seen += os.read(master, 65536)
    os.close(master)
    assert b"tiny" in seen
    assert said == []
