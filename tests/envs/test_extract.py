"""What is taken from a reply, in every form that models write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.extract import check_rule, extract

RULES = ["answer_tag", "last_line", "whole", "json:a", "json:a.0.b"]

FOUND = {
    "tag": ("answer_tag", "thus <answer> 42 </answer>.", "42"),
    "tag-last-wins": ("answer_tag", "<answer>1</answer> no: <answer>2</answer>", "2"),
    "tag-letter-case": ("answer_tag", "<ANSWER>x</Answer>", "x"),
    "tag-many-lines": ("answer_tag", "<answer>\na\nb\n</answer>", "a\nb"),
    "tag-opened-twice": ("answer_tag", "I write <answer> like <answer>x</answer>", "x"),
    "tag-closed-again": ("answer_tag", "<answer>x</answer> and </answer>", "x"),
    "tag-second-not-closed": ("answer_tag", "<answer>x</answer> or <answer>y", "x"),
    "tag-is-literal": ("answer_tag", "<answer>`x`</answer>", "`x`"),
    "tag-dotted-capital-i": ("answer_tag", "İİİ<answer>x</answer>", "x"),
    "line": ("last_line", "thinking\nops restart\n\n", "ops restart"),
    "line-fenced": ("last_line", "```bash\nops restart\n```", "ops restart"),
    "line-fenced-tildes": ("last_line", "~~~\nops restart\n~~~\n", "ops restart"),
    "line-fence-crlf": ("last_line", "Sure:\r\n```\r\nops restart\r\n```\r\n", "ops restart"),
    "line-fence-indented": ("last_line", "  ```sh\n  ops restart\n  ```", "ops restart"),
    "line-ticked": ("last_line", "`ops restart`", "ops restart"),
    "line-two-ticks": ("last_line", "`` a`b ``", "a`b"),
    "line-three-ticks": ("last_line", "```ops restart```", "ops restart"),
    "line-two-codes-stay": ("last_line", "`a` or `b`", "`a` or `b`"),
    "line-one-sided-tick": ("last_line", "a`", "a`"),
    "line-no-other-separators": ("last_line", "a\u2028b\x0cc", "a\u2028b\x0cc"),
    "whole": ("whole", "\n a\nb \n", "a\nb"),
    "json": ("json:a", '{"a": "x"}', "x"),
    "json-number-as-written": ("json:a", '{"a": 1.50}', "1.50"),
    "json-big-number": ("json:a", '{"a": ' + "9" * 5000 + "}", "9" * 5000),
    "json-truth": ("json:a", '{"a": false}', "false"),
    "json-path": ("json:a.0.b", '{"a": [{"b": "x"}]}', "x"),
    "json-list": ("json:1", '["x", "y"]', "y"),
    "json-fenced": ("json:a", 'Here:\n```json\n{"a": "x"}\n```\nDone {not json}', "x"),
    "json-last-fence": ("json:a", '```\n{"a": 1}\n```\n```\n{"a": 2}\n```', "2"),
    "json-in-text": ("json:a", 'I think {so} that {"a": "x"} fits', "x"),
    "json-key-with-digits": ("json:0", '{"0": "x"}', "x"),
}
MISSING = {
    "tag-none": ("answer_tag", "42", "no <answer> tag"),
    "tag-cut-off": ("answer_tag", "<answer>42", "not closed"),
    "tag-empty": ("answer_tag", "<answer> </answer>", "empty"),
    "tag-only-closed": ("answer_tag", "42</answer>", "no <answer> tag"),
    "line-only-fences": ("last_line", "```\n```", "no line"),
    "json-none": ("json:a", "nothing here", "no JSON"),
    "json-scalar": ("json:a", '"a"', "no JSON"),
    "json-broken": ("json:a", '{"a": ', "no JSON"),
    "json-nan": ("json:a", '{"a": NaN}', "no JSON"),
    "json-key": ("json:a.b", '{"a": {"c": 1}}', "nothing at a.b"),
    "json-index": ("json:a.3", '{"a": [1]}', "nothing at a.3"),
    "json-huge-index": ("json:" + "9" * 5000, "[1]", "nothing at"),
    "json-null": ("json:a", '{"a": null}', "no text or number"),
    "json-object": ("json:a", '{"a": {}}', "no text or number"),
    "json-empty": ("json:a", '{"a": " "}', "empty text"),
    "json-deep": ("json:a", "[" * 100_000, "no JSON"),
}


@pytest.mark.parametrize(("rule", "reply", "text"), FOUND.values(), ids=FOUND)
def test_found(rule, reply, text) -> None:
    found = extract(reply, rule)
    assert (found.text, found.problem) == (text, "")


@pytest.mark.parametrize(("rule", "reply", "problem"), MISSING.values(), ids=MISSING)
def test_missing_is_said_and_never_guessed(rule, reply, problem) -> None:
    found = extract(reply, rule)
    assert found.text == ""
    assert problem in found.problem


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("reply", ["", " \n\t"])
def test_an_empty_reply_has_no_answer(rule, reply) -> None:
    assert extract(reply, rule).problem == "the reply is empty"


PIECES = st.sampled_from(["<answer>", "</answer>", "`", "```", "\n", "\r\n", "{", "}", '"a"', ":", "[", "]", "x", " "])


@given(st.lists(PIECES).map("".join) | st.text(), st.sampled_from(RULES))
def test_never_an_error_and_always_text_or_a_problem(reply, rule) -> None:
    found = extract(reply, rule)
    assert bool(found.text) != bool(found.problem)
    assert found.text == found.text.strip()


@given(st.text(min_size=1).filter(str.strip))
def test_whatever_stands_in_the_tag_or_the_json_is_the_answer(text) -> None:
    if "<" not in text:
        assert extract(f"so\n<answer>{text}</answer>", "answer_tag").text == text.strip()
    assert extract(json.dumps({"a": [text]}), "json:a.0").text == text.strip()


LINE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="`~"), min_size=1)


@given(LINE.filter(str.strip), st.sampled_from(["", "bash"]))
def test_a_fence_around_the_last_line_changes_nothing(line, language) -> None:
    assert extract(f"```{language}\n{line}\n```\n", "last_line").text == line.strip()
    assert extract(f"so: \n`{line.strip()}`", "last_line").text == line.strip()


@pytest.mark.parametrize("rule", ["answer_tags", "json", "json:", "json:a..b", "json:.a", "", "line"])
def test_unknown_rules(rule) -> None:
    with pytest.raises(ValueError, match="no extraction"):
        check_rule(rule)


@pytest.mark.parametrize("rule", RULES)
def test_known_rules(rule) -> None:
    assert check_rule(rule) == rule
