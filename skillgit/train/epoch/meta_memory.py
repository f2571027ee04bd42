"""Meta memory: what the optimizer notes for itself between epochs. The document and the target never see it.

Source: SkillOpt's `optimizer/meta_skill.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.redact import redact
from skillgit.train.epoch.longitudinal import Pair
from skillgit.train.epoch.slow_update import comparison, lined, text_of
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import data

STAGE = "meta_memory"
"""Names the call within its step."""

MOST_NOTES = 4_000
"""Characters: each later prompt of the optimizer pays for them."""


async def update_memory(
    optimizer: StepOptimizer, previous_document: str, document: str, pairs: Sequence[Pair], memory: str
) -> str | None:
    """Ask for the notes anew.

    Args:
        previous_document: as it was at the end of the epoch before. document: as it is now.
        pairs: what `longitudinal.chosen` keeps, the same as the slow update's.
        memory: the notes so far; may be empty.

    Returns: the new notes, as `bounded` leaves them; None where there are no pairs (no call is made), no usable reply
        came, or it has no notes: those so far then stay.

    Raises:
        ModelError: the call itself failed.
    """
    if not pairs:
        return None
    values = {
        **comparison(optimizer, previous_document, document, pairs),
        "notes": data("notes", lined(memory.strip() or "(none yet)")),
    }
    notes = await optimizer.ask(STAGE, "full/meta_memory", values, lambda reply: text_of(reply, "notes"))
    return bounded(notes) or None if notes else None


def bounded(notes: str) -> str:
    """Notes as they may be kept: redacted, and of at most `MOST_NOTES` characters, cut at a line's end."""
    clean = redact(notes).strip()
    if len(clean) <= MOST_NOTES:
        return clean
    cut = redact(clean, MOST_NOTES)
    whole = clean[len(cut)] == "\n"
    return (cut if whole or "\n" not in cut else cut[: cut.rindex("\n")]).rstrip()
