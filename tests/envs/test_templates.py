"""Placeholders are filled once; braces elsewhere, and in data, are only braces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.templates import fill, placeholders


@given(st.text(), st.text())
def test_data_goes_in_as_it_is(skill, text) -> None:
    assert fill("<{skill}|{input}>", {"skill": skill, "input": text}) == f"<{skill}|{text}>"


def test_a_document_that_looks_like_a_template_is_not_read_again() -> None:
    values = {"skill": "write {input} and {nothing}", "input": "{skill}"}
    assert fill("{skill}/{input}", values) == "write {input} and {nothing}/{skill}"


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ('{"a": {"b": 1}} {input}', '{"a": {"b": 1}} X'),
        ("{{input}} is {input}", "{input} is X"),
        ("{} {0} { input } {in put}", "{} {0} { input } {in put}"),
        ("{input}{input}", "XX"),
        ("\\{input} $input %s", "\\X $input %s"),
        ("{{input} {input}}", "{X X}"),
    ],
)
def test_only_names_in_braces_are_placeholders(template, filled) -> None:
    assert fill(template, {"input": "X"}) == filled


@given(st.text(st.characters(exclude_characters="{}")))
def test_text_without_braces_is_itself(text) -> None:
    assert fill(text, {}) == text
    assert placeholders(text) == []


def test_placeholders_are_named_once_in_order() -> None:
    assert placeholders("{b} {a-1} {b} {{c}} {_d}") == ["b", "a-1", "_d"]


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        fill("{nothing}", {})
