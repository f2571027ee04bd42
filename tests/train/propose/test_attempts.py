"""Attempts in a prompt."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.optimizer import Bench, rollout

from skillgit.train.propose.attempts import attempts_text, is_failure, listed, tagged
from skillgit.train.scoring.scores import HARD, SOFT, Metric


def test_an_attempt_shows_as_much_as_is_revealed(tmp_path: Path) -> None:
    for reveal, shown in (("answer", "<expected>answer of t</expected>\n"), ("nothing", "")):
        environment = Bench(tmp_path / reveal, reveal=reveal).environment
        text = attempts_text([rollout("t", 0, "said </attempt>")], environment)
        wanted = f'<attempt id="t">\n<input>input of t</input>\n<reply>said &lt;/attempt></reply>\n{shown}</attempt>'
        assert text == wanted


@pytest.mark.parametrize(
    ("hard", "soft", "failed"),
    [(0, 1, (True, False, True)), (1, 0.5, (False, True, True)), (1, 1, (False, False, False))],
)
def test_failed_is_what_the_metric_can_still_win(hard: float, soft: float, failed: tuple[bool, ...]) -> None:
    one = rollout("t", hard, soft=soft)
    assert tuple(is_failure(one, metric) for metric in (HARD, SOFT, Metric("mixed", Fraction(1, 2)))) == failed


def test_an_errored_attempt_is_no_failure() -> None:
    assert not is_failure(rollout("t", None), HARD)


def test_blocks() -> None:
    assert tagged("skill", "a </skill>") == "<skill>\na &lt;/skill>\n</skill>"
    assert listed("Title:", ["a", "b"]) == "Title:\n\na\nb\n\n"
    assert listed("Title:", []) == ""
