"""Patches and other objects in optimizers' replies: whole, or not at all."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.errors import ReplyError
from skillgit.models import Patch, RawEdit, parse_object, parse_patch
from skillgit.models.replies import MOST, whole

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "replies.yaml").read_text(encoding="utf-8"))
APPEND_X = '{"edits": [{"op": "append", "content": "x"}]}'
DRAFT = '{"edits": [{"op": "append", "content": "draft"}]}'


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(ReplyError):
            parse_patch(case["reply"])
        return
    edits = parse_patch(case["reply"]).edits
    assert [edit.op for edit in edits] == case["ops"]
    if "contents" in case:
        assert [edit.content for edit in edits] == case["contents"]


def contents(reply: str) -> list[str]:
    return [edit.content for edit in parse_patch(reply).edits]


def test_all_fields_are_read() -> None:
    edit = {"op": "replace", "target": "t", "content": "c", "reason": "r", "support": 3}
    patch = parse_patch(json.dumps({"reasoning": "why", "edits": [edit], "rule": "be brief", "n": [1, {"a": None}]}))
    assert patch == Patch("why", (RawEdit("replace", "t", "c", "r", "3"),), {"rule": "be brief", "n": [1, {"a": None}]})


def test_a_nested_patch_keeps_the_keys_around_it() -> None:
    patch = parse_patch('{"batch_size": 3, "reasoning": "outer", "patch": {"edits": [], "rule": "r"}}')
    assert patch == Patch("outer", (), {"batch_size": 3, "rule": "r"})


def test_absent_and_null_fields_are_empty() -> None:
    assert parse_patch('{"reasoning": null, "edits": [{"op": "delete", "target": null}]}') == Patch(
        "", (RawEdit("delete"),)
    )


@pytest.mark.parametrize(
    ("support", "text"), [(3, "3"), ("3 failures", "3 failures"), (["t-1", 2], "t-1, 2"), (None, "")]
)
def test_support_is_text(support: object, text: str) -> None:
    reply = json.dumps({"edits": [{"op": "append", "content": "x", "support": support}]})
    assert parse_patch(reply).edits[0].support == text


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        (f"~~~\n{APPEND_X}\n~~~", ["x"]),
        (f"Here it is:\n\n{APPEND_X}\n\nI hope that helps {{smile}}.", ["x"]),
        (f"\ufeff{APPEND_X}", ["x"]),
        (f"{DRAFT} and then {APPEND_X}", ["x"]),
        (f"The form is {{edits: [...]}}. So: {APPEND_X}", ["x"]),
        (f'An edit is like {{"op": "append"}}, a list like ["a", 1]. {APPEND_X}', ["x"]),
        (f'{APPEND_X}\n{{"confidence": 0.9}}', ["x"]),
        (f"{APPEND_X}\n- [ ] try it\n- [x] see [1] and [2, 3]\n[]", ["x"]),
        (f"{{{APPEND_X}}}", ["x"]),
        (f"{APPEND_X}}}", ["x"]),
        (f"[as asked: {APPEND_X}]", ["x"]),
        ('[{"op": "append", "content": "x"}, {"op": "append", "content": "y"}]', ["x", "y"]),
        ("[]", []),
        ("```json\n[]\n```", []),
        (
            '{"edits": [{"op": "append", "content": "the key \\"edits\\": [] stays empty"}]}',
            ['the key "edits": [] stays empty'],
        ),
        ('{"edits": [{"op": "append", "content": "close <think> with </think>"}]}', ["close <think> with </think>"]),
        ('{"edits": [{"op": "append", "content": "tab\there\r\nand a line"}]}', ["tab\there\r\nand a line"]),
        ('{"edits": [{"op": "append", "content": "\\ud83d\\ude00 caf\\u00e9"}]}', ["😀 café"]),
        (f"<think>{DRAFT}</think>{APPEND_X}", ["x"]),
        (f"<thinking>{DRAFT}</thinking>{APPEND_X}", ["x"]),
        (f"[THINK]{DRAFT}[/THINK]{APPEND_X}", ["x"]),
        (f"<think>a <think>{DRAFT}</think> b</think>{APPEND_X}", ["x"]),
        (f"thinking without its opening tag: {DRAFT}\n</think>\n{APPEND_X}", ["x"]),
        (f'it has to start with {{"edits": [ and so on\n</think>\n{APPEND_X}', ["x"]),
    ],
)
def test_what_stands_around_the_answer(reply: str, read: list[str]) -> None:
    assert contents(reply) == read


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("{'edits': [{'op': 'append', 'content': 'x'}]}", ["x"]),
        ("{'edits': [{'op': 'append', 'content': \"don't\", 'target': None}]}", ["don't"]),
        ("{'edits': [{'op': 'append', 'content': 'don\\'t'}]}", ["don't"]),
        ('{edits: [{op: "append", content: "x"}]}', ["x"]),
        ('{"edits": [{"op": "append", "content": "match \\d+ here"}]}', ["match \\d+ here"]),
        ('{"edits": [{"op": "append", "content": "line\nsay \\"x\\" now"},]}', ['line\nsay "x" now']),
        ('{"edits": [{"op": "append" "content": "x"}]}', ["x"]),
        ('{"edits": [{"op": "append", "content": "say "hi" now"}]}', ['say "hi" now']),
        ('{"edits": [{"op": "append", "content": "use "a": "b" here"}]}', ['use "a": "b" here']),
    ],
)
def test_slips_that_are_mended(reply: str, read: list[str]) -> None:
    assert contents(reply) == read


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("Nothing to change.", "without JSON"),
        ("{}", "no list of edits"),
        ('{"reasoning": "r"}', "no list of edits"),
        ("[1, 2]", "no list of edits"),
        ("done: []", "no list of edits"),
        ('{"result": {"edits": []}}', "no list of edits"),
        ('{"op": "append", "content": "x"}', "one edit by itself"),
        ('{"op": "append", "content": "x"}\n{"op": "append", "content": "y"}', "one edit by itself"),
        (f'{DRAFT}\nBetter:\n{{"edits": [{{"op": "append", "content": "fin', "cut off"),
        (f'{DRAFT}\nBetter:\n{{"edits": {{"op": "append"}}}}', "'edits' is an object, not a list"),
        (f'{DRAFT}\nBetter:\n{{"edits": [{{"op": "append", "content": broken words}}]}}', "cannot be read"),
        ('{edits: [{op: "append", content: "x"}], reason: "and the', "cut off"),
        ('[{"op": "append", "content": "x"}, {"op": "app', "cut off"),
        ("{'edits': [{'op': 'append', 'content': 'x'}], 'reasoning': 'be", "cut off"),
        (f"{APPEND_X[:-1]}", "cut off"),
        (f"{APPEND_X[:-2]}}}", "cut off"),
        ('{"edits": null}', "'edits' is null"),
        ('{"edits": "append x"}', "'edits' is a string"),
        ('{"edits": [[]]}', "edit 1 of the reply is a list"),
        ('{"edits": [{"op": "append", "content": "x"}, null]}', "edit 2 of the reply is null"),
        ('{"edits": [{"content": "x"}]}', "edit 1 of the reply has no 'op'"),
        ('{"edits": [{"op": 3}]}', "edit 1: op is a number"),
        ('{"edits": [{"op": "append", "content": 3}]}', "edit 1: content is a number"),
        ('{"edits": [{"op": "append", "content": true}]}', "edit 1: content is true or false"),
        ('{"edits": [{"op": "append", "content": ["x"]}]}', "edit 1: content is a list"),
        ('{"edits": [{"op": "delete", "target": {"line": 1}}]}', "edit 1: target is an object"),
        ('{"edits": [{"op": "delete", "target": "t", "support": true}]}', "edit 1: support is true or false"),
        ('{"reasoning": ["r"], "edits": []}', "reasoning is a list"),
        ('{"edits": [], "patch": {"edits": []}}', "two places"),
        ('{"edits": [], "edits": [{"op": "append", "content": "x"}]}', "cannot be read"),
        ('{"edits": [{"op": "append", "content": "x" /* why */}]}', "cut off or malformed"),
        ("{'edits': [{'op': 'append', 'content': 'it''s'}]}", "malformed near"),
        ('{"edits": [{"op": "append", "content": "x", "y" and z"}]}', "cannot be read"),
        ('{"edits": [{}{}{}]}', "cannot be read"),
        ('{"edits": [{"op": "append", "content": "close with "}]}" at the end"}]}', "cannot be read"),
        ('{"edits": [{"op": "append", "content": "\\ud800"}]}', "cannot be read"),
        ('{"edits": [], "n": NaN}', "cannot be read"),
        ('{"edits": [], "n": 1e999}', "cannot be read"),
        (f'{{"edits": [], "n": {"9" * 5000}}}', "cannot be read"),
        ('"{\\"edits\\": []}"', "no list of edits"),
        (f"<think>{DRAFT}</think><think>{APPEND_X}", "still thinking"),
        (f"{APPEND_X}<think>or rather", "still thinking"),
        (f"{APPEND_X}</think>", "without JSON"),
        ('{"edits": [' * 2000, "cut off"),
        ("[" * 100_000, "cut off"),
        ("[" * 100_000 + "]" * 100_000, "no list of edits"),
    ],
)
def test_what_is_refused_and_why(reply: str, says: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_patch(reply)
    assert says in caught.value.message
    assert "\n" not in str(caught.value)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
TEXT = st.text() | st.text(alphabet="{}[]\"'\\,: \nedits<think/>`", max_size=30)
EDITS = st.builds(RawEdit, op=TEXT, target=TEXT, content=TEXT, reason=TEXT, support=TEXT)
NAMES = st.text().filter(lambda name: name not in {"reasoning", "edits", "patch"})
PATCHES = st.builds(
    Patch, TEXT, st.lists(EDITS, max_size=3).map(tuple), st.dictionaries(NAMES, JSON_VALUES, max_size=2)
)


def as_json(patch: Patch, *, ascii_only: bool, indent: int | None) -> str:
    edits = [{name: getattr(edit, name) for name in RawEdit.__slots__} for edit in patch.edits]
    value = {**patch.extra, "reasoning": patch.reasoning, "edits": edits}
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent)


@given(PATCHES, st.booleans(), st.sampled_from([None, 2]))
def test_a_patch_survives_its_json(patch: Patch, ascii_only: bool, indent: int | None) -> None:
    assert parse_patch(as_json(patch, ascii_only=ascii_only, indent=indent)) == patch


@given(PATCHES, st.data(), st.booleans())
def test_a_part_of_a_reply_is_never_adopted(patch: Patch, data: st.DataObject, as_list: bool) -> None:
    reply = as_json(patch, ascii_only=False, indent=None)
    if as_list:
        reply = json.dumps(json.loads(reply)["edits"])
    length = data.draw(st.integers(min_value=0, max_value=len(reply) - 1))
    with pytest.raises(ReplyError):
        parse_patch(reply[:length])


def test_every_beginning_of_a_python_literal_is_refused() -> None:
    whole = str({"edits": [{"op": "append", "content": "it's [1] {x}"}, {"op": "delete", "target": 'a "b"'}]})
    assert len(parse_patch(whole).edits) == 2
    for length in range(len(whole)):
        with pytest.raises(ReplyError):
            parse_patch(whole[:length])


@given(TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (parse_patch, parse_object):
        with contextlib.suppress(ReplyError):
            read(text)


@settings(max_examples=300)
@given(PATCHES, st.data())
def test_any_damage_is_mended_without_loss_or_refused(patch: Patch, data: st.DataObject) -> None:
    reply = as_json(patch, ascii_only=False, indent=None)
    at = data.draw(st.integers(min_value=0, max_value=len(reply)))
    damage = data.draw(st.sampled_from(['"', "'", ",", "{", "}", "[", "]", "\\", ":", "\n", " // why", "x"]))
    broken = reply[:at] + damage + reply[at + data.draw(st.integers(min_value=0, max_value=1)) :]
    try:
        read = parse_patch(broken)
    except ReplyError:
        return
    assert len(read.edits) in {0, len(patch.edits)} or damage in "[]{}", broken


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"selected": [2, 0]}', {"selected": [2, 0]}),
        ('Draft {"selected": [1]}; final:\n```json\n{"selected": [2],}\n```\nSee [1] and {x}.', {"selected": [2]}),
        ("{'keep': True, 'why': None}", {"keep": True, "why": None}),
        ("{selected: [1]}", {"selected": [1]}),
        ("{}", {}),
        ("<think>{</think> {\"a\": {\"b\": 1}}", {"a": {"b": 1}}),
        ('I weighed {a: 1}. {"a": 2} Not {b: 3}.', {"a": 2}),
    ],
)  # fmt: skip
def test_objects(reply: str, value: dict[str, object]) -> None:
    assert parse_object(reply) == value


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "is empty"),
        ("no", "without JSON"),
        ("[1]", "a list where an object was asked for"),
        ('[{"a": 1}]', "a list where an object was asked for"),
        ('{"a": {"b": 1}, "c', "cut off"),
        ('{"a": 1} rather {"a": oh well, you know}', "cannot be read"),
    ],
)
def test_no_object(reply: str, says: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_object(reply)
    assert says in caught.value.message


@given(st.dictionaries(st.text(), JSON_VALUES))
def test_an_object_survives_its_json_and_its_beginnings_do_not(value: dict[str, object]) -> None:
    reply = json.dumps(value)
    assert parse_object(f"So:\n{reply}\nDone.") == value
    with pytest.raises(ReplyError):
        parse_object(reply[:-1])


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3), (-4, -4), (2.0, 2), ("2", 2), (" -12 edits", -12), ("0007", 7), ("000", 0), ("\u0663", 3),
        (10**399, MOST), (-(10**399), -MOST), (1e300, MOST), ("9" * 5000, MOST), ("-" + "9" * 5000, -MOST),
        ("0" * 5000 + "5", 5), ("1000001", MOST),
        (True, None), (None, None), (1.5, None), ("1.5", None), ("0" * 100_000 + ".", None), ("many", None),
        ([2], None), ("", None), (float("inf"), None), (float("nan"), None), ("\u00b2", None),
    ],
)  # fmt: skip
def test_a_whole_number(value: Any, number: int | None) -> None:
    assert whole(value) == number


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "[",
        '{"',
        "{x",
        "[{",
        "<think>",
        "</think>",
        '{"</think>',
        "{}",
        "[]",
        '{"a": ',
        "{'a' b'",
        '"',
        "\\",
        '{"edits":[{"op":x}]}',
    ],
)
def test_time_grows_with_length_only(unit: str) -> None:
    start = time.process_time()
    with pytest.raises(ReplyError):
        parse_patch(f'{{"edits": [{unit * (11_000 // len(unit))}]}}')
    with pytest.raises(ReplyError):
        parse_patch("so " + unit * (200_000 // len(unit)))
    assert time.process_time() - start < 5


def test_json_repair_is_loaded_only_when_needed() -> None:
    code = f"import sys, skillgit.models as m; m.parse_patch({APPEND_X!r}); sys.exit('json_repair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
