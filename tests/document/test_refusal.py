from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.refusal import quoted


@given(st.text(alphabet=st.characters()))
def test_a_quote_is_one_short_line_that_any_file_can_hold(text: str) -> None:
    quote = quoted(text)
    assert quote.encode()
    assert len(quote.encode()) <= 60 * 12 + 2
    assert "\n" not in quote
    assert "\r" not in quote


def test_a_long_text_is_cut() -> None:
    assert quoted('- caf\u00e9\n"x"') == '"- caf\u00e9\\n\\"x\\""'
    assert quoted("a" * 60) == '"' + "a" * 60 + '"'
    assert quoted("a" * 61) == '"' + "a" * 59 + '…"'
