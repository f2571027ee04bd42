"""What a user's score function may return."""

from fractions import Fraction

import pytest

from skillgit.envs.score_worker import LONGEST_REASON, answer

GOOD = {
    "one": (1, "1/1", "1"),
    "one-float": (1.0, "1.0", "1"),
    "part": (0.25, "0.25", "0"),
    "nothing": (0, "0/1", "0"),
    "true": (True, "1", "1"),
    "false": (False, "0", "0"),
    "fraction": (Fraction(1, 3), "1/3", "0"),
    "soft": ({"soft": 0.5}, "0.5", "0"),
    "hard": ({"hard": 1}, "1/1", "1/1"),
    "both": ({"hard": False, "soft": 0.75, "reason": "x"}, "0.75", "0"),
}


@pytest.mark.parametrize(("result", "soft", "hard"), GOOD.values(), ids=GOOD)
def test_good(result, soft, hard) -> None:
    found = answer(result)
    assert (found["soft"], found["hard"]) == (soft, hard)


@pytest.mark.parametrize(
    "result",
    [None, "1", [1], {}, {"reason": "x"}, {"score": 1}, {"soft": 1, "socre": 1}, {"hard": "1"}, {"soft": None}],
)
def test_bad(result) -> None:
    with pytest.raises((TypeError, ValueError)):
        answer(result)


def test_a_reason_is_text_of_bounded_length() -> None:
    assert answer({"soft": 1, "reason": 5})["reason"] == "5"
    assert answer({"soft": 1, "reason": None})["reason"] == ""
    assert len(answer({"soft": 1, "reason": "x" * 9000})["reason"]) == LONGEST_REASON
