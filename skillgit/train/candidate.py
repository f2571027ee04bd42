"""Update: the selected edits on the incumbent's document, each with a status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillgit.document import Edit, apply_edits
from skillgit.redact import contains_secret
from skillgit.train.proposals import Proposal


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


def build(document: str, proposals: Sequence[Proposal]) -> Candidate:
    """Apply the proposals. One that would bring a secret is `invalid`: history cannot be taken back."""
    secrets = {index: kind for index, p in enumerate(proposals) if (kind := _secret(p.edit))}
    clean = [p.edit for index, p in enumerate(proposals) if index not in secrets]
    applied = apply_edits(document, clean)
    reports = iter(zip(applied.reports, applied.documents, strict=True))
    outcomes, latest = [], document
    for index, proposal in enumerate(proposals):
        if index in secrets:
            status, reason = "invalid", f"its text holds a secret ({secrets[index]})"
        else:
            report, latest = next(reports)
            status, reason = report.status, report.reason
        edit = proposal.edit if index not in secrets else replace(proposal.edit, target="", content="")
        outcomes.append(EditOutcome(edit, proposal.support, proposal.source, status, reason, latest))
    return Candidate(applied.document, tuple(outcomes))


def _secret(edit: Edit) -> str | None:
    return contains_secret(edit.content)
