"""YAML, read strictly."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from skillgit.errors import ConfigError
from skillgit.strictyaml import load, nearest, validate


def value(text: str) -> Any:
    return load(text, "x.yaml")[0]


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text, "x.yaml")
    assert caught.value.mend
    return caught.value.message


# YAML 1.1 would read each of these as something else.
@pytest.mark.parametrize(
    "word",
    ["no", "yes", "on", "off", "Yes", "NO", "y", "n", "010", "0x10", "0b1", "1_000", "1:30", "2026-01-02", "=", "<<"],
)
def test_plain_words_are_texts(word: str) -> None:
    assert value(f"a: {word}") == {"a": word}
    assert value(f"{word}: a") == {word: "a"}


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("1.5E+2", 150.0),
        ("-.inf", float("-inf")),
        ("'1'", "1"),
        ("!!str 1", "1"),
    ],
)
def test_words_with_a_meaning(word: str, meaning: object) -> None:
    found = value(f"a: {word}")["a"]
    assert (found, type(found)) == (meaning, type(meaning))


def test_not_a_number() -> None:
    found = value("a: .nan")["a"]
    assert found != found


def test_no_document_is_none() -> None:
    assert load("", "x.yaml") == (None, {(): 1})
    assert value("# a comment only\n") is None


def test_lines_of_every_path() -> None:
    text = "# first\na:\n  b: 1\n  'c':\n    - x\n    - {d: 2,\n       e: 3}\nf: [1,\n  2]\n"
    assert load(text, "x.yaml")[1] == {
        (): 2,
        ("a",): 2,
        ("a", "b"): 3,
        ("a", "c"): 4,
        ("a", "c", 0): 5,
        ("a", "c", 1): 6,
        ("a", "c", 1, "d"): 6,
        ("a", "c", 1, "e"): 7,
        ("f",): 8,
        ("f", 0): 8,
        ("f", 1): 9,
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(end: str) -> None:
    text = end.join(["a: 1", "b: 2", "b: 3", ""])
    assert refusal(text) == "x.yaml:3: the key 'b' stands twice"
    assert value("\ufeff" + end.join(["a: 1", "b: |", "  x", ""])) == {"a": 1, "b": "x\n"}


REFUSED = {
    "duplicate": ("a: 1\na: 2", "x.yaml:2: the key 'a' stands twice"),
    "duplicate-in-quotes": ('a: 1\n"a": 2', "x.yaml:2: the key 'a' stands twice"),
    "duplicate-deep": ("a:\n- b: {c: 1, c: 2}", "x.yaml:2: the key 'c' stands twice"),
    "alias": ("a: &x [1]\nb: *x", "x.yaml:2: a YAML alias"),
    "alias-of-itself": ("a: &x [*x]", "x.yaml:1: a YAML alias"),
    "number-key": ("a:\n  1: x", "x.yaml:2: the key '1' is not a text"),
    "bool-key": ("true: x", "x.yaml:1: the key 'true' is not a text"),
    "null-key": ("~: x", "x.yaml:1: the key '~' is not a text"),
    "list-key": ("? [a]\n: x", "x.yaml:1: a list or a mapping as a key is not a text"),
    "two-documents": ("a: 1\n---\nb: 2", "x.yaml:2: not valid YAML: but found another document"),
    "tab": ("a:\n\tb: 1", "x.yaml:2: not valid YAML: found character '\\t' that cannot start any token"),
    "unclosed": ("a: [1", "x.yaml:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
    "unknown-alias": ("a: *b", "x.yaml:1: not valid YAML: found undefined alias 'b'"),
    "python-tag": (
        "a: !!python/object/apply:os.getcwd []",
        "x.yaml:1: not valid YAML: could not determine a constructor for the tag "
        "'tag:yaml.org,2002:python/object/apply:os.getcwd'",
    ),
    "control": ("a: \x01", "x.yaml: not valid YAML: unacceptable character #x0001: special characters are not allowed"),
    "no-number": ("a: !!int x", "x.yaml: not valid YAML: invalid literal for int() with base 10: 'x'"),
    "deep": ("[" * 3000 + "]" * 3000, "x.yaml: nested too deeply"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    text, message = REFUSED[case]
    assert refusal(text) == message


def test_a_number_that_python_will_not_read() -> None:
    assert refusal("a: " + "9" * 5000).startswith("x.yaml: not valid YAML: Exceeds the limit")


@given(st.text(max_size=60))
def test_any_text_is_a_value_or_one_error(text: str) -> None:
    try:
        load(text, "x.yaml")
    except ConfigError as error:
        said = error.message
    else:
        said = "x.yaml"
    assert said.startswith("x.yaml")


Text = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8)
"""JSON writes other characters as two escapes, which YAML does not join."""
Plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | Text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(Text, inner, max_size=3),
    max_leaves=8,
)


@given(Plain)
def test_what_json_says_is_read_as_json_means_it(thing: Any) -> None:
    assert load(json.dumps(thing), "x.yaml")[0] == thing


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    size: Annotated[int, Field(ge=1)] = 1
    ratio: float = 0.5
    on: bool = False


class Other(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    kind: Literal["one", "two"] = "one"
    inner: Inner = Inner()
    many: dict[str, Inner] = {}
    some: list[Other] = []
    maybe: Inner | None = None
    either: int | str = 1


def problem(text: str, *, lines: bool = True) -> str:
    found, where = load(text, "x.yaml")
    with pytest.raises(ConfigError) as caught:
        validate(Outer, found, "x.yaml", where if lines else None)
    return str(caught.value)


INVALID = {
    "unknown": ("name: a\nnmae: b", "x.yaml:2: unknown key 'nmae'; did you mean 'name'?"),
    "unknown-far": (
        "name: a\nzzz: b",
        "x.yaml:2: unknown key 'zzz'; known keys: either, inner, kind, many, maybe, name, some",
    ),
    "unknown-inside": ("name: a\ninner:\n  siz: 1", "x.yaml:3: unknown key 'inner.siz'; did you mean 'size'?"),
    "unknown-in-a-dict": (
        "name: a\nmany:\n  x:\n    siz: 1",
        "x.yaml:4: unknown key 'many.x.siz'; did you mean 'size'?",
    ),
    "unknown-in-a-list": (
        "name: a\nsome:\n- text: b\n- txt: c\n  text: d",
        "x.yaml:4: unknown key 'some.1.txt'; did you mean 'text'?",
    ),
    "unknown-in-an-option": (
        "name: a\nmaybe: {ratoi: 1.0}",
        "x.yaml:2: unknown key 'maybe.ratoi'; did you mean 'ratio'?",
    ),
    "missing": ("kind: one", "x.yaml:1: 'name' is missing; add it"),
    "missing-inside": ("name: a\nsome:\n- {}", "x.yaml:3: 'some.0.text' is missing; add it"),
    "first-of-two": (
        "inner: {size: 0}\nname: 1",
        "x.yaml:1: inner.size: input should be greater than or equal to 1; correct the value",
    ),
    "text": ("name: 1", "x.yaml:1: name: input should be a valid string; put the value in quotes"),
    "bool-is-no-int": (
        "name: a\ninner: {size: true}",
        "x.yaml:2: inner.size: input should be a valid integer; write a whole number",
    ),
    "text-is-no-int": (
        "name: a\ninner: {size: '2'}",
        "x.yaml:2: inner.size: input should be a valid integer; write a whole number",
    ),
    "int-is-no-bool": (
        "name: a\ninner: {on: 1}",
        "x.yaml:2: inner.on: input should be a valid boolean; write true or false",
    ),
    "bool-is-no-float": (
        "name: a\ninner: {ratio: true}",
        "x.yaml:2: inner.ratio: input should be a valid number; write a number",
    ),
    "no-mapping": ("name: a\ninner: 3", "x.yaml:2: inner: not a mapping; write keys below it, or remove the line"),
    "empty": ("name: a\ninner:", "x.yaml:2: inner: not a mapping; write keys below it, or remove the line"),
    "choice": ("name: a\nkind: three", "x.yaml:2: kind: input should be 'one' or 'two'; correct the value"),
}


@pytest.mark.parametrize("case", INVALID)
def test_validation(case: str) -> None:
    text, message = INVALID[case]
    assert problem(text) == message


def test_a_value_without_lines() -> None:
    assert problem("name: a\ninner: {siz: 1}", lines=False) == "x.yaml: unknown key 'inner.siz'; did you mean 'size'?"
    assert problem("name: a\nmaybe: {size: 0}", lines=False).startswith("x.yaml: maybe.size: input should be")


def test_union_members_are_no_keys() -> None:
    assert problem("name: a\neither: [1]").startswith("x.yaml:2: either: ")


def test_a_valid_value() -> None:
    found, lines = load("name: a\nmany: {x: {size: 3}}\neither: b", "x.yaml")
    outer = validate(Outer, found, "x.yaml", lines)
    assert (outer.many["x"].size, outer.either, outer.inner) == (3, "b", Inner())


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [("batchsize", ["batch_size", "seed"], "batch_size"), ("zzz", ["seed"], None), ("x", [], None), ("", ["a"], None)],
)
def test_nearest(word: str, known: list[str], meant: str | None) -> None:
    assert nearest(word, known) == meant
