"""The slow update: at an epoch's end the optimizer writes the guidance that the steps' edits cannot touch.

The rules are DESIGN, section 3; source: SkillOpt's `optimizer/slow_update.py`. Ours makes a candidate of it, which the
gate measures like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.document.regions import guidance, refused_text, with_guidance
from skillgit.document.structure import body
from skillgit.errors import ReplyError
from skillgit.models.replies import parse_object
from skillgit.train.epoch.longitudinal import Pair, pairs_text
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import data

STAGE = "slow_update"
"""Names the call within its step."""

MOST_GUIDANCE = 8_000
"""Characters: the prompt asks for less, and every val call pays for them."""


async def propose_guidance(
    optimizer: StepOptimizer, previous_document: str, document: str, pairs: Sequence[Pair]
) -> str | None:
    """Ask for the guidance that the next epoch begins with.

    Args:
        previous_document: as it was at the end of the epoch before. document: as it is now; both with frontmatter,
            which the optimizer is not shown.
        pairs: what `longitudinal.chosen` keeps.

    Returns: None where there are no pairs (no call is made), no usable reply came, or the guidance stays as it is.

    Raises:
        ModelError: the call itself failed.
    """
    if not pairs:
        return None
    current = guidance(document)
    values = {
        **comparison(optimizer, previous_document, document, pairs),
        "guidance": data("guidance", lined(current or "(none yet)")),
    }
    proposed = await optimizer.ask(STAGE, "full/slow_update", values, read_guidance)
    return proposed if proposed and proposed != current else None


def document_with_guidance(document: str, text: str) -> tuple[str, str | None]:
    """The candidate: the document with this guidance, and None; or the document as it is, and why not."""
    written = with_guidance(document, text)
    return written.document, written.reason


def read_guidance(reply: str) -> str:
    """The guidance of a reply, without blank lines around; empty where nothing is to change.

    A list of lines or rules, as models write one in place of Markdown, is taken as a bullet list.

    Raises:
        ReplyError: it has none, or one that no document may hold, or one that is too long.
    """
    text = text_of(reply, "guidance")
    if len(text) > MOST_GUIDANCE:
        raise ReplyError(f"the guidance has {len(text):,} characters; write at most {MOST_GUIDANCE:,}")
    refused = refused_text(text)
    if refused is not None:
        raise ReplyError(f"the guidance cannot be used: {refused}")
    return text


def text_of(reply: str, key: str) -> str:
    """A text of a reply's object; a list of texts as a bullet list.

    Raises:
        ReplyError: there is no such key, or it holds something else.
    """
    value = parse_object(reply).get(key)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        lines = [str(item).strip() for item in value]
        value = "\n".join(line if line.startswith(("-", "*", "#")) else f"- {line}" for line in lines if line)
    if not isinstance(value, str):
        raise ReplyError(f"the reply's object has no text under the key {key!r}")
    return value.strip("\r\n").rstrip() if value.strip() else ""


def comparison(
    optimizer: StepOptimizer, previous_document: str, document: str, pairs: Sequence[Pair]
) -> dict[str, str]:
    """What a prompt about two documents is filled with: both, and the pairs."""
    return {
        "previous_skill": data("previous_skill", lined(body(previous_document))),
        "skill": data("skill", lined(body(document))),
        "pairs": pairs_text(pairs, optimizer.environment),
    }


def lined(text: str) -> str:
    """A text on lines of its own between its tags."""
    return f"\n{text.strip()}\n"
