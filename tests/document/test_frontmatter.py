from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.frontmatter import Frontmatter, FrontmatterProblem, find, load
from skillgit.document.lines import Lines


@pytest.mark.parametrize(
    ("text", "close"),
    [
        ("---\nname: x\n---\n", 2),
        ("---\r\nname: x\r\n---\r\nb", 2),
        ("\ufeff---\nname: x\n---\n", 2),
        ("--- \nname: x\n---\t\n", 2),
        ("---\nname: x\n---", 2),
        ("---\n---\n", 1),
        ("---\n\n---\n", 2),
        ("---\n\nname: x\n---\n", 3),
        ("---\nname: |\n  a\n  ---\n---\n", 4),
        ("---\n- a list\n---\n", 2),
        ("---\njust text\n---\n", 2),
        ("---\na: [\n---\n", 2),
    ],
)
def test_what_is_frontmatter(text: str, close: int) -> None:
    assert find(Lines(text)) == Frontmatter(close)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A\n",
        "\n---\nname: x\n---\n",
        " ---\nname: x\n---\n",
        "----\nname: x\n---\n",
        "--- name\n---\n",
        "---\n\n# A\n",
        "---\n\ntext\n\nname: x\n",
        "---\n\n# A\n\n---\n\ntext\n",
        "---\n\nOne, [two\n\n---\n",
        "---\n\n- a\n\n---\n",
    ],
)
def test_what_is_none(text: str) -> None:
    assert find(Lines(text)) is None


@pytest.mark.parametrize(
    "text", ["---\nname: x\n", "---\n\nname: x\n\n# A\n", "---\n# A\n", "---", "---\na: |\n  ---\n", "---\na: b\n...\n"]
)
def test_what_opens_and_never_closes(text: str) -> None:
    found = find(Lines(text))
    assert found is not None
    assert found.close is None
    assert found.problem == "the frontmatter that opens on line 1 never closes"


def read(block: str) -> dict[str, object]:
    lines = Lines(f"---\n{block}\n---\n")
    return load(lines, len(lines) - 1)


def test_the_mapping_is_read_as_yaml() -> None:
    assert read("name: triage\nmetadata:\n  version: '1'\n  tags: [a, b]") == {
        "name": "triage",
        "metadata": {"version": "1", "tags": ["a", "b"]},
    }
    assert read("") == {}
    assert read("# only a comment") == {}


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("name: x: y", "line 2: the frontmatter is not valid YAML"),
        ("a: 1\nb: [", "line 3: the frontmatter is not valid YAML"),
        ("- a", "line 2: the frontmatter is not a YAML mapping"),
        ("text", "line 2: the frontmatter is not a YAML mapping"),
        ("a: 1\nb: \x07", "line 3: the frontmatter has a character that YAML forbids"),
        ("a: !!python/name:os.system x", "line 2: the frontmatter is not valid YAML"),
        ("a: 2024-13-45", "line 1: the frontmatter has a value that cannot be read"),
        ("a: !!timestamp x", "line 1: the frontmatter has a value that cannot be read"),
        ("a: !!bool x", "line 1: the frontmatter has a value that cannot be read"),
        ("? [a]\n: b", "line 2: the frontmatter is not valid YAML"),
        ("a: " + "[" * 5000, "line 1: the frontmatter has a value that cannot be read"),
    ],
)
def test_a_problem_names_its_line(block: str, problem: str) -> None:
    with pytest.raises(FrontmatterProblem) as caught:
        read(block)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="ab:-[]{}!&*?|>'\"%@`# \n\t0", max_size=30))
def test_any_text_is_a_mapping_or_a_named_problem(block: str) -> None:
    try:
        value, problem = read(block), None
    except FrontmatterProblem as caught:
        value, problem = {}, str(caught)
    assert isinstance(value, dict)
    assert problem is None or re.match(r"line [1-9]\d*: the frontmatter ", problem)
