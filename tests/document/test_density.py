"""The share of words that carry meaning."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.density import added, density, thin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Fraction(0)),
        ("-- > |", Fraction(0)),
        ("the of and", Fraction(0)),
        ("Restart the service, then restart the queue.", Fraction(3, 7)),
        ("never never never", Fraction(1, 3)),
        ("Use 42 and 43", Fraction(3, 4)),
        ("pre-commit config.yaml --force", Fraction(1)),
        ("Starte den Dienst und die Warteschlange", Fraction(3, 6)),
        ("le service et la file", Fraction(2, 5)),
    ],
)
def test_by_hand(text: str, expected: Fraction) -> None:
    assert density(text) == expected


@given(st.text())
def test_it_is_a_share_and_repeating_a_text_halves_it(text: str) -> None:
    found = density(text)
    assert 0 <= found <= 1
    assert density(f"{text}\n{text}") == found / 2


def test_a_rule_that_says_something_passes_and_advice_does_not() -> None:
    rule = "- Billing outages: escalate to code Q7, never to the on-call engineer."
    advice = "- Make sure that you are sure that it is what you should do, and that you do make sure of it."
    assert thin(rule, 0.5) is None
    assert density(advice) == Fraction(2, 21)
    assert thin(advice, 0.5) == "0.10 of its new words carry meaning, below evaluation.semantic_density of 0.5"


def test_no_rule_and_no_words_are_never_thin() -> None:
    assert thin("the of and", 0.0) is None
    assert thin("- --", 1.0) is None


def test_the_bound_itself_is_enough() -> None:
    assert thin("restart the service 5", 0.75) is None
    assert thin("restart the service 5", 0.751) is not None


def test_added_lines_are_those_that_were_not_there() -> None:
    before = "---\nname: x\n---\n# T\n- one\n- two\n"
    after = "---\nname: x\n---\n# T\n- one\n- two, longer\n- one\n"
    assert added(before, after) == "- two, longer\n- one"
    assert added(before, before) == added(before, "# T\n- two\n") == ""
