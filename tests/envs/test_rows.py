"""Task files: every fault is named with its file, line and key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.digests import digest_of
from skillgit.envs.rows import read_tasks
from skillgit.errors import ConfigError

GOOD = b'{"id": "a", "input": "x", "answer": "y"}\n'


def read(tmp_path, data: bytes, *, compared=True, numbers=False):
    path = tmp_path / "train.jsonl"
    path.write_bytes(data)
    return read_tasks(path, "envs/x/train.jsonl", compared=compared, numbers=numbers)


def test_a_row_becomes_a_task(tmp_path) -> None:
    row = {"id": "t-1", "input": "do é", "answer": ["a", 2], "level": 3}
    (task,) = read(tmp_path, json.dumps(row).encode())
    assert (task.id, task.input, task.answers) == ("t-1", "do é", ("a", "2"))
    assert task.fields == row
    assert task.digest == digest_of(row)
    assert task.source == "envs/x/train.jsonl:1"


def test_blank_lines_crlf_a_byte_order_mark_and_no_last_newline_are_fine(tmp_path) -> None:
    data = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + b"\r\n  \n" + GOOD.replace(b'"a"', b'"b"').rstrip()
    assert [(t.id, t.source[-2:]) for t in read(tmp_path, data)] == [("a", ":1"), ("b", ":4")]


def test_line_separators_inside_a_text_end_no_line(tmp_path) -> None:
    (task,) = read(tmp_path, '{"id": "a", "input": "x\u2028y\x85z", "answer": "y"}'.encode())
    assert task.input == "x\u2028y\x85z"


def test_an_empty_file_has_no_tasks(tmp_path) -> None:
    assert read(tmp_path, b"\n\n") == ()


FAULTS = {
    "malformed": (b'{"id": "a", }', "not JSON"),
    "two-values": (GOOD.strip() + b" " + GOOD.strip(), "not JSON: Extra data"),
    "list": (b"[1]", "not a JSON object"),
    "text": (b'"x"', "not a JSON object"),
    "duplicate-key": (b'{"id": "a", "input": "x", "input": "z"}', "the key 'input' stands twice"),
    "duplicate-key-inside": (b'{"id": "a", "input": "x", "m": {"k": 1, "k": 2}}', "the key 'k' stands twice"),
    "nan": (b'{"id": "a", "input": "x", "n": NaN}', "NaN"),
    "infinity": (b'{"id": "a", "input": "x", "n": -Infinity}', "-Infinity"),
    "too-large": (b'{"id": "a", "input": "x", "n": 1e999}', "1e999"),
    "too-many-digits": (b'{"id": "a", "input": "x", "n": ' + b"9" * 5000 + b"}", "usable"),
    "deep": (b'{"id": "a", "input": "x", "n": ' + b"[" * 100_000 + b"}", "nested too deeply"),
    "surrogate": (b'{"id": "a", "input": "\\ud800", "answer": "y"}', "surrogate"),
    "surrogate-key": (b'{"id": "a", "input": "x", "answer": "y", "\\udc00": 1}', "surrogate"),
    "not-utf-8": (b'{"id": "a", "input": "\xff"}', "not UTF-8"),
    "utf-16": ('{"id": "a"}'.encode("utf-16"), "not UTF-8"),
    "bom-later": (b"\xef\xbb\xbf" + GOOD.strip(), "not JSON"),
    "no-id": (b'{"input": "x", "answer": "y"}', "id: missing"),
    "id-number": (b'{"id": 7, "input": "x", "answer": "y"}', "id: 7 is not a text"),
    "id-null": (b'{"id": null, "input": "x", "answer": "y"}', "id: None is not a text"),
    "id-empty": (b'{"id": " ", "input": "x", "answer": "y"}', "id: empty"),
    "id-two-lines": (b'{"id": "a\\nb", "input": "x", "answer": "y"}', "id: not one line"),
    "id-space": (b'{"id": "a ", "input": "x", "answer": "y"}', "id: not one line"),
    "id-long": (b'{"id": "' + b"a" * 201 + b'", "input": "x", "answer": "y"}', "id: not one line"),
    "id-duplicate": (GOOD.strip(), "id: 'a' is also the id of envs/x/train.jsonl:1"),
    "no-input": (b'{"id": "b", "answer": "y"}', "input: missing"),
    "input-misspelt": (b'{"id": "b", "inptu": "x", "answer": "y"}', "is 'inptu' meant to be 'input'?"),
    "input-number": (b'{"id": "b", "input": 5, "answer": "y"}', "input: not a text"),
    "input-empty": (b'{"id": "b", "input": "\\t", "answer": "y"}', "input: empty"),
    "no-answer": (b'{"id": "b", "input": "x"}', "answer: missing"),
    "answers": (b'{"id": "b", "input": "x", "answers": ["y"]}', "is 'answers' meant to be 'answer'?"),
    "answer-empty": (b'{"id": "b", "input": "x", "answer": ""}', "answer: neither"),
    "answer-null": (b'{"id": "b", "input": "x", "answer": null}', "answer: neither"),
    "answer-truth": (b'{"id": "b", "input": "x", "answer": true}', "answer: neither"),
    "answer-fraction": (b'{"id": "b", "input": "x", "answer": 1.50}', "answer: neither"),
    "answer-object": (b'{"id": "b", "input": "x", "answer": {"a": 1}}', "answer: neither"),
    "answer-no-list": (b'{"id": "b", "input": "x", "answer": []}', "answer: an empty list"),
    "answer-nested": (b'{"id": "b", "input": "x", "answer": [["y"]]}', "answer: neither"),
    "answer-one-empty": (b'{"id": "b", "input": "x", "answer": ["y", ""]}', "answer: neither"),
}


@pytest.mark.parametrize(("line", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_one_line_with_file_and_line(tmp_path, line, said) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, line if line.startswith(b"\xff\xfe") else GOOD + b"\n" + line + b"\n")
    text = str(caught.value)
    assert said in text
    assert text.startswith("envs/x/train.jsonl:1: " if line.startswith(b"\xff\xfe") else "envs/x/train.jsonl:3: ")
    assert len(text.splitlines()) == 1
    assert len(text) < 400
    assert caught.value.mend


def test_numbers_are_answers_of_a_numeric_scorer(tmp_path) -> None:
    (task,) = read(tmp_path, b'{"id": "a", "input": "x", "answer": [1.5, 2, "3/4"]}', numbers=True)
    assert task.answers == ("1.5", "2", "3/4")


@pytest.mark.parametrize("answer", [None, {"a": 1}, [[1]], 1.5, "", []])
def test_a_row_that_is_not_compared_may_have_any_answer(tmp_path, answer) -> None:
    row = {"id": "a", "input": "x", "answer": answer}
    (task,) = read(tmp_path, json.dumps(row).encode(), compared=False)
    assert task.answers == ()
    assert task.fields == row


def test_a_row_with_its_own_checks_needs_no_answer(tmp_path) -> None:
    (task,) = read(tmp_path, b'{"id": "a", "input": "x", "checks": [{"op": "contains", "arg": "y"}]}')
    assert task.answers == ()


def test_a_missing_file_is_a_config_error(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"envs/x/no.jsonl: cannot be read"):
        read_tasks(tmp_path / "no.jsonl", "envs/x/no.jsonl", compared=True, numbers=False)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_whatever_a_file_holds_it_is_tasks_or_a_config_error(tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("any") / "t.jsonl"
    path.write_bytes(data)
    if not data.decode("utf-8-sig", "replace").strip():
        assert read_tasks(path, "t.jsonl", compared=True, numbers=False) == ()
        return
    with pytest.raises(ConfigError, match=r"^t.jsonl:\d+: "):
        read_tasks(path, "t.jsonl", compared=True, numbers=False)
