"""Why an edit was not applied, as it travels from where it is noticed to the report."""

from __future__ import annotations

import json
from typing import Literal

Status = Literal["applied", "unmatched", "ambiguous", "protected", "no_change", "invalid"]

_QUOTED = 60


class Refusal(Exception):
    """An edit that does not apply. Never leaves this room: `apply_edits` turns it into a report.

    Args:
        status: the edit's status.
        reason: one clause that says what is wrong, for people and for the optimizer.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


def quoted(text: str) -> str:
    """The beginning of a text as one line, in quotes, that any file can hold."""
    cut = text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"
    return json.dumps(cut, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
