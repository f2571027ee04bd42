"""Texts that say the same, texts that contradict each other, and texts that only look alike."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.train.propose.likeness import contradiction, says_the_same

LONG = "Reply with the code of the topic that the ticket names, on one line and with nothing else around it"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- **Refunds**: R12", "* refunds: R12."),
        ("Use `ops`!", "use `ops`"),
        ("Please reply with the code", "Reply with a code."),
        ("Before you reply, check the code.", "Check the code before you reply."),
        ("ALWAYS answer in English", "Always answer in English."),
        (LONG, f"{LONG} today"),
    ],
)
def test_only_the_form_differs(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)
    assert contradiction(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- a: X12", "- b: X12"),
        ("- a: X12", "- X12"),
        ("Use OPS.", "Use ops."),
        ("Prefer tabs, avoid spaces.", "Prefer spaces, avoid tabs."),
        ("Run tests before linting.", "Run linting before tests."),
        ("- For refunds use code X12", "- For billing use code X13"),
        ("Ticket T100 gets X12", "Ticket T200 gets X13"),
        ("Ticket number T100 gets code X12", "Ticket number T200 gets code X12"),
        ("- Ticket: amber pump -> K12", "- Ticket: birch dock -> K13"),
        ("- Q: 12 A: 15", "- Q: 13 A: 16"),
        ("- 12 + 3 = 15", "- 12 + 4 = 16"),
        ("Note: quote it", "Note: spell it"),
        ("Input: amber\nReply: K1", "Input: birch\nReply: K2"),
        ("- Style: begin every sentence with a verb", "- Style: keep each paragraph below five lines"),
        ("1. tag\n2. push", "1. push\n2. tag"),
        ("```\na = 1\n```", "```\na = 2\n```"),
        ("", "x"),
        (LONG, f"{LONG} unless asked"),
    ],
)
def test_what_looks_alike_stands_side_by_side(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)
    assert contradiction(one, other) is contradiction(other, one) is None


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("- a: X12", "- a: X13", "value"),
        ("- `amber gate` -> K12", "- `amber gate` -> K13", "value"),
        ("- Refunds: R12", "- refunds: use R13", "value"),
        ("- Output format: JSON", "- Output format: YAML", "value"),
        ("Tickets about billing: use code B17.", "Tickets about billing: use code K3.", "value"),
        ("Always round to 2 decimals.", "Always round to 3 decimals.", "value"),
        ("Use tabs.", "Do not use tabs.", "value"),
        ("Use the code x12", "Use the code X12", "value"),
        ("- a: X12\n- b: Y1", "- a: X13\n- b: Y1", "value"),
        ("- a: X12\n- b: Y1", "- a: X13\n- c: Z1", "partial"),
        ("- a: X12", "- a: X13\n- c: Z1", "partial"),
    ],
)
def test_a_contradiction(one: str, other: str, kind: str) -> None:
    assert contradiction(one, other) == contradiction(other, one) == kind
    assert not says_the_same(one, other)


texts = st.lists(
    st.sampled_from(["a", "not", "use", "X12", "X13", ":", "->", "`c`", "\n", "- ", "the", "tabs", "before", "**b**"]),
    max_size=9,
).map(" ".join)


@given(texts, texts)
def test_both_are_symmetric_and_never_both_true(one: str, other: str) -> None:
    same, kind = says_the_same(one, other), contradiction(one, other)
    assert same == says_the_same(other, one)
    assert kind == contradiction(other, one)
    assert not (same and kind)
    assert contradiction(one, one) is None


@pytest.mark.parametrize("piece", ["-", "*", "> ", "`a", ": ", "a-", "word "])
def test_time_grows_with_the_text_only(piece: str) -> None:
    """Replies are a model's, and may be anything; milliseconds unless a pattern backtracks."""
    text = piece * 20_000
    start = time.process_time()
    says_the_same(text, f"{text} x")
    contradiction(f"x {text}", text)
    assert time.process_time() - start < 3


@given(st.text(), st.text())
def test_any_text_can_be_compared(one: str, other: str) -> None:
    assert says_the_same(one, other) == says_the_same(other, one)
    assert contradiction(one, other) == contradiction(other, one)
