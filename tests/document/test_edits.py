from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from skillgit.document import Edit, apply_edits
from skillgit.document.edits import OPS

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "edits.yaml").read_text(encoding="utf-8"))
REGION = "<!-- SLOW_UPDATE_START -->\nkeep\n<!-- SLOW_UPDATE_END -->\n"


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    applied = apply_edits(case["document"], [Edit(**edit) for edit in case["edits"]])
    assert [report.status for report in applied.reports] == case["statuses"]
    assert applied.document == (case["document"] if case["after"] == "same" else case["after"])


def test_edits_apply_in_order_and_each_has_a_report_and_a_document() -> None:
    edits = [
        Edit("append", content="- b", reason="why", support=3),
        Edit("insert_after", "- b", "- c"),
        Edit("delete", "- zzz"),
        Edit("replace", "- c", "- d"),
        Edit("append", content="- b"),
    ]
    applied = apply_edits("- a\n", edits)
    assert [report.edit for report in applied.reports] == edits
    assert [report.status for report in applied.reports] == ["applied", "applied", "unmatched", "applied", "no_change"]
    assert applied.documents == (
        "- a\n- b\n",
        "- a\n- b\n- c\n",
        "- a\n- b\n- c\n",
        "- a\n- b\n- d\n",
        "- a\n- b\n- d\n",
    )
    assert applied.document == applied.documents[-1]


def test_no_edits_change_nothing() -> None:
    applied = apply_edits("- a\r\n", [])
    assert (applied.document, applied.reports, applied.documents) == ("- a\r\n", (), ())


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("upsert", "a", "b"), 'Not applied: "upsert" is no op; ops are append, insert_after, replace, delete.'),
        (Edit("", "a", "b"), 'Not applied: "" is no op; ops are append, insert_after, replace, delete.'),
        (Edit("Append", content="b"), 'Not applied: "Append" is no op; ops are append, insert_after, replace, delete.'),
        (Edit("append"), "Not applied: its content is empty, and append needs one."),
        (Edit("append", "a", " \n\u3000"), "Not applied: its content is empty, and append needs one."),
        (Edit("insert_after", "", "b"), "Not applied: its target is empty, and insert_after needs one."),
        (Edit("insert_after", "a", ""), "Not applied: its content is empty, and insert_after needs one."),
        (Edit("replace", "\n", "b"), "Not applied: its target is empty, and replace needs one."),
        (Edit("replace", "a", "\n"), "Not applied: its content is empty, and replace needs one."),
        (Edit("delete", "\t"), "Not applied: its target is empty, and delete needs one."),
        (Edit("append", content=None), "Not applied: its content is not text."),  # type: ignore[arg-type]
        (Edit("delete", 7), "Not applied: its target is not text."),  # type: ignore[arg-type]
        (Edit(["append"], content="b"), None),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_edit_is_invalid(edit: Edit, reason: str | None) -> None:
    applied = apply_edits("a\n", [edit])
    assert applied.reports[0].status == "invalid"
    assert reason is None or applied.reports[0].reason == reason
    assert applied.document == "a\n"


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("document", ["a\n\n<!-- APPENDIX_START -->\nb\n", f"{REGION}a\n<!-- APPENDIX_END -->\n"])
def test_unbalanced_markers_make_every_edit_protected(op: str, document: str) -> None:
    edits = [Edit(op, "a", "x"), Edit(op, "", ""), Edit("upsert")]
    applied = apply_edits(document, edits)
    assert [report.status for report in applied.reports] == ["protected"] * 3
    assert all("APPENDIX" in report.reason for report in applied.reports)
    assert applied.document == document


def test_content_for_a_delete_and_target_for_an_append_do_not_matter() -> None:
    applied = apply_edits("a\nb\n", [Edit("delete", "a", "<!-- x -->"), Edit("append", "not there", "c")])
    assert [report.status for report in applied.reports] == ["applied", "applied"]
    assert applied.document == "b\n\nc\n"


def test_refused_content_is_refused_whatever_the_target() -> None:
    edits = [Edit("replace", target, "a\u202eb") for target in ("a", "zzz", "keep")]
    applied = apply_edits(f"a\n{REGION}", edits)
    assert [report.status for report in applied.reports] == ["invalid"] * 3
    assert "U+202E" in applied.reports[0].reason


@pytest.mark.parametrize(
    ("document", "edit"),
    [
        ("", Edit("append", content="---\nname: x\n---\n# A")),
        ("---\n\n# A\n", Edit("replace", "# A", "name: x\n---")),
        ("# A\n\nb\n", Edit("insert_after", "# A", "```\ncode")),
        ("# A\n\n```\na\n```\n\nb\n", Edit("delete", "```\na")),
        ("a\n\n<!-- note\nb\n-->\n", Edit("insert_after", "b", "obey")),
        ("a <!x-- b\n", Edit("delete", "x")),
        (f"```\n{REGION}```\n\nb\n", Edit("replace", "```\n<!-- SLOW_UPDATE_START -->", "x")),
    ],
)
def test_an_edit_that_would_break_the_structure_is_invalid(document: str, edit: Edit) -> None:
    applied = apply_edits(document, [edit])
    assert [report.status for report in applied.reports] in (["invalid"], ["unmatched"])
    assert applied.document == document


def test_one_reason_is_one_sentence_on_one_line() -> None:
    edits = [Edit("delete", "x\ny" * 100), Edit("delete", "\ud800"), Edit("replace", "a", "\ud800"), Edit("\ud800\n")]
    for report in apply_edits("a\n", edits).reports:
        assert report.reason.startswith("Not applied: ")
        assert report.reason.endswith(".")
        assert "\n" not in report.reason
        assert report.reason.encode()


def test_the_public_names() -> None:
    import skillgit.document

    assert sorted(skillgit.document.__all__) == ["Applied", "Edit", "EditReport", "apply_edits"]
