"""Conflicts between edits, found in the document."""

from __future__ import annotations

import pytest

from skillgit.document import Edit, apply_edits
from skillgit.train.propose.conflicts import (
    Ground,
    Unit,
    components,
    conflicts,
    distinct,
    failures_first,
    in_order,
    is_clear_cut,
    settle,
)
from skillgit.train.propose.proposals import Proposal, Source

DOCUMENT = "# Rules\n\nAlways greet the customer. Never promise a date.\n\n- refunds: R1\n- billing: B1\n"
FIRST, SECOND = "Always greet the customer.", "Never promise a date."
BOTH = f"{FIRST} {SECOND}"


def proposal(edit: Edit, support: int = 1, *, source: Source = "failure", rank: int = 0, batch: str = "") -> Proposal:
    return Proposal(edit, support, source, rank, batch)


def units(*edits: Edit | Proposal) -> list[Unit]:
    return distinct(failures_first([e if isinstance(e, Proposal) else proposal(e) for e in edits]))


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (Edit("replace", FIRST, "x"), Edit("delete", BOTH), "text"),
        (Edit("replace", "greet the customer", "x"), Edit("replace", "customer. Never", "y"), "text"),
        (Edit("replace", "- refunds: R1\n- billing: B1", "x"), Edit("delete", "- billing: B1"), "text"),
        (Edit("replace", "not there", "x"), Edit("delete", "not  there"), "text"),
        (Edit("replace", FIRST, "x"), Edit("replace", SECOND, "y"), None),
        (Edit("delete", "- refunds: R1"), Edit("delete", "- billing: B1"), None),
        (Edit("replace", "not there", "x"), Edit("delete", "nor there"), None),
        (Edit("insert_after", "# Rules", "Greet."), Edit("insert_after", "# Rules", "Thank."), None),
        (Edit("insert_after", FIRST, "- a: 1"), Edit("delete", FIRST), None),
        (Edit("append", content="- a: X12"), Edit("append", content="- a: X13"), "value"),
        (Edit("append", content="- a: X12"), Edit("append", content="- b: X13"), None),
        (Edit("insert_after", "# Rules", "- a: 1"), Edit("insert_after", FIRST, "- a: 2"), None),
    ],
)
def test_what_conflicts(one: Edit, other: Edit, kind: str | None) -> None:
    for pair in ((one, other), (other, one)):
        assert conflicts(units(*pair), Ground(DOCUMENT)) == ({(0, 1): kind} if kind else {})


def test_support_is_that_of_distinct_attempts() -> None:
    """Two edits of one minibatch may rest on the same attempts."""
    same = [
        proposal(Edit("append", content="Greet."), 2, batch="failure/1", rank=2, source="success"),
        proposal(Edit("append", content="greet"), 3, batch="failure/1"),
        proposal(Edit("append", content="- Greet!"), 4, batch="failure/2", rank=1),
        proposal(Edit("append", content="Greet"), 1),
        proposal(Edit("append", content="greet."), 1),
    ]
    (unit,) = units(*same)
    assert (unit.proposal.support, unit.proposal.source, unit.proposal.rank) == (3 + 4 + 1 + 1, "failure", 0)
    assert unit.proposal.edit.content == "greet"
    assert unit.sources == {0, 1, 2, 3, 4}


def test_of_those_that_say_the_same_the_longest_stays_in_the_place_of_the_earliest() -> None:
    long = "Reply with the code of the topic that the ticket names, on one line and with nothing else around it"
    first, second = units(
        Edit("append", content=long), Edit("append", content="x"), Edit("append", content=f"{long} now")
    )
    assert (first.proposal.edit.content, first.own, first.place) == (f"{long} now", 2, 0)
    assert second.place == 1


def test_settling_is_by_support_and_spares_who_is_not_in_conflict_with_a_winner() -> None:
    """A chain: the middle one conflicts with both ends."""
    chain = units(
        proposal(Edit("delete", BOTH), 2), proposal(Edit("delete", FIRST), 2), proposal(Edit("delete", SECOND), 3)
    )
    pairs = conflicts(chain, Ground(DOCUMENT))
    (group,) = components(range(3), lambda a, b: (a, b) in pairs)
    winners, losers = settle(chain, group, pairs)
    assert [unit.proposal.edit.target for unit in winners] == [FIRST, SECOND]
    assert [unit.proposal.edit.target for unit in losers] == [BOTH]
    assert not is_clear_cut(chain, group, pairs)


@pytest.mark.parametrize(
    ("first", "second", "winner", "clear"),
    [((1, 0), (2, 1), 2, True), ((2, 1), (1, 0), 1, True), ((2, 1), (2, 0), 2, True), ((2, 1), (2, 1), 1, False)],
)
def test_support_and_rank_decide_between_values(
    first: tuple[int, int], second: tuple[int, int], winner: int, clear: bool
) -> None:
    rivals = [
        proposal(Edit("append", content=f"- a: {n}"), support, rank=rank)
        for n, (support, rank) in enumerate((first, second), 1)
    ]
    given_ = units(*rivals)
    pairs = conflicts(given_, Ground(""))
    assert is_clear_cut(given_, [0, 1], pairs) is clear
    assert [unit.proposal.edit.content for unit in settle(given_, [0, 1], pairs)[0]] == [f"- a: {winner}"]


def test_an_insertion_goes_before_the_change_that_takes_its_anchor() -> None:
    given_ = units(
        Edit("append", content="x"),
        Edit("delete", "- refunds: R1"),
        Edit("insert_after", "- refunds: R1", "- fees: F1"),
    )
    ordered = [unit.proposal.edit for unit in in_order(given_, Ground(DOCUMENT))]
    assert [edit.op for edit in ordered] == ["append", "insert_after", "delete"]
    assert {report.status for report in apply_edits(DOCUMENT, ordered).reports} == {"applied"}


def test_a_document_that_cannot_be_edited_has_grounds_too() -> None:
    broken = Ground("---\nname: x\n\nno end <!-- APPENDIX_START -->\n")
    assert conflicts(units(Edit("delete", "no end"), Edit("replace", "no", "x")), broken).keys() <= {(0, 1)}
