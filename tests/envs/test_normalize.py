"""Comparing answers: normalisation, token F1, numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.normalize import normalize_text, parse_number, token_f1


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The Nile.", "nile"),
        ("  a  quick,\tBROWN fox!\n", "quick brown fox"),
        ("The.", ""),
        ("a", ""),
        ("theatre anagram", "theatre anagram"),
        ("O'Neill’s “well-known” café…", "oneills wellknown café"),
        ("ＡＢＣ　１２", "abc 12"),
        ("Cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("zero\u200bwidth so\u00adft", "zerowidth soft"),
        ("$5.00!", "5.00"),
        ("1,000", "1000"),
        ("-4", "-4"),
        ("−4", "-4"),
        ("–4", "-4"),
        ("5-4", "54"),
        ("1/2", "1/2"),
        ("½", "1/2"),
        ("2½", "2 1/2"),
        ("10²", "10^2"),
        ("1e-5", "1e-5"),
        ("It is 3.", "it is 3"),
        (".5", ".5"),
        ("...", ""),
        ("日本。", "日本"),
    ],
)
def test_normal_form(text: str, plain: str) -> None:
    assert normalize_text(text) == plain


@given(st.text())
def test_normal_form_has_no_capitals_and_single_spaces(text: str) -> None:
    plain = normalize_text(text)
    assert plain == " ".join(plain.split())
    assert not {"a", "an", "the"} & set(plain.split())


@pytest.mark.parametrize(
    ("answer", "expected", "f1"),
    [
        ("the cat sat", "cat sat", Fraction(1)),
        ("cat", "cat sat", Fraction(2, 3)),
        ("cat cat", "cat", Fraction(2, 3)),
        ("dog", "cat", Fraction(0)),
        ("", "cat", Fraction(0)),
        ("cat", "", Fraction(0)),
        ("", "the", Fraction(1)),
        ("1.5", "15", Fraction(0)),
    ],
)
def test_token_f1(answer: str, expected: str, f1: Fraction) -> None:
    assert token_f1(answer, expected) == f1


@given(st.text(), st.text())
def test_token_f1_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert 0 <= token_f1(one, other) <= 1
    assert token_f1(one, other) == token_f1(other, one)
    assert token_f1(one, one) == 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", Fraction(42)),
        (" 42. ", Fraction(42)),
        ("**42**", Fraction(42)),
        ("`42`", Fraction(42)),
        ("**42.**", Fraction(42)),
        ("+42", Fraction(42)),
        ("-42", Fraction(-42)),
        ("− 42", Fraction(-42)),
        ("–42", Fraction(-42)),
        ("1,234.5", Fraction(2469, 2)),
        ("1,234,567", Fraction(1234567)),
        ("12,34,567", Fraction(1234567)),
        ("1.234,5", Fraction(2469, 2)),
        ("1.234.567", Fraction(1234567)),
        ("1.234", Fraction(1234, 1000)),
        ("1,234", Fraction(1234)),
        ("1,5", Fraction(3, 2)),
        ("0,125", Fraction(1, 8)),
        ("12,34", Fraction(1234, 100)),
        ("1 234,5", Fraction(2469, 2)),
        ("1\u202f234\u202f567", Fraction(1234567)),
        ("1'234.5", Fraction(2469, 2)),
        ("1_000", Fraction(1000)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("45%", Fraction(45, 100)),
        ("45 %", Fraction(45, 100)),
        ("3‰", Fraction(3, 1000)),
        ("$5", Fraction(5)),
        ("-$5.50", Fraction(-11, 2)),
        ("$-5", Fraction(-5)),
        ("US$1,000", Fraction(1000)),
        ("5 €", Fraction(5)),
        ("USD 5", Fraction(5)),
        ("5 EUR", Fraction(5)),
        ("\\$5", Fraction(5)),
        ("$42$", Fraction(42)),
        ("1e3", Fraction(1000)),
        ("1.5E-3", Fraction(15, 10000)),
        ("1.5 × 10^3", Fraction(1500)),
        ("1.5x10^(-3)", Fraction(15, 10000)),
        ("2·10³", Fraction(2000)),
        ("2×10⁻³", Fraction(2, 1000)),
        ("10^6", Fraction(10**6)),
        ("3/4", Fraction(3, 4)),
        ("-3 / 4", Fraction(-3, 4)),
        ("2 1/2", Fraction(5, 2)),
        ("2½", Fraction(5, 2)),
        ("¾", Fraction(3, 4)),
        ("４２", Fraction(42)),
        ("٤٢", Fraction(42)),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_numbers_that_are_read(text: str, number: Fraction) -> None:
    assert parse_number(text) == number


NO_NUMBERS = (
    *("", "-", ".", "%", "$", "forty", "nan", "inf", "e5", "x10^3", "10^", "1e", "1e999999999", "9" * 5000),
    *("42 km", "5 million", "3 to 4", "3-4", "--4", "1..5", "1 2", "1, 2, 3", "1,23,4,567", "v1.2.3", "1.2.3"),
    *("1/0", "3/4/5", "1e5e5", "2^3"),
)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


@given(st.text())
def test_any_text_is_a_number_or_none(text: str) -> None:
    assert parse_number(text) is None or isinstance(parse_number(text), Fraction)


@given(st.text(alphabet="0123456789.,-+e%/$ x^", max_size=20))
def test_any_heap_of_marks_is_a_number_or_none(text: str) -> None:
    assert parse_number(text) is None or isinstance(parse_number(text), Fraction)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4))
def test_decimal_numbers_are_read_exactly(value: Decimal) -> None:
    assert parse_number(f"{value:f}") == parse_number(f"{value:,f}") == Fraction(value)


@given(st.fractions())
def test_fractions_are_read_exactly(value: Fraction) -> None:
    assert parse_number(f"{value.numerator}/{value.denominator}") == value
