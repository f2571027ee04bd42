"""What reflection asks for: proposals of edits, and those that were left out. Pure values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from skillgit.document import Edit

Source = Literal["failure", "success"]

UNLIMITED = 16
"""What one call may propose, and the notes that a step may add, where a step has no budget."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One edit that reflection asked for.

    Args:
        support: how many attempts asked for it.
        source: what the attempts were; failures come first.
        rank: its place in its patch (from 0), an optimizer's own order of importance.
        batch: names the minibatch whose attempts asked for it. Support of one minibatch is never added to itself, for
            the attempts may be the same; where it is empty, the attempts are taken as its own.
        stated: failed attempts whose answer it states. invented: it holds a code or number that nothing shown has
            (`skillgit.train.propose.grounding`).
    """

    edit: Edit
    support: int
    source: Source
    rank: int
    batch: str = ""
    stated: int = 0
    invented: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """A proposal that aggregation or selection left out, and why."""

    proposal: Proposal
    reason: str


def squeezed(text: str) -> str:
    """A text as equal edits are found by: runs of white space are one space; in code fences indentation counts."""
    if "```" in text or "~~~" in text:
        return "\n".join(line.rstrip() for line in text.strip().splitlines())
    return re.sub(r"\s+", " ", text).strip()


def place_of(edit: Edit) -> tuple[str, str]:
    """Op and target as they are compared; an `append` needs no target, whatever it says."""
    op = edit.op.strip().lower()
    return op, "" if op == "append" else squeezed(edit.target)


def key_of(edit: Edit) -> tuple[str, str, str]:
    """What two equal edits have in common: op, target and content; a `delete` brings none."""
    op, target = place_of(edit)
    return op, target, "" if op == "delete" else squeezed(edit.content)


def weight(proposal: Proposal) -> tuple[bool, int, bool, int]:
    """What ranks proposals, the weightiest first: what makes something up comes last; support, where an attempt that
    bears the edit out counts twice, since it was checked; failures before successes; the place in the patch."""
    return (
        proposal.invented,
        -(proposal.support + proposal.stated),
        proposal.source != "failure",
        proposal.rank,
    )
