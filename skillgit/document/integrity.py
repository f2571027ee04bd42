"""What no edit may do to the rest of the document, judged by the document before and after it.

An edit's own text can be harmless and still complete a comment, a marker or a fence with the text beside it.
"""

from __future__ import annotations

from collections import Counter

from skillgit.document.blocks import Blocks, Role
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Structure


def check_change(before: Structure, after: Structure, change: Change) -> None:
    """Compare the structure before and after a change.

    Raises:
        Refusal: `invalid`: frontmatter, regions, hidden text or what is code elsewhere would be other than before.
    """
    if after.frontmatter_text != before.frontmatter_text or after.frontmatter != before.frontmatter:
        raise Refusal("invalid", "it would make or change the document's frontmatter")
    if after.problem is not None or _region_texts(after) != _region_texts(before):
        raise Refusal("invalid", "it would make or change a protected region's markers")
    if after.text.count("<!--") > before.text.count("<!--"):
        raise Refusal("invalid", "together with the text beside it, it would open an HTML comment")
    if Counter(after.comments) - Counter(before.comments):
        raise Refusal("invalid", "it would change or add text inside an HTML comment, which readers do not see")
    if tears_fence(before, after, change):
        raise Refusal("invalid", "it would leave a code fence open or change which other lines are code")


def _region_texts(structure: Structure) -> list[str]:
    return [structure.text[region.start : region.end] for region in structure.regions]


def tears_fence(before: Structure, after: Structure, change: Change) -> bool:
    """Whether a fence is left open, or lines below the change are in another place of a fence than before."""
    if _unclosed(after.blocks) > _unclosed(before.blocks):
        return True
    if _runs_out(before.blocks) and not _runs_out(after.blocks):
        return False  # it closes a fence that had been left open
    lines = before.lines
    below = len(lines) - lines.at(change.end) - 1 if change.end < len(before.text) else 0
    if below and change.end == lines.starts[lines.at(change.end)]:
        below += 1
    return below > 0 and before.blocks.roles[-below:] != after.blocks.roles[-below:]


def _unclosed(blocks: Blocks) -> int:
    return blocks.roles.count(Role.OPENS) - blocks.roles.count(Role.CLOSES)


def _runs_out(blocks: Blocks) -> bool:
    """Whether a code fence runs to the end of the document unclosed."""
    return blocks.roles[-1:] in ([Role.OPENS], [Role.INSIDE])
