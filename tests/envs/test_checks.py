"""Checks as they are written: read strictly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.checks import OPS, Check, load_checks
from skillgit.errors import ConfigError


def test_what_is_read() -> None:
    raw = [
        {"op": "exact", "arg": [4, "four"], "normalize": "none", "name": "right"},
        {"op": "max_chars", "arg": 10},
        {"op": "no_refusal"},
        {"op": "section_contains", "arg": "Plan", "text": "step", "ignore_case": False},
    ]
    assert load_checks(raw, "env.yaml: checks") == (
        Check("exact", ("4", "four"), normalize="none", name="right"),
        Check("max_chars", count=10),
        Check("no_refusal"),
        Check("section_contains", ("Plan",), text="step", ignore_case=False),
    )


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([], "there are no checks"),
        (None, "checks are not a list"),
        ({"op": "no_refusal"}, "checks are not a list"),
        ("no_refusal", "checks are not a list"),
        (["no_refusal"], "check 1 is not an object"),
        ([{"op": "no_refusal"}, {"arg": "x"}], "check 2 has no 'op'"),
        ([{"op": "conatins", "arg": "x"}], "unknown op 'conatins'; did you mean 'contains'?"),
        ([{"op": "Contains", "arg": "x"}], "did you mean 'contains'?"),
        ([{"op": "zzz", "arg": "x"}], "unknown op 'zzz'; one of: exact, contains"),
        ([{"op": ["exact"], "arg": "x"}], "unknown op"),
        ([{"op": "contains"}], "'arg' is missing"),
        ([{"op": "contains", "arg": None}], "'arg' is None, not text"),
        ([{"op": "contains", "arg": ""}], "'arg' is empty"),
        ([{"op": "contains", "arg": " \n"}], "'arg' is empty"),
        ([{"op": "contains", "arg": "\u200b"}], "invisible"),
        ([{"op": "contains", "arg": ["a", "b"]}], "not text"),
        ([{"op": "contains", "arg": "x", "value": "y"}], "unknown key 'value'"),
        ([{"op": "contains", "arg": "x", "ignorecase": True}], "did you mean 'ignore_case'?"),
        ([{"op": "contains", "arg": "x", "ignore_case": "no"}], "'ignore_case' is 'no'; write true or false"),
        ([{"op": "contains", "arg": "x", "normalize": "none"}], "unknown key 'normalize'"),
        ([{"op": "contains", "arg": "x", "name": ""}], "'name' is empty"),
        ([{"op": "exact", "arg": False}], "'arg' is False, not text; put it in quotes"),
        ([{"op": "exact", "arg": 4.10}], "put it in quotes"),
        ([{"op": "exact", "arg": []}], "no answers"),
        ([{"op": "exact", "arg": ["x", "The."]}], "'The.' normalises to nothing"),
        ([{"op": "exact", "arg": "..."}], "normalises to nothing"),
        ([{"op": "exact", "arg": "x", "normalize": "squad"}], "'normalize' is 'squad'; write text or none"),
        ([{"op": "regex", "arg": "(a"}], "does not compile"),
        ([{"op": "regex", "arg": "a|(?i)b"}], "does not compile"),
        ([{"op": "regex", "arg": "a{999999999999}"}], "does not compile"),
        ([{"op": "regex", "arg": "(" * 5000 + ")" * 5000}], "does not compile"),
        ([{"op": "section_present", "arg": "##"}], "is no heading"),
        ([{"op": "section_contains", "arg": "Plan", "text": ""}], "'text' is empty"),
        ([{"op": "section_present", "arg": "Plan", "text": "x"}], "unknown key 'text'"),
        ([{"op": "min_chars", "arg": "4"}], "'arg' is '4'; give a number"),
        ([{"op": "min_chars", "arg": 0}], "at least 1"),
        ([{"op": "max_chars", "arg": -1}], "at least 1"),
        ([{"op": "max_chars", "arg": True}], "give a number"),
        ([{"op": "max_chars", "arg": 4.0}], "give a number"),
        ([{"op": "no_refusal", "arg": "x"}], "unknown key 'arg'"),
        ([{"op": "tool_called"}], "'arg' is missing"),
    ],
)
def test_what_is_refused(raw: object, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_checks(raw, "tasks.jsonl:7")
    message = str(caught.value)
    assert message.startswith("tasks.jsonl:7: ")
    assert says in message
    assert "\n" not in message


def test_a_pattern_of_future_syntax_is_no_warning() -> None:
    assert load_checks([{"op": "regex", "arg": "[[a]"}], "here")[0].args == ("[[a]",)


JUNK = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=2) | st.sampled_from(OPS)


@given(st.lists(st.dictionaries(st.sampled_from(["op", "arg", "text", "name", "normalize", "x"]), JUNK), max_size=3))
def test_any_junk_is_read_or_refused(raw: list[dict[str, object]]) -> None:
    try:
        checks = load_checks(raw, "here")
    except ConfigError:
        return
    assert len(checks) == len(raw) > 0
