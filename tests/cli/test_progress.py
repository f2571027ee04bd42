"""What people see of a run: a live line on a terminal, one line per step elsewhere."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from support import training
from support.server import Answer, Call, serve
from support.training import SKILL
from support.world import Kinds, TopicWorld

from skillgit.cli import progress
from skillgit.models.base import Usage
from skillgit.train.events import Note, RunFinished, RunStarted, StageStarted, StepFinished, UnitDone

STEP = StepFinished(
    step=3,
    epoch=2,
    decision="accept-best",
    score=Fraction(3, 4),
    maximum=None,
    before=Fraction(1, 2),
    best=Fraction(3, 4),
    edits=2,
    reason="better",
    calls=20,
    tokens=1234,
)


@pytest.mark.parametrize(
    ("score", "text"), [(None, "-"), (Fraction(0), "0.0%"), (Fraction(1, 3), "33.3%"), (Fraction(1), "100.0%")]
)
def test_points(score: Fraction | None, text: str) -> None:
    assert progress.points(score) == text


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            STEP,
            "step 3  epoch 2  accept-best  val 50.0% -> 75.0%  best 75.0%  2 edits  20 calls, 1234 tokens  (better)",
        ),
        (
            replace(STEP, decision="reject", score=None, maximum=Fraction(3, 8), edits=1, best=Fraction(1, 2)),
            "step 3  epoch 2  reject  val 50.0% -> at most 37.5%  best 50.0%  1 edit  20 calls, 1234 tokens  (better)",
        ),
        (
            replace(STEP, decision="none", score=None, before=None, edits=0, reason="nothing\x1b[31m\nfailed"),
            "step 3  epoch 2  none  best 75.0%  20 calls, 1234 tokens  (nothing\\x1b[31m failed)",
        ),
        (
            replace(STEP, kind="slow-update", decision="forced", edits=1, usd=Decimal("0.0123")),
            "step 3  epoch 2  slow-update forced  val 50.0% -> 75.0%  best 75.0%  1 edit  "
            "20 calls, 1234 tokens, $0.0123  (better)",
        ),
        (replace(STEP, step=0, decision="baseline", score=Fraction(1, 4)), "step 0  baseline  val 25.0%"),
        (replace(STEP, decision="human", score=None), "step 3  human  val -"),
    ],
    ids=["accept", "early reject", "none", "slow update", "baseline", "human"],
)
def test_step_line(event: StepFinished, line: str) -> None:
    assert progress.step_line(event) == line


def test_the_tally_counts_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tally = progress.Tally(started=100.0)
    tally.see(RunStarted("x", "run", 2, 8, None))
    tally.see(StageStarted(3, 1, "rollout", 4))
    assert tally.line().startswith("epoch 1/2  step 3/8  rollout 0/4  now -  best -  +0 -0  0 tokens  0:00")
    tally.see(UnitDone(Fraction(1), Usage(1, 10, 0, 5)))
    tally.see(UnitDone(Fraction(0), Usage(1, 10, 0, 5)))
    tally.see(UnitDone(None, Usage(1, 10, 0, 5)))
    clock[0] += 83
    assert tally.line() == "epoch 1/2  step 3/8  rollout 3/4  now 50.0%  best -  +0 -0  45 tokens  1:23"
    tally.see(STEP)
    tally.see(replace(STEP, decision="reject"))
    tally.see(StageStarted(4, 1, "gate", 16))
    assert tally.line() == "epoch 1/2  step 4/8  gate 0/16  now -  best 75.0%  +1 -1  2468 tokens  1:23", (
        "of both roles"
    )
    tally.see(UnitDone(Fraction(1), Usage(1, 10, 0, 5)))
    assert " 2483 tokens" in tally.line()
    tally.see(replace(STEP, kind="slow-update", decision="forced"))
    assert "+2 -1" in tally.line()


def test_the_tally_has_no_percentage_of_what_has_no_mean() -> None:
    tally = progress.Tally()
    tally.see(StageStarted(4, 2, "compare", 2, documents=2))
    tally.see(UnitDone(Fraction(1)))
    tally.see(UnitDone(Fraction(0)))
    assert "  compare 2/2  now -  " in tally.line()
    tally.see(UnitDone(Fraction(0)))
    assert "  compare 3/3  " in tally.line(), "never more done than there is"
    tally.see(StageStarted(4, 2, "slow-update", 0))
    assert "  slow-update  now -  " in tally.line(), "no count of what cannot be counted"


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching() as listener:
        listener(RunStarted("topics", "01abc", 2, 8, None))
        listener(RunStarted("topics", "01abc", 2, 8, 3))
        listener(StageStarted(3, 1, "rollout", 4))
        listener(UnitDone(Fraction(1)))
        listener(Note("two\nlines"))
        listener(RunFinished("all epochs are done", 8, 3, 2))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "run 01abc of topics begins: 8 steps",
        "run 01abc of topics goes on after step 3",
        "note: two lines",
        "run finished after 8 steps: all epochs are done; 3 accepted, 2 rejected",
    ]


def on_a_terminal(root: Path, env: dict[str, str], *arguments: str) -> str:
    """All that a command writes to a terminal of 140 columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "skillgit", *arguments],
        cwd=root,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "140", "LINES": "40", **env},
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    found = bytearray()
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        if select.select([master], [], [], 0.1)[0]:
            try:
                found += os.read(master, 65536)
            except OSError:  # Linux says so when the last writer has closed it
                break
    os.close(master)
    assert process.wait() == 0, found.decode()
    return found.decode()


@pytest.fixture(scope="module")
def slow() -> TopicWorld:
    class Slow(TopicWorld):
        def __call__(self, call: Call) -> Answer:
            return replace(super().__call__(call), delay_s=0.06)

    return Slow(8, 3, kinds=Kinds(35, 40))


def test_the_live_display(tmp_path: Path, slow: TopicWorld) -> None:
    config = training.configuration(limits="{in_flight: 4}", models="{target: openai/sim, optimizer: openai/sim}")
    root = training.make(tmp_path / "r", slow, config=config)
    with serve(slow) as server:
        text = on_a_terminal(root, server.env(), "train", SKILL)
        plain = on_a_terminal(root, {**server.env(), "NO_COLOR": "1"}, "train", SKILL, "--set", "train.num_epochs=1")
        listed = on_a_terminal(root, server.env(), "log", SKILL, "-n", "4")
    live = (
        r"epoch \d/2  step \d/4  (rollout|reflect|gate) \d+/\d+  "
        r"now (-|\d+\.\d%)  best \d+\.\d%  \+\d -\d  \d+ tokens  \d:\d\d"
    )
    shown = [match[0] for match in re.finditer(live, text)]
    assert len(set(shown)) > 5
    assert {re.search(r"rollout|reflect|gate", line)[0] for line in shown} >= {"rollout", "gate"}  # type: ignore[index]
    assert any("+1 -0" in line for line in shown)
    # What stays in the scrollback: one line per step, in its colour.
    assert re.search(r"\x1b\[32mstep 1  epoch 1  accept-best", text)
    assert re.search(r"\x1b\[31mstep 3  epoch 2  reject", text)
    assert "val rose: 0.0% ->" in text
    assert "Traceback" not in text
    # The cursor is shown again at the end.
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert re.search(r"step 1  epoch 1  ", plain)
    assert not re.search(r"\x1b\[(3\d|9\d|38|48)", plain), "NO_COLOR"
    assert re.search(r"\x1b\[1mrun ", listed)
