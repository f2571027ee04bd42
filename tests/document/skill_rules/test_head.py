"""The frontmatter of a skill, by line; the reference library `skills-ref` is asked too, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillgit.document.skill_rules.head import check_head
from skillgit.document.structure import Structure

GOOD = "---\nname: ops\ndescription: Answers.\n---\n# ops\n"

# Frontmatter, and the findings: line, `e` or `w`, a part of the message.
CASES: list[tuple[str, list[tuple[int, str, str]]]] = [
    ("name: ops\ndescription: Answers.", []),
    ("name: ops\ndescription: Answers.\nlicense: MIT\ncompatibility: git\nallowed-tools: Read Bash(git:*)", []),
    ("name: ops\ndescription: Answers.\nmetadata:\n  author: someone\n  version: '1.0'", []),
    ("name: ops\ndescription: >-\n  Answers\n  in two lines.", []),
    ("name: 'ops'\ndescription: \"Answers: well\"", []),
    ("description: Answers.", [(1, "e", "has no `name`")]),
    ("name: ops", [(1, "e", "has no `description`")]),
    ("", [(1, "e", "has no `description`"), (1, "e", "has no `name`")]),
    ("name:\ndescription: Answers.", [(2, "e", "`name` is empty")]),
    ("name: ops\ndescription: ''", [(3, "e", "`description` is empty")]),
    ("name: ops\ndescription: '   '", [(3, "e", "`description` is empty")]),
    ("name: Ops\ndescription: Answers.", [(2, "e", "other characters"), (2, "e", "skill's folder, 'ops'")]),
    ("name: o_ps\ndescription: Answers.", [(2, "e", "other characters"), (2, "e", "skill's folder")]),
    ("name: -ops\ndescription: Answers.", [(2, "e", "hyphen"), (2, "e", "skill's folder")]),
    ("name: ops-\ndescription: Answers.", [(2, "e", "hyphen"), (2, "e", "skill's folder")]),
    ("name: o--ps\ndescription: Answers.", [(2, "e", "hyphen"), (2, "e", "skill's folder")]),
    ("name: other\ndescription: Answers.", [(2, "e", "the name 'other' is not that of the skill's folder, 'ops'")]),
    (f"name: {'a' * 65}\ndescription: A.", [(2, "e", "65 characters, more than 64"), (2, "e", "skill's folder")]),
    (f"name: ops\ndescription: {'a' * 1024}", []),
    (f"name: ops\ndescription: {'a' * 1025}", [(3, "e", "1025 characters, more than 1024")]),
    (f"name: ops\ndescription: A.\ncompatibility: {'a' * 500}", []),
    (f"name: ops\ndescription: A.\ncompatibility: {'a' * 501}", [(4, "e", "501 characters, more than 500")]),
    ("name: ops\ndescription: A.\ncompatibility:\n  - git", [(5, "e", "`compatibility` is not a text")]),
    ("name: ops\ndescription:\n  a: b", [(4, "e", "`description` is not a text")]),
    ("name: ops\ndescription: A.\nversion: '1'", [(4, "e", "`version` is no field of a skill; what is your own")]),
    ("name: ops\ndescripton: A.", [(1, "e", "has no `description`"), (3, "e", "did you mean `description`?")]),
    ("name: ops\nname: ops\ndescription: A.", [(3, "e", "`name` stands twice")]),
    # What the reference library lets pass, and other loaders do not, or the other way round.
    ("name: ops\ndescription: A.\nallowed-tools:\n  - Read", [(5, "w", "spaces between them")]),
    ("name: ops\ndescription: A.\nmetadata:\n  a:\n    b: c", [(5, "w", "`metadata.a` is not a text")]),
    ("name: ops\ndescription: 12", [(3, "w", "not read as a text; put it in quotes")]),
    ("name: ops\ndescription: A.\nmetadata: {a: b}", [(4, "w", "reference library refuses")]),
    ("name: ops\ndescription: a --- b", [(3, "w", "takes it for its end")]),
]
LATER = ("spaces between them", "`metadata.a`", "not read as a text", "takes it for its end")
"""Findings that are ours alone: the reference library says nothing."""


def found(head: str, folder: str | None = "ops") -> list[tuple[int, str, str]]:
    text = f"---\n{head}\n---\n# ops\n"
    return [(one.line, one.level[0], one.message) for one in sorted(check_head(Structure(text), folder))]


@pytest.mark.parametrize(("head", "expected"), CASES)
def test_a_frontmatter_has_its_findings(head: str, expected: list[tuple[int, str, str]]) -> None:
    said = found(head)
    assert [(line, level) for line, level, _ in said] == [(line, level) for line, level, _ in expected]
    for (_, _, message), (_, _, part) in zip(said, sorted(expected), strict=True):
        assert part in message


@pytest.mark.parametrize(("head", "expected"), CASES)
def test_the_reference_library_refuses_the_same(
    head: str, expected: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    reference = pytest.importorskip("skills_ref")
    skill = tmp_path / "ops"
    skill.mkdir()
    (skill / "SKILL.md").write_text(f"---\n{head}\n---\n# ops\n")
    theirs = [part for _, _, part in expected if not part.startswith(LATER)]
    assert bool(reference.validate(skill)) is bool(theirs)


def test_letters_of_other_scripts_are_warned_of() -> None:
    assert found("name: großküche\ndescription: A.", "großküche") == [
        (2, "w", "the name 'großküche' has letters beyond a-z, which not every loader takes")
    ]


def test_a_folder_that_is_not_known_says_nothing_of_the_name() -> None:
    assert found("name: other\ndescription: A.", None) == []


@pytest.mark.parametrize("text", ["# ops\n", "\n---\nname: ops\n---\n", "---\nname: ops\n"])
def test_a_document_without_frontmatter_says_so(text: str) -> None:
    (only,) = check_head(Structure(text), "ops")
    assert (only.line, only.level) == (1, "error")
    assert "there is no frontmatter" in only.message
