"""Exact scores, as the journal keeps them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.errors import MeasurementError
from skillgit.train.scoring.scores import (
    HARD,
    SOFT,
    Measurement,
    Metric,
    Trial,
    by_metric,
    coverage,
    decimal,
    decode,
    encode,
    mean,
)

HALF = Fraction(1, 2)
part = st.fractions(0, 1, max_denominator=10**6)
trial = st.one_of(st.none(), st.builds(Trial, part, part))
measurement = st.dictionaries(st.text(), st.lists(trial, min_size=1, max_size=4).map(tuple), max_size=6)


@given(measurement)
def test_json_brings_back_the_very_numbers(found: Measurement) -> None:
    text = json.dumps(encode(found))
    assert decode(json.loads(text)) == found
    assert json.dumps(encode(dict(reversed(found.items())))) == text


def test_the_written_form() -> None:
    found = {"b": (None,), "a": (Trial(Fraction(1), Fraction(1, 3)), None)}
    assert encode(found) == {"a": [["1/1", "1/3"], None], "b": [None]}
    assert list(encode(found)) == ["a", "b"]


@pytest.mark.parametrize(
    "wrong", [{"a": 1}, {"a": ["1/1"]}, {"a": [["1/1"]]}, {"a": [["1/0", "1/1"]]}, {"a": [["x", "1/1"]]}, [], None]
)
def test_what_is_no_measurement(wrong: Any) -> None:
    with pytest.raises(MeasurementError):
        decode(wrong)


def test_means_are_over_tasks_of_means_over_trials() -> None:
    one, zero = Trial(Fraction(1), HALF), Trial(Fraction(0), HALF)
    found = {"a": (one, zero, zero), "b": (one, None), "c": (None, None)}
    assert mean(found, HARD) == Fraction(2, 3)  # (1/3 + 1) / 2
    assert mean(found, SOFT) == HALF
    assert coverage(found) == Fraction(2, 3)
    assert by_metric(found, HARD) == {"a": [1, 0, 0], "b": [1, None], "c": [None, None]}


def test_nothing_measured_has_no_mean() -> None:
    assert mean({"a": (None,)}, HARD) is None
    assert coverage({}) == 0


@pytest.mark.parametrize(("number", "text"), [(None, "-"), (Fraction(2, 3), "0.666667"), (Fraction(1), "1.000000")])
def test_decimals(number: Fraction | None, text: str) -> None:
    assert decimal(number) == text


def test_mixed_weighs_soft_against_hard() -> None:
    """0.75 * 0 + 0.25 * 0.8 = 0.2, exactly."""
    mixed = Metric("mixed", Fraction(1, 4))
    assert mixed.value(Fraction(0), Fraction(4, 5)) == Fraction(1, 5)
    assert str(mixed) == "mixed(0.25)"
    assert mean(
        {"a": (Trial(Fraction(1), Fraction(1)),), "b": (Trial(Fraction(0), Fraction(4, 5)),)}, mixed
    ) == Fraction(3, 5)
