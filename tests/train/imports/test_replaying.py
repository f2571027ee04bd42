"""A step's edits, one by one. The expected texts were made by SkillOpt 0.2.0 from the same edits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from skillgit.train.imports.replaying import outcomes
from skillgit.train.imports.values import RawStep

REGION = "<!-- SLOW_UPDATE_START -->\nguide\n<!-- SLOW_UPDATE_END -->\n"


def step(*edits: dict[str, Any], statuses: tuple[str, ...] = (), key: str = "edits", **record: Any) -> RawStep:
    patch = {"reasoning": "Because.", key: list(edits)}
    report = [{"status": status} for status in statuses]
    return RawStep(1, record, None, None, patch, report, [], [], datetime(2025, 1, 1, tzinfo=UTC))


def edit(op: str, target: str = "", content: str = "") -> dict[str, Any]:
    return {"op": op, "target": target, "content": content}


@pytest.mark.parametrize(
    ("before", "one", "after"),
    [
        ("# A\n\n\n", edit("append", content="  - b\n"), "# A\n\n- b\n"),
        (f"# A\n\n\n{REGION}end\n", edit("append", content="b"), f"# A\n\nb\n\n{REGION}end\n"),
        ("a\nb c\nd\n", edit("insert_after", "b", "x"), "a\nb c\n\nx\nd\n"),
        ("a\nb", edit("insert_after", "b", "x"), "a\nb\nx\n"),
        ("a\n", edit("insert_after", "nope", "x"), "a\n\nx\n"),
        ("a b a\n", edit("replace", "a", "c"), "c b a\n"),
        ("a b a\n", edit("delete", "a "), "b a\n"),
        ("a\n", edit("append", content="<!-- APPENDIX_END -->b"), "a\n\nb\n"),
    ],
    ids=["append", "before a region", "insert", "at the end", "nowhere", "replace", "delete", "markers"],
)
def test_each_op(before: str, one: dict[str, Any], after: str) -> None:
    (found,) = outcomes(before, after, step(one))
    assert (found.edit.op, found.status, found.document) == (one["op"], "applied", after)


def test_each_edit_has_the_document_behind_it() -> None:
    made = step(
        {**edit("append", content="- b"), "support_count": 3, "source_type": "success"},
        edit("replace", "nope", "x"),
        edit("delete", "guide"),
        edit("replace", "- b", "- b"),
        edit("append", content="- c"),
        statuses=("applied_append", "skipped_replace_target_not_found", "skipped_protected_region", "", ""),
    )
    found = outcomes(f"a\n\n{REGION}", f"a\n\n- b\n\n- c\n\n{REGION}", made)
    assert [(o.status, o.reason) for o in found] == [
        ("applied", ""),
        ("unmatched", "replace target not found"),
        ("protected", "protected region"),
        ("no_change", "it would change nothing"),
        ("applied", ""),
    ]
    assert [o.document for o in found[:2]] == [f"a\n\n- b\n\n{REGION}"] * 2
    assert (found[0].support, found[0].source, found[4].support, found[4].source) == (3, "success", 1, "failure")
    assert {o.edit.reason for o in found} == {"Because."}


def test_edits_that_do_not_make_the_candidate_are_one_rewrite() -> None:
    (found,) = outcomes("a\n", "something else\n", step(edit("append", content="- b\nc"), edit("append", content="d")))
    assert (found.edit.op, found.edit.content, found.status) == ("rewrite", "- - b c\n- d", "applied")
    assert found.document == "something else\n"


@pytest.mark.parametrize(
    ("made", "content"),
    [
        (step({"title": "T", "instruction": "Say it."}, key="revise_suggestions"), "- Say it."),
        (step({"title": "T", "new_skill": "b"}, key="skill_candidates"), "- T"),
        (
            step({"title": "T"}, key="skill_candidates", rewrite_change_summary=["one", 2, "two\nlines"]),
            "- one\n- two lines",
        ),
        (step(), "the document"),
    ],
    ids=["suggestions", "whole candidates", "summary", "nothing said"],
)
def test_a_rewrite_says_what_it_can(made: RawStep, content: str) -> None:
    (found,) = outcomes("a\n", "b\n", made)
    assert (found.edit.op, found.edit.content, found.edit.reason) == ("rewrite", content, "Because.")


def test_a_patch_of_any_form_is_read() -> None:
    odd: list[Any] = [1, {"op": 2, "target": ["x"], "content": None, "support_count": -1}]
    made = RawStep(1, {}, None, None, {"edits": odd, "reasoning": 3}, [], [], [], datetime(2025, 1, 1, tzinfo=UTC))
    (found,) = outcomes("a\n", "b\n", made)
    assert (found.edit.op, found.edit.reason, found.support) == ("rewrite", "", 1)
