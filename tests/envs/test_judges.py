"""Scoring by checks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.judges import load_checks, score
from skillgit.errors import ConfigError, EnvironmentFailedError

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "judges.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    calls = tuple(case.get("calls", ()))
    if case.get("error"):
        with pytest.raises(ConfigError):
            load_checks(case["checks"], "tasks.jsonl:1")
        with pytest.raises(ConfigError):
            score(case["checks"], case["reply"], calls)
        return
    result = score(case["checks"], case["reply"], calls)
    assert (result.hard, result.soft) == (Fraction(case["hard"]), Fraction(case["soft"]))
    assert score(load_checks(case["checks"], "tasks.jsonl:1"), case["reply"], calls) == result


def passes(check: dict[str, object], reply: str, calls: tuple[str, ...] = ()) -> bool:
    return score([check], reply, calls).hard == 1


@pytest.mark.parametrize(
    ("check", "reply", "verdict"),
    [
        ({"op": "exact", "arg": "1.5"}, "15", False),
        ({"op": "exact", "arg": "-4"}, "4", False),
        ({"op": "exact", "arg": 4}, "4.", True),
        ({"op": "exact", "arg": ["Nile", "Amazon"]}, "the amazon", True),
        ({"op": "exact", "arg": ["Nile", "Amazon"]}, "Nile Amazon", False),
        ({"op": "exact", "arg": "café"}, "CAFE\u0301", True),
        ({"op": "exact", "arg": "The", "normalize": "none"}, "The", True),
        ({"op": "exact", "arg": "a b", "normalize": "none"}, " a b\n", True),
        ({"op": "exact", "arg": "a b", "normalize": "none"}, "a  b", False),
        ({"op": "exact", "arg": "a", "normalize": "none"}, "A", False),
        ({"op": "contains", "arg": "don't stop"}, "They DON’T\n  stop.", True),
        ({"op": "contains", "arg": "ss"}, "Straße", True),
        ({"op": "contains", "arg": "Alpha", "ignore_case": False}, "alpha", False),
        ({"op": "contains", "arg": "a.c"}, "abc", False),
        ({"op": "not_contains", "arg": "Beta"}, "only alpha", True),
        ({"op": "not_contains", "arg": "Beta"}, "BETA", False),
        ({"op": "not_contains", "arg": "Beta", "ignore_case": False}, "BETA", True),
        ({"op": "regex", "arg": r"^\d+$"}, "12", True),
        ({"op": "regex", "arg": r"^\d+$"}, "12a", False),
        ({"op": "regex", "arg": "(?i)b"}, "a B", True),
        ({"op": "regex", "arg": "b"}, "B", False),
        ({"op": "regex", "arg": "😀\n."}, "😀\n\ud800", True),
        ({"op": "min_chars", "arg": 4}, "abcd", True),
        ({"op": "min_chars", "arg": 4}, " abc ", False),
        ({"op": "max_chars", "arg": 4}, "cafe\u0301\n", True),
        ({"op": "max_chars", "arg": 4}, "coffee", False),
        ({"op": "no_refusal"}, "Done.", True),
        ({"op": "no_refusal"}, "I’m sorry, but I can’t help with that.", False),
        ({"op": "no_refusal"}, "", False),
        ({"op": "section_present", "arg": "Results"}, "# Results", True),
        ({"op": "section_present", "arg": "Results"}, "# Methods", False),
        ({"op": "section_contains", "arg": "Results"}, "# Results\n\n# Next\ntext", False),
        ({"op": "section_contains", "arg": "Results", "text": "Fine"}, "# Results\nall fine", True),
        ({"op": "section_contains", "arg": "Results", "text": "Fine", "ignore_case": False}, "# Results\nfine", False),
        ({"op": "section_contains", "arg": "Results", "text": "fine"}, "# Results\nbad\n# Next\nfine", False),
        ({"op": "section_contains", "arg": "Results", "text": "fine"}, "# Results\nbad\n# Results\nfine", True),
    ],
)
def test_one_check(check: dict[str, object], reply: str, verdict: bool) -> None:
    assert passes(check, reply) is verdict


def test_tools_are_matched_by_their_whole_name() -> None:
    assert passes({"op": "tool_called", "arg": "Bash"}, "", ("Read", "Bash"))
    assert not passes({"op": "tool_called", "arg": "Bash"}, "", ("BashOutput", "bash"))


def test_the_reason_names_what_failed_and_not_what_was_looked_for() -> None:
    checks = [
        {"op": "contains", "arg": "hidden-word"},
        {"op": "contains", "arg": "there"},
        {"op": "section_present", "arg": "Plan", "name": "has a plan"},
    ]
    result = score(checks, "there")
    assert result.reason == "failed: contains (check 1 of 3); has a plan"
    assert (result.hard, result.soft) == (0, Fraction(1, 3))
    assert score(checks, "# Plan\nThere is a hidden-word.").reason == ""


def test_a_pattern_that_never_ends_is_an_error_not_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillgit.envs.judges.found", found_quickly)
    with pytest.raises(EnvironmentFailedError, match="did not end"):
        score([{"op": "regex", "arg": "(a+)+$"}], "a" * 60 + "b")


def found_quickly(pattern: str, text: str) -> bool:
    from skillgit.envs.patterns import found

    return found(pattern, text, seconds=0.3)


@given(st.text())
def test_any_reply_can_be_judged(reply: str) -> None:
    checks = load_checks(
        [
            {"op": "exact", "arg": "x"},
            {"op": "contains", "arg": "x"},
            {"op": "not_contains", "arg": "x"},
            {"op": "regex", "arg": "x"},
            {"op": "section_contains", "arg": "x"},
            {"op": "min_chars", "arg": 1},
            {"op": "no_refusal"},
        ],
        "here",
    )
    result = score(checks, reply)
    assert result.hard == (result.soft == 1)
    assert 0 <= result.soft <= 1
