"""What an audit found: what is written, and what was computed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """Something written that is not what was computed.

    Args:
        where: a commit, a journal's entry, a ref or a note.
        what: a trailer's key, or a field of the journal.
    """

    where: str
    what: str
    written: str
    computed: str

    def to_json(self) -> dict[str, str]:
        """Stable keys."""
        return {"where": self.where, "what": self.what, "written": self.written, "computed": self.computed}


@dataclass(slots=True)
class Report:
    """An audit of one skill.

    Args:
        commits: candidates' commits, and others with a verdict. entries: of the journals.
        scores: documents' scores that were computed from those of their tasks.
        attempts: scores of single attempts that were compared with the evidence. replies: those scored again.
        unchecked: what could not be computed, and how often.
    """

    name: str
    runs: list[str] = field(default_factory=list)
    commits: int = 0
    entries: int = 0
    scores: int = 0
    attempts: int = 0
    replies: int = 0
    differences: list[Difference] = field(default_factory=list)
    unchecked: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "skill": self.name,
            "runs": self.runs,
            "commits": self.commits,
            "entries": self.entries,
            "scores": self.scores,
            "attempts": self.attempts,
            "replies": self.replies,
            "differences": [one.to_json() for one in self.differences],
            "unchecked": dict(sorted(self.unchecked.items())),
        }
