"""What makes thousands of documents quick to look at loses no secret: held against the redaction itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.hooked import TOKEN

from skillgit.redact import PERSONAL, find
from skillgit.train.hooks.screening import Screen, may_hold_secret

TESTS = Path(__file__).parents[2]
KEY = "-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUAwggE8\n-----END PRIVATE KEY-----"


def samples() -> list[str]:
    """Every text that the tests of redaction feed it."""
    found = [case["text"] for case in yaml.safe_load((TESTS / "cases/redact.yaml").read_text())]
    for path in sorted((TESTS / "redact").glob("test_*.py")):
        nodes = ast.walk(ast.parse(path.read_text()))
        found += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return sorted(set(found))


def whole(text: str) -> list[tuple[int, str]]:
    """Line and kind of each secret, as redaction finds them in the text at once."""
    return [(text.count("\n", 0, one.start) + 1, one.kind) for one in find(text) if one.kind not in PERSONAL]


SAMPLES = samples()
SECRET = [text for text in SAMPLES if whole(text)]


def test_there_are_enough_samples() -> None:
    assert len(SAMPLES) > 400
    assert len({kind for text in SECRET for _, kind in whole(text)}) > 10


@pytest.mark.parametrize("text", SAMPLES)
def test_a_text_of_the_redaction_tests_has_the_same_findings(text: str) -> None:
    assert Screen().find(text) == whole(text)


@given(st.lists(st.sampled_from([*SAMPLES, TOKEN, KEY, "login bot\npassword hunter22x\n"]), max_size=5))
def test_texts_one_after_the_other_have_the_findings_of_each(texts: list[str]) -> None:
    screen = Screen()
    assert [screen.find(text) for text in texts] == [whole(text) for text in texts]


@given(st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=4))
def test_texts_below_one_another_have_the_findings_of_the_whole(texts: list[str]) -> None:
    text = "\n\n".join(texts)
    assert Screen().find(text) == whole(text)


def test_a_line_is_told_each_time_it_comes() -> None:
    screen = Screen()
    assert screen.find(f"a\n{TOKEN}") == [(2, "github")]
    assert screen.find(f"a\nb\n{TOKEN}") == [(3, "github")]


@pytest.mark.parametrize(
    "line",
    [
        "- Answer with one command.",
        f"Skill-Blob: {'5f' * 20}",
        f"Skill-Val: sha256:{'5f' * 32}",
        "Skill-Cost: calls=212 tokens=182340 usd=0.43",
        f' "document": "{"5f" * 20}",',
        f'  "{"5f" * 20}",',
        "Skill-Score: 0.812500",
    ],
)
def test_what_histories_have_most_of_is_not_looked_at(line: str) -> None:
    assert may_hold_secret(line) is False
