"""The length of a document, and its budget."""

from __future__ import annotations

import pytest

from skillgit.document.length import length, limit, over, tokens

FRONT = "---\nname: a-long-name-that-nobody-pays-for\ndescription: d\n---\n"


@pytest.mark.parametrize(("characters", "expected"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_four_characters_are_a_token_rounded_up(characters: int, expected: int) -> None:
    assert tokens("ä" * characters) == expected


def test_the_frontmatter_does_not_count() -> None:
    assert length(FRONT + "12345678") == length("12345678") == 2


@pytest.mark.parametrize(
    ("start", "most", "growth", "expected"),
    [
        (100, 0, 0.0, None),
        (100, 70, 0.0, 70),
        (100, 0, 0.1, 110),
        (100, 105, 0.1, 105),
        (100, 500, 0.1, 110),
        (3, 0, 0.5, 4),
    ],
)
def test_the_smaller_rule_counts(start: int, most: int, growth: float, expected: int | None) -> None:
    assert limit(start, most, growth) == expected


def test_over_names_the_rule_that_it_breaks() -> None:
    document = FRONT + "x" * 44  # 11 tokens
    assert over(document, 10, 11, 0.1) is None
    assert over(document, 10, 0, 0.0) is None
    assert over(document, 10, 10, 0.5) == "it has 11 tokens, above optimizer.max_tokens of 10"
    grown = over(document, 9, 0, 0.2)
    assert grown == "it grew from 9 to 11 tokens, above the 10 that optimizer.max_growth allows"


def test_what_makes_a_long_document_shorter_is_never_too_long() -> None:
    before, shorter, longer = "x" * 400, "x" * 390, "x" * 410
    assert over(shorter, 100, 50, 0.0) is not None
    assert over(shorter, 100, 50, 0.0, before=before) is None
    assert over(before, 100, 50, 0.0, before=before) is not None
    assert over(longer, 100, 50, 0.0, before=before) is not None
