"""Which of a candidate's changes keep to the length budget, where all of them together do not. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from skillgit.document.length import length
from skillgit.document.regions import notes, with_notes, with_only_notes
from skillgit.train.propose.candidate import Candidate, EditOutcome, build
from skillgit.train.propose.proposals import Proposal

LEFT_OUT = "left_out"
"""The status of a change that could be applied, and is not."""


def fitting(
    document: str, built: Candidate, shortening: Sequence[EditOutcome], too_long: Callable[[str], str | None], most: int
) -> Candidate:
    """Apply the changes again, one after the other, without those that would break the rule.

    A document that is above its budget from the start may still be shortened: what `too_long` lets pass counts.

    Args:
        document: what `built` was made from.
        shortening: edits that should have brought it within the budget, and were not enough: those that still apply go
            on top, as long as the document is above `most`.
        too_long: why a document's length is not allowed, as one clause.
        most: tokens of the budget.

    Returns: every change is among the outcomes; what was left out says why.
    """
    kept: list[EditOutcome] = []
    now = document
    for outcome in built.outcomes:
        again = _again(now, outcome)
        reason = too_long(again.document) if again.status == "applied" else None
        if reason is not None:
            again = replace(outcome, status=LEFT_OUT, reason=f"too long: {reason}", document=now)
        kept.append(again)
        now = again.document
    for outcome in shortening:
        if length(now) > most:
            kept.append(_again(now, outcome))
        else:
            kept.append(replace(outcome, status=LEFT_OUT, reason="not needed any more", document=now))
        now = kept[-1].document
    return Candidate(now, tuple(kept))


def _again(document: str, outcome: EditOutcome) -> EditOutcome:
    """A change on another document. What could not be applied before is not tried again."""
    if outcome.status != "applied":
        return replace(outcome, document=document)
    if outcome.edit.op != "appendix":
        again = build(document, [Proposal(outcome.edit, outcome.support, "failure", 0)]).outcomes[0]
        return replace(again, source=outcome.source)
    there, wanted = notes(document), notes(outcome.document)
    shortened = not set(there) <= set(wanted)
    after = with_only_notes(document, wanted) if shortened else with_notes(document, wanted)
    status = "no_change" if after.document == document else "applied"
    return replace(outcome, status=status, reason=after.reason or outcome.reason, document=after.document)
