from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.lines import Lines, block_lines, dominant_eol


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\nb", ["a", "", "b"]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("a\x0cb\u2028c\x85d\n", ["a\x0cb\u2028c\x85d"]),
        ("\ufeffa\n", ["a"]),
        ("\ufeff", []),
    ],
)
def test_only_the_line_ends_of_commonmark_end_a_line(text: str, lines: list[str]) -> None:
    found = Lines(text)
    assert [found[index] for index in range(len(found))] == lines


@given(st.text(alphabet="ab \r\n\ufeff"))
def test_lines_cover_the_text_and_every_offset_is_on_one(text: str) -> None:
    lines = Lines(text)
    spans = [(lines.starts[index], lines.next_start(index)) for index in range(len(lines))]
    start = 1 if text.startswith("\ufeff") else 0
    assert "".join(text[a:b] for a, b in spans) == text[start:]
    for index, (first, stop) in enumerate(spans):
        assert {lines.at(offset) for offset in range(first, stop)} == {index}


@pytest.mark.parametrize(
    ("text", "eol"),
    [("", "\n"), ("a", "\n"), ("a\r\nb", "\r\n"), ("a\r\nb\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\rc\n", "\r")],
)
def test_the_dominant_end_of_line(text: str, eol: str) -> None:
    assert dominant_eol(text) == eol


def test_a_block_is_the_lines_without_the_blank_ones_around_it() -> None:
    assert block_lines("\r\n \n  a  \r\n\r\nb\n\t\n") == ["  a  ", "", "b"]
    assert block_lines(" \n\t") == []
