"""Commit and tag messages of a run: subject, body, trailers (DESIGN, section 2, Commit form). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from skillgit.store.trailers import format_message, subject_line
from skillgit.train.archive.journal import RunState, StepRecord, exact_number
from skillgit.train.scoring.scores import decimal

if TYPE_CHECKING:
    from skillgit.train.propose.candidate import EditOutcome

VERBS = {
    "append": "add",
    "insert_after": "insert",
    "replace": "change",
    "delete": "remove",
    "rewrite": "rewrite the document:",
    "guidance": "guide:",
    "appendix": "remind:",
    "merge": "merge two documents:",
    "revert": "take back:",
    "rollback": "go back to",
    "pick": "bring in:",
}
MOST_REASON = 2000
"""Characters of an edit's reason in its commit; the whole of it is in the journal."""
SOURCES = {"failure": "failures", "success": "successes", "pair": "pairs", "person": "people"}


@dataclass(frozen=True, slots=True)
class Place:
    """Which step of which run a message speaks of."""

    skill: str
    run: str
    step: int
    epoch: int

    def trailers(self, kind: str) -> list[tuple[str, str]]:
        """The first trailers of every commit."""
        return [
            ("Skill-Name", self.skill),
            ("Skill-Run", self.run),
            ("Skill-Step", str(self.step)),
            ("Skill-Epoch", str(self.epoch)),
            ("Skill-Kind", kind),
        ]


def edit_message(
    place: Place,
    number: int,
    count: int,
    outcome: EditOutcome,
    verdict: list[tuple[str, str]],
    *,
    kind: str = "step",
) -> str:
    """The commit of edit `number` of `count`; only the last one gets the verdict's trailers."""
    from skillgit.redact import redact

    edit = outcome.edit
    what = f"{VERBS[edit.op]} {_quote(edit.content or edit.target)}"
    noun = SOURCES[outcome.source]
    support = f"{outcome.support} {noun if outcome.support != 1 else outcome.source}"
    trailers = [
        *place.trailers(kind),
        ("Skill-Edit", f"{number}/{count} {edit.op}"),
        ("Skill-Support", support),
        *verdict,
    ]
    why = _cut(redact(edit.reason).strip()) or f"Proposed from {support} of step {place.step}."
    return format_message(subject_line(place.skill, redact(what)), why, trailers)


def plain_message(place: Place, kind: str, what: str, why: str, extra: Sequence[tuple[str, str]] = ()) -> str:
    """A commit that is no edit: `merge`, `revert`, `release`."""
    return format_message(subject_line(place.skill, what), why, [*place.trailers(kind), *extra])


def verdict_trailers(record: StepRecord, *, gate: str, val: str) -> list[tuple[str, str]]:
    """What was known at the decision, for the candidate's last commit and for the epoch's table."""
    early = record.maximum is not None
    pairs = [
        ("Skill-Decision", record.decision),
        ("Skill-Score", None if early else record.score),
        ("Skill-Score-Max", record.maximum),
        ("Skill-Score-Before", record.before),
        ("Skill-Score-Hard", None if early else record.score_hard),
        ("Skill-Score-Soft", None if early else record.score_soft),
    ]
    found = [(key, text) for key, text in pairs if text is not None]
    found = [(key, text if key == "Skill-Decision" else decimal(Fraction(text))) for key, text in found]
    return [
        *found,
        ("Skill-Gate", gate),
        ("Skill-Blob", record.document),
        ("Skill-Val", val),
        *[(f"Skill-{role.title()}", model) for role in ("target", "optimizer") if (model := record.models.get(role))],
        ("Skill-Cost", cost_text(record.cost)),
    ]


def cost_text(cost: dict[str, object]) -> str:
    """`calls=212 tokens=182340 usd=0.43`, without `usd` where a price is unknown."""
    usd = f" usd={cost['usd']}" if cost.get("usd") is not None else ""
    return f"calls={cost.get('calls', 0)} tokens={cost.get('tokens', 0)}{usd}"


def epoch_message(place: Place, records: Sequence[StepRecord], state: RunState, best: Fraction | None) -> str:
    """The annotated tag of an epoch: its table of steps, then trailers."""
    rows = ["step  decision     score     before    edits"]
    for record in records:
        score = exact_number(record.score if record.maximum is None else record.maximum)
        mark = "<=" if record.maximum is not None else "  "
        edits = len(record.commits)
        before = decimal(exact_number(record.before))
        rows.append(f"{record.step:>4}  {record.decision:<11}{mark}{decimal(score):>8}  {before:>8}  {edits:>5}")
    table = "\n".join(rows)
    # The score is the best document's, and so is the blob: it counts for the tagged commit only where that has it.
    extra = [("Skill-Blob", state.best), ("Skill-Best", state.best_commit), ("Skill-Score", decimal(best))]
    subject = f"skill({place.skill}): epoch {place.epoch} of run {place.run}"
    trailers = [pair for pair in place.trailers("") if pair[0] != "Skill-Kind"]
    return format_message(subject, table, [*trailers, *(extra if best is not None else extra[:2])])


def _cut(text: str) -> str:
    """A text of at most `MOST_REASON` characters: what is longer ends after a word, with an ellipsis."""
    if len(text) <= MOST_REASON:
        return text
    start = text[: MOST_REASON - 2]
    words = start.rsplit(None, 1)[0]
    return f"{words} …" if len(words) > MOST_REASON // 2 else f"{start}…"


def _quote(text: str) -> str:
    """The first words of an edit, without list marks, for a subject line."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    return re.sub(r"^\s*(?:[-*+]|\d+[.)]|#+)\s+", "", line).strip()
