"""The update: selected edits on the incumbent, one whole document after each, secrets refused."""

from __future__ import annotations

from skillgit.document import Edit, apply_edits
from skillgit.train.propose.candidate import build
from skillgit.train.propose.proposals import Proposal

DOCUMENT = "---\nname: t\ndescription: d\n---\n\n# Title\n\nFirst rule.\n"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def proposals(*edits: Edit) -> list[Proposal]:
    return [Proposal(edit, n, "failure", 0) for n, edit in enumerate(edits, start=1)]


def test_each_outcome_has_the_document_after_it() -> None:
    edits = [Edit("append", content="- one"), Edit("replace", "First", "Second"), Edit("append", content="- two")]
    built = build(DOCUMENT, proposals(*edits))
    expected = [DOCUMENT]
    for edit in edits:
        expected.append(apply_edits(expected[-1], [edit]).document)
    assert [o.document for o in built.outcomes] == expected[1:]
    assert built.document == expected[-1]
    assert [o.status for o in built.outcomes] == ["applied"] * 3
    assert [(o.support, o.source) for o in built.outcomes] == [(1, "failure"), (2, "failure"), (3, "failure")]


def test_only_applied_edits_become_commits() -> None:
    built = build(
        DOCUMENT,
        proposals(
            Edit("replace", "absent words", "x"),
            Edit("append", content="- one"),
            Edit("append", content="- one"),
            Edit("replace", "name: t", "name: u"),
            Edit("append", content="<!-- hidden -->"),
        ),
    )
    assert [o.status for o in built.outcomes] == ["unmatched", "applied", "no_change", "protected", "invalid"]
    assert all(o.reason for o in built.outcomes if o.status != "applied")
    assert [o.edit.content for o in built.applied] == ["- one"]
    assert built.document == built.applied[0].document


def test_a_secret_is_refused_and_not_kept() -> None:
    built = build(
        DOCUMENT,
        proposals(
            Edit("append", content="- before"),
            Edit("replace", "First rule.", f"Use the token {TOKEN}.", reason="it worked"),
            Edit("append", content="- after"),
        ),
    )
    assert [o.status for o in built.outcomes] == ["applied", "invalid", "applied"]
    assert "secret" in built.outcomes[1].reason
    assert TOKEN not in str(built)
    # What stands after the refused edit is the document as it was before it.
    assert built.outcomes[1].document == built.outcomes[0].document
    assert built.document.endswith("- before\n- after\n")


def test_no_edits_leave_the_document() -> None:
    built = build(DOCUMENT, [])
    assert (built.document, built.outcomes, built.applied) == (DOCUMENT, (), ())


def test_line_ends_are_the_documents_own() -> None:
    crlf = DOCUMENT.replace("\n", "\r\n")
    built = build(crlf, proposals(Edit("append", content="- one\n- two")))
    assert built.document == crlf + "\r\n- one\r\n- two\r\n"


def test_a_secret_that_the_text_around_makes_is_refused_as_well() -> None:
    document = "# Keys\n\napi_key: <your-key>\n"
    built = build(document, proposals(Edit("replace", "<your-key>", "Zq8vK2mXw9Rt4LpN7sHd")))
    (outcome,) = built.outcomes
    assert outcome.status == "invalid"
    assert "secret" in outcome.reason
    assert "Zq8vK2mXw9Rt4LpN7sHd" not in repr(built)
    assert built.document == document


def test_a_secret_that_people_left_in_the_document_stops_no_edit() -> None:
    document = f"# Keys\n\ntoken {TOKEN}\n"
    built = build(document, proposals(Edit("append", content="- one")))
    assert [o.status for o in built.outcomes] == ["applied"]


def test_an_edit_longer_than_anybody_can_review_is_refused() -> None:
    built = build(
        DOCUMENT, proposals(Edit("append", content="x" * 20_001), Edit("append", content="- " + "y" * 19_998))
    )
    assert [o.status for o in built.outcomes] == ["invalid", "applied"]
    assert len(repr(built.outcomes[0])) < 1000
