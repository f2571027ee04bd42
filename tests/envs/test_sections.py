"""Headings and sections of replies."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.sections import Section, find_sections


def first(reply: str, heading: str) -> Section | None:
    return next(find_sections(reply, heading), None)


def body(reply: str, heading: str) -> str:
    (section,) = find_sections(reply, heading)
    return section.body


SAY_RESULTS = (
    *(
        "# Results",
        "###### results",
        "   ## Results",
        "## Results ##",
        "##\tResults",
        "## RESULTS",
        "Results\n=======",
        "Results\n---",
    ),
    *("## **Results**", "## `Results`:", "## _Results_", "## ✅ Results", "## [Results](#results)"),
    *("## 2. Results (draft)", "## 2) Results", "## 2.1 Results", "## 2 Results", "## (2) Results", "## II. Results"),
    *("## A. Results", "## Section 2: Results", "## Step 3 - Results"),
    *("## Results [WIP]", "## Results: a summary", "## Results — draft"),
)
SAY_SOMETHING_ELSE = (
    *("The Results are fine", "Results", "#Results", "####### Results", "    # Results", "# " + "Results " * 100),
    *("```\n# Results\n```", "~~~~\n# Results\n~~~\n", "- Results\n---", "\n---\nResults", "> ## Results"),
    *("## Results and outlook", "## Expected results", "## Resultset", "## No results", "## A results"),
)


@pytest.mark.parametrize("line", SAY_RESULTS)
def test_headings_that_say_results(line: str) -> None:
    assert [one.body for one in find_sections(f"intro\n\n{line}\nfine\n", "Results")] == ["fine"]
    assert first(f"intro\n\n{line}\nfine\n", "## Results") is not None


@pytest.mark.parametrize("text", SAY_SOMETHING_ELSE)
def test_what_is_no_such_heading(text: str) -> None:
    assert first(text, "Results") is None


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("Results (draft)", "## Results (draft)"),
        ("2. Results", "# 2. Results"),
        ("C++", "# C++"),
        ("2024 plan", "# 2024 plan"),
        ("Q&A", "# Q&A"),
    ],
)
def test_a_heading_may_be_given_whole(heading: str, line: str) -> None:
    assert first(line, heading) is not None


def test_other_headings_are_not_confused() -> None:
    assert first("# C++", "C") is None
    assert first("# C#", "C") is None
    assert first("# Results", "Results (draft)") is None


def test_a_section_ends_at_the_next_heading_of_its_level() -> None:
    reply = "# A\none\n## B\ntwo\n```\n# no heading\n```\n# C\nthree\n"
    assert body(reply, "A") == "one\n## B\ntwo\n```\n# no heading\n```"
    assert body(reply, "B") == "two\n```\n# no heading\n```"
    assert body("A\n===\none\nB\n---\ntwo\nC\n===\n", "A") == "one\nB\n---\ntwo"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("text", True),
        ("\n\n", False),
        ("## Sub", False),
        ("## Sub\ntext", True),
        ("Sub\n---\n", False),
        ("<!-- to do -->", False),
        ("<!-- to\ndo", False),
        ("---\n***", False),
        ("```\n```", False),
        ("```\nmake\n```", True),
        ("| a |", True),
    ],
)
def test_whether_a_section_says_something(text: str, says: bool) -> None:
    section = first(f"# A\n{text}\n# B\ntext", "A")
    assert section is not None
    assert section.has_text is says


@given(st.text(alphabet="# \nab-=`~*[]()1.:", max_size=60))
def test_any_markdown_has_sections_or_none(text: str) -> None:
    for section in find_sections(text, "a"):
        assert section.body in "\n".join(text.splitlines())
        assert section.has_text in {True, False}


@pytest.mark.parametrize(
    "unit",
    ["#", "# ", "#  ", "# a\n", "a\n-\n", "```\n", "[", "[a](", "- ", "! ", "<!--", " ", "# " + "!" * 290 + "x\n"],
)
def test_time_grows_with_length_only(unit: str) -> None:
    text = f"# a\n{unit * (100_000 // len(unit))}x"
    start = time.process_time()
    for section in find_sections(text, "a"):
        assert section.has_text in {True, False}
    assert time.process_time() - start < 5
