"""The history as a column of ASCII, newest first: what became part of the branch on the main line, what did not beside
it, off the tip that it was tried on. Pure."""

from __future__ import annotations

from typing import Literal

from skillgit.train.archive.journal import ACCEPTED, StepRecord

Place = Literal["main", "side", "none"]

MARKS = {
    "baseline": "o",
    "remeasure": "o",
    "human": "h",
    "unmeasured": "h",
    "merge": "m",
    "revert": "r",
    "rollback": "b",
    "cherry-pick": "c",
    "retry": "t",
}
"""Kinds of entries on the main line that are no step; a step, and an epoch's slow update, is `*`."""
SIDE = {"reject": "x", "indecisive": "?"}
WIDTH = 4
JOIN = "|/"
"""The line below an entry beside the main line: it stands on what comes next there."""


def kind_of(record: StepRecord) -> str:
    """An entry's kind for the graph; a rollback is a revert to the journal, and is told by its edit."""
    back = record.kind == "revert" and any(edit.get("op") == "rollback" for edit in record.edits)
    return "rollback" if back else record.kind


def placed(kind: str, decision: str) -> Place:
    """Where an entry stands: on the main line, beside it, or nowhere, since it left nothing behind."""
    if decision in SIDE:
        return "side"
    return "main" if decision in ACCEPTED or kind in ("baseline", "remeasure", "human", "unmeasured") else "none"


def column(kind: str, decision: str) -> str:
    """The column of one entry, `WIDTH` wide."""
    texts = {"side": f"| {SIDE.get(decision, '')}", "main": MARKS.get(kind, "*"), "none": "|"}
    return f"{texts[placed(kind, decision)]:<{WIDTH}}"
