"""Prompt files, and the data that goes into them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from skillgit.train.propose.prompts import count, data, fill, sections

TAGS = ("skill", "attempt", "input", "reply", "expected", "reason", "rejected_edit", "pattern")
pieces = st.sampled_from(
    [f"{opening}{tag}{end}" for opening in ("<", "</") for tag in TAGS for end in (">", " a>", "")]
)


@given(st.lists(st.text() | pieces).map("".join))
def test_data_can_neither_open_nor_close_a_tag(text: str) -> None:
    found = data("reply", text)
    inner = found.removeprefix("<reply>").removesuffix("</reply>")
    assert found == f"<reply>{inner}</reply>"
    assert re.search(rf"</?(?:{'|'.join(TAGS)})\b", inner, re.IGNORECASE) is None
    assert inner.replace("&lt;", "<") == text.replace("&lt;", "<")


def test_other_text_stays_as_it_is() -> None:
    assert data("input", "a < b && <skills> &lt;") == "<input>a < b && <skills> &lt;</input>"


@given(st.text())
def test_an_attribute_stays_in_its_quotes(text: str) -> None:
    assert re.fullmatch(r'<attempt id="[^"<>\n]*"></attempt>', data("attempt", "", id=text))


@given(st.dictionaries(st.sampled_from(["skill", "budget"]), st.text() | st.just("{skill} {budget}")))
def test_placeholders_are_filled_once(values: dict[str, str]) -> None:
    filled = fill('a {skill} b {budget} c {"op": 1} {other}', values)
    skill, budget = values.get("skill", "{skill}"), values.get("budget", "{budget}")
    assert filled == f'a {skill} b {budget} c {{"op": 1}} {{other}}'


def test_counts_in_words() -> None:
    assert [count(n, "edit") for n in (1, 2, 10)] == ["1 edit", "2 edits", "10 edits"]


def test_the_files_have_their_parts() -> None:
    for name in ("full/reflect_failures", "full/reflect_successes"):
        assert set(sections(name)) == {"system", "user"}
        assert "{budget}" in sections(name)["user"]
    assert set(sections("full/retry")) == {"user"}
