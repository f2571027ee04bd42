"""Update: the selected edits on the incumbent's document, each with a status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillgit.document import Edit, apply_edits
from skillgit.redact import secrets_in
from skillgit.train.propose.proposals import Dropped, Proposal


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What became of one selected edit. `document` is the whole document after it."""

    edit: Edit
    support: int
    source: str
    status: str
    reason: str
    document: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """The document after a step's edits, and each edit's outcome in order of application."""

    document: str
    outcomes: tuple[EditOutcome, ...]

    @property
    def applied(self) -> tuple[EditOutcome, ...]:
        """The edits that changed the document: one commit each."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "applied")


MOST_CHARACTERS = 20_000
"""Of one edit's text: more is no edit that a person could review, and every val call would pay for it."""


def build(document: str, proposals: Sequence[Proposal]) -> Candidate:
    """Apply the proposals, each to the result of the last. One that would bring a secret, by itself or together with
    the text around it, is `invalid`, and its text is kept nowhere: history cannot be taken back."""
    outcomes: list[EditOutcome] = []
    known = secrets_in(document)
    for proposal in proposals:
        edit = proposal.edit
        if len(edit.content) > MOST_CHARACTERS:
            reason = f"its text is longer than {MOST_CHARACTERS} characters"
            short = replace(edit, content="")
            outcomes.append(EditOutcome(short, proposal.support, proposal.source, "invalid", reason, document))
            continue
        after = apply_edits(document, [edit])
        status, reason = after.reports[0].status, after.reports[0].reason
        held = secrets_in(after.document)
        brought = held - known or secrets_in(edit.content) - known
        if brought:
            kinds = ", ".join(sorted({kind for kind, _ in brought}))
            status, reason = "invalid", f"its text holds a secret ({kinds})"
            edit = replace(edit, target="", content="")
        elif status == "applied":
            document, known = after.document, held
        outcomes.append(EditOutcome(edit, proposal.support, proposal.source, status, reason, document))
    return Candidate(document, tuple(outcomes))


def applicable(document: str, proposals: Sequence[Proposal]) -> tuple[list[Proposal], list[Dropped]]:
    """Leave out what would not change the document, before it uses up the learning rate.

    An edit whose target another edit brings is kept: it may apply after that one.
    """
    fit, unfit = [], []
    for proposal in proposals:
        report = apply_edits(document, [proposal.edit]).reports[0]
        target = " ".join(proposal.edit.target.split())
        follows = report.status == "unmatched" and any(
            target and target in " ".join(other.edit.content.split()) for other in proposals if other is not proposal
        )
        if report.status == "applied" or follows:
            fit.append(proposal)
        else:
            unfit.append(Dropped(proposal, f"{report.status}: {report.reason}"))
    return fit, unfit


def extend(built: Candidate, proposals: Sequence[Proposal]) -> Candidate:
    """More edits on top of a candidate."""
    more = build(built.document, proposals)
    return Candidate(more.document, (*built.outcomes, *more.outcomes))
