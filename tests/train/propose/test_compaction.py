"""Shortening a document: what needs no model first, then what the optimizer proposes, as far as it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from document.test_edits_properties import documents
from hypothesis import given, settings
from support.optimizer import Bench

from skillgit.document import Edit, apply_edits
from skillgit.document.length import length
from skillgit.document.matching import normal_line
from skillgit.document.structure import Structure
from skillgit.train.propose.compaction import compact, duplicates
from skillgit.train.propose.proposals import Proposal

FRONT = "---\nname: x\ndescription: d\n---\n\n"


def applied(document: str, found: list[Proposal]) -> str:
    return apply_edits(document, [proposal.edit for proposal in found]).document


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("# T\n\n- one\n- two\n- one\n", "# T\n\n- one\n- two\n"),
        ("# T\n\n- one\n- one\n- one\n- two\n", "# T\n\n- one\n- two\n"),
        ("# T\n\nsay it\n\nmore\n\nsay it\n\nend\n", "# T\n\nsay it\n\nmore\n\nend\n"),
        # Another section, another meaning.
        ("# A\n\n- ask\n\n# B\n\n- ask\n", None),
        # Items with text of their own below, nested items, code, quotes, tables, lines of longer paragraphs.
        ("- a\n  - x\n- b\n  - x\n", None),
        ("- a\n- b\n- a\n  more\n", None),
        ("- a\n- b\n- a\n\n  more\n", None),
        ("- a\n- b\n- a\nlazy\n", None),
        ("```\nx\n```\n\n```\nx\n```\n", None),
        ("> x\n\ny\n\n> x\n", None),
        ("|a|\n|-|\n|b|\n\n|a|\n", None),
        ("x\ny\n\nz\n\nx\n", None),
        ("- a\n\n<!-- APPENDIX_START -->\n- a\n<!-- APPENDIX_END -->\n", None),
    ],
)
def test_lines_that_stand_twice_in_a_section(document: str, expected: str | None) -> None:
    edits = duplicates(FRONT + document)
    assert apply_edits(FRONT + document, edits).document == FRONT + (expected or document)
    assert bool(edits) == (expected is not None)


@settings(max_examples=200)
@given(documents())
def test_only_lines_that_stay_elsewhere_are_taken_out(document: str) -> None:
    edits = duplicates(document)
    after = apply_edits(document, edits)
    assert all(report.status == "applied" for report in after.reports)
    before_lines, after_lines = Structure(document).lines, Structure(after.document).lines
    old = [normal_line(before_lines[i]) for i in range(len(before_lines)) if not before_lines.is_blank(i)]
    new = [normal_line(after_lines[i]) for i in range(len(after_lines)) if not after_lines.is_blank(i)]
    assert len(new) == len(old) - len(edits)
    assert set(new) == set(old)
    assert Structure(after.document).frontmatter_text == Structure(document).frontmatter_text


TWICE = "# T\n\n- a rule that is said\n- another rule of the house\n- a rule that is said\n"  # 20 tokens, 14 without


async def test_no_call_where_repeated_lines_are_enough(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    found = await compact(bench.optimizer, TWICE, 15)
    assert bench.requests == []
    assert (length(TWICE), length(applied(TWICE, found))) == (20, 14)
    assert applied(TWICE, found) == "# T\n\n- a rule that is said\n- another rule of the house\n"
    assert found[0].edit.reason == ("The document is above its budget of 15 tokens. It stood twice in this section.")


async def test_a_document_within_its_budget_is_left_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert await compact(bench.optimizer, TWICE, 20) == []
    assert bench.requests == []


def patch(*edits: dict[str, Any]) -> dict[str, Any]:
    return {"reasoning": "long", "edits": list(edits)}


DOCUMENT = FRONT + "# T\n\nAlways, in every case, be kind.\n\nPraise yourself.\n\nUse code Q7.\n"


async def test_the_optimizers_edits_are_taken_as_far_as_they_are_needed(tmp_path: Path) -> None:
    reply = patch(
        {"op": "append", "content": "More."},
        {"op": "replace", "target": "be kind", "content": "be very, very kind"},
        {"op": "delete", "target": "not there"},
        {"op": "delete", "target": "Praise yourself.\n\n", "reason": "No rule."},
        {"op": "replace", "target": "Always, in every case, be kind.", "content": "Be kind."},
        {"op": "delete", "target": "Use code Q7."},
    )
    bench = Bench(tmp_path, [reply])
    found = await compact(bench.optimizer, DOCUMENT, 8)
    assert applied(DOCUMENT, found) == FRONT + "# T\n\nBe kind.\n\nUse code Q7.\n"
    assert [(p.edit.op, p.rank) for p in found] == [("delete", 0), ("replace", 1)]
    assert "<skill>\n# T\n" in bench.prompt
    assert "name: x" not in bench.prompt
    assert "The document has about 18 tokens (four characters each); its budget is 8 tokens." in bench.prompt
    assert "at most 8 edits" in bench.prompt


async def test_both_kinds_together_keep_to_the_number(tmp_path: Path) -> None:
    document = TWICE + "- a third rule, much longer than it has to be\n"
    reply = patch({"op": "delete", "target": "a third rule, "}, {"op": "delete", "target": "another rule of "})
    bench = Bench(tmp_path, [reply])
    found = await compact(bench.optimizer, document, 5, most_edits=2)
    assert [p.edit.op for p in found] == ["replace", "delete"]
    assert "at most 1 edit." in bench.prompt


async def test_a_useless_reply_is_asked_again_and_then_dropped(tmp_path: Path) -> None:
    longer = patch({"op": "replace", "target": "kind", "content": "kinder"})
    bench = Bench(tmp_path, [longer, longer])
    assert await compact(bench.optimizer, DOCUMENT, 8) == []
    assert "none of its edits applies and makes the document shorter" in bench.requests[1].turns[-1].text


async def test_without_an_optimizer_only_repeated_lines_go() -> None:
    assert [p.edit for p in await compact(None, DOCUMENT, 1)] == []
    found = await compact(None, TWICE, 1)
    assert applied(TWICE, found) == apply_edits(TWICE, duplicates(TWICE)).document
    assert isinstance(found[0].edit, Edit)
