"""Where JSON values begin and end in a reply."""

from __future__ import annotations

import pytest

from skillgit.errors import ReplyError
from skillgit.models.jsontext import find_values


@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        ("no brackets", []),
        ("{x} [see] {a b} [a, b", []),
        ('a {"b": "}"} c [1, {"d": []}] e', ['{"b": "}"}', '[1, {"d": []}]']),
        ("{y: 1} {'z': 'it''s }'}", ["{y: 1}", "{'z': 'it''s }'}"]),
        ('{"a": 1}</think>{"b": 2}', ['{"b": 2}']),
        ('<think>{"a": 1}</think >{"b": 2}</think>{"c": 3}', ['{"c": 3}']),
    ],
)
def test_spans(reply: str, texts: list[str]) -> None:
    assert [found.text for found in find_values(reply)] == texts


@pytest.mark.parametrize(
    "reply", ['{"a": 1', "{'a': '}", '[{"a": 1}', '{"a": [}', '["a", {"b": 1}', "{", "[", "{a: 1", "[1"]
)
def test_what_is_never_closed(reply: str) -> None:
    with pytest.raises(ReplyError, match="cut off or malformed"):
        find_values(f"first\n{reply}")


def test_the_message_names_the_line() -> None:
    with pytest.raises(ReplyError, match=r"'\{' on its line 3"):
        find_values('so:\n\n{"a": "b')


def test_a_value_knows_how_it_was_read() -> None:
    strict, mended, bare, bad = find_values('{"a": 1} {"a": 1,} {a: 1} {"a": b c}')
    assert (strict.value, strict.readable, strict.repaired, strict.bare, strict.alone) == (
        {"a": 1},
        True,
        False,
        False,
        False,
    )
    assert (mended.value, mended.readable, mended.repaired) == ({"a": 1}, True, True)
    assert (bare.value, bare.bare) == ({"a": 1}, True)
    assert (bad.value, bad.readable) == (None, False)


@pytest.mark.parametrize("reply", ["[]", " [] \n", "```json\n[]\n```", "~~~\n[]\n~~~"])
def test_alone(reply: str) -> None:
    assert [found.alone for found in find_values(reply)] == [True]


def test_a_bracket_in_a_string_after_a_stray_quote_does_not_end_the_value() -> None:
    torn, quoted = find_values('{"a": "say "}" now"} and "{"a": 1}"')
    assert (torn.text, torn.readable) == ('{"a": "say "}', False)
    assert quoted.value == {"a": 1}
