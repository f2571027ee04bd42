"""Reading one JSON value without loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.models.jsonvalue import UNREADABLE, read_leniently, read_strictly


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": [true, null, 1.5]}', {"a": 1, "b": [True, None, 1.5]}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a": 1, "a": 2}', UNREADABLE),
        ('{"a": 1,}', UNREADABLE),
        ('{"a": Infinity}', UNREADABLE),
        ('{"a": 1e999}', UNREADABLE),
        ('{"a": "\\udc00"}', UNREADABLE),
        ('{"\\udc00": 1}', UNREADABLE),
        ("[" * 50_000, UNREADABLE),
        (f"[{'9' * 5000}]", UNREADABLE),
    ],
)
def test_strict_reading(text: str, value: object) -> None:
    assert read_strictly(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ("{'a': True, 'b': None, 'c': \"it's\"}", {"a": True, "b": None, "c": "it's"}),
        ('{a: "b"}', {"a": "b"}),
        ('{"a": "b" "c": "d"}', {"a": "b", "c": "d"}),
        ('{"a": "\\d+ \\u00e9"}', {"a": "\\d+ é"}),
        ('{"a": "one \\"two\\" three",}', {"a": 'one "two" three'}),
        ('{"a": b}', UNREADABLE),
        ('{"a": "b" // c\n}', UNREADABLE),
        ('{"a": 1, "a": 2}', UNREADABLE),
        ('{"a": "b" "c"}', UNREADABLE),
        ('{"a": {}{}}', UNREADABLE),
        ('{"a": "\\d+\\b"}', UNREADABLE),
        ('{"a": "x",}' + " " * 12_000, UNREADABLE),
        ('{"a": ' + '"b"c' * 100 + "}", UNREADABLE),
    ],
)
def test_lenient_reading(text: str, value: object) -> None:
    assert read_leniently(text) == value


@given(st.dictionaries(st.text(), st.text() | st.booleans() | st.none() | st.lists(st.text(), max_size=2), max_size=4))
def test_lenient_reading_of_sound_json_changes_nothing(value: dict[str, object]) -> None:
    assert read_leniently(json.dumps(value)) in (value, UNREADABLE)
