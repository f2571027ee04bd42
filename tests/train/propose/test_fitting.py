"""Which changes of a candidate keep to the length budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from skillgit.document import Edit
from skillgit.document.length import length, over
from skillgit.document.regions import notes, with_notes, with_only_notes
from skillgit.train.propose.candidate import Candidate, EditOutcome, build, extend
from skillgit.train.propose.fitting import fitting
from skillgit.train.propose.proposals import Proposal

LINES = [f"- line {n} of forty characters, more or less" for n in range(8)]
DOCUMENT = "# Rules\n\n" + "\n".join(LINES) + "\n"
LONG = Edit("append", content="- " + "more and more " * 20)
SHORT = Edit("append", content="- One.")
CUT = [Edit("delete", target=line) for line in LINES]


def proposals(*edits: Edit) -> list[Proposal]:
    return [Proposal(edit, 2, "success", 0) for edit in edits]


def fit(edits: Sequence[Edit], most: int, shortening: Sequence[Edit] = ()) -> Candidate:
    built = build(DOCUMENT, proposals(*edits))
    more = extend(built, proposals(*shortening)).outcomes[len(built.outcomes) :]
    return fitting(DOCUMENT, built, more, lambda text: over(text, 0, most, 0, before=DOCUMENT), most)


def shown(candidate: Candidate) -> list[tuple[str, str]]:
    return [(outcome.edit.op, outcome.status) for outcome in candidate.outcomes]


@pytest.mark.parametrize("order", [[CUT[0], LONG, CUT[1]], [LONG, CUT[0], CUT[1]], [CUT[0], CUT[1], LONG]])
def test_above_the_budget_from_the_start_what_shortens_is_kept(order: list[Edit]) -> None:
    """Whatever stands before it; and what is left out says why."""
    found = fit(order, 10)
    assert length(DOCUMENT) > length(found.document) > 10
    assert found.document == build(DOCUMENT, proposals(CUT[0], CUT[1])).document
    assert {(o.edit.op, o.status) for o in found.outcomes} == {("delete", "applied"), ("append", "left_out")}
    (left,) = [outcome for outcome in found.outcomes if outcome.status == "left_out"]
    assert left.reason.startswith("too long: it has ")
    assert [outcome.edit for outcome in found.outcomes] == order


def test_later_edits_that_fit_are_kept() -> None:
    longer = Edit("append", content="- " + "less and less " * 20)
    found = fit([LONG, SHORT, longer], length(DOCUMENT) + 3)
    assert shown(found) == [("append", "left_out"), ("append", "applied"), ("append", "left_out")]
    assert found.document.endswith("- One.\n")
    assert found.applied[-1].document == found.document
    assert (found.applied[0].support, found.applied[0].source) == (2, "success")


def test_what_was_not_applied_stays_in_the_record() -> None:
    nowhere = Edit("delete", target="nowhere to be found")
    assert shown(fit([nowhere, LONG], length(DOCUMENT))) == [("delete", "unmatched"), ("append", "left_out")]


def test_an_edit_of_one_that_is_left_out_no_longer_applies() -> None:
    long = Edit("append", content="- And so on, " + "more and more " * 20)
    after = Edit("insert_after", target="And so on", content="- One.")
    assert shown(fit([long, after], length(DOCUMENT) + 4)) == [("append", "left_out"), ("insert_after", "unmatched")]


def test_shortening_goes_on_top_as_far_as_it_is_needed() -> None:
    most = length(DOCUMENT) - 15
    found = fit([LONG], most, CUT[:4])
    assert length(found.document) <= most
    assert shown(found) == [("append", "left_out"), *[("delete", "applied")] * 2, *[("delete", "left_out")] * 2]
    assert found.outcomes[-1].reason == "not needed any more"


@pytest.mark.parametrize("shortened", [False, True])
def test_notes_fit_or_are_left_out(shortened: bool) -> None:
    before = with_notes(DOCUMENT, ["Old one."]).document
    edited = build(before, proposals(LONG))
    write = with_only_notes if shortened else with_notes
    after = write(edited.document, ["Ask."]).document
    outcome = EditOutcome(Edit("appendix", content="Ask."), 1, "failure", "applied", "", after)
    built = Candidate(after, (*edited.outcomes, outcome))
    for room, kept in ((4, ["left_out", "applied"]), (0, ["left_out", "applied" if shortened else "left_out"])):
        most = length(before) + room
        found = fitting(before, built, (), lambda text, most=most: over(text, 0, most, 0, before=before), most)  # type: ignore[misc]
        assert [o.status for o in found.outcomes] == kept
        assert notes(found.document) == (("Ask.",) if shortened else ("Old one.", "Ask.")[: 1 + (room > 0)])
