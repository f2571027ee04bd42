"""Compaction: edits that shorten a document which is over its length budget. They are gated like any other edit.

What can be left out without a thought (a line that stands twice in its section) goes first, without a call; the
optimizer is asked only where that is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from skillgit.document import Edit, apply_edits
from skillgit.document.blocks import is_item
from skillgit.document.length import length
from skillgit.document.matching import normal_line
from skillgit.document.rewriting import editable_body
from skillgit.document.structure import Structure, headings
from skillgit.errors import ReplyError
from skillgit.models.replies import Patch, parse_patch
from skillgit.train.propose.attempts import tagged
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import count
from skillgit.train.propose.proposals import Proposal

MOST_EDITS = 8
_MOST_CONTEXT = 6
"""Lines above a repeated one that are quoted with it, so that the edit fits one place only."""


async def compact(
    optimizer: StepOptimizer | None,
    document: str,
    target_tokens: int,
    *,
    most_edits: int = MOST_EDITS,
    stage: str = "compact",
) -> list[Proposal]:
    """Edits that bring a document to `target_tokens` or near it, in the order they apply.

    Args:
        optimizer: None where only what needs no model may be left out.
        target_tokens: the most tokens that its body should have (`document.length.limit`).
        most_edits: the most edits, both kinds together.

    Returns: as few as reach the target; each of them applies after those before it, and shortens. Empty where the
        document is short enough, or nothing was found.

    Raises:
        ModelError: the call itself failed.
    """
    edits = _needed(document, duplicates(document), target_tokens, most_edits)
    shorter = apply_edits(document, edits).document
    left = most_edits - len(edits)
    if optimizer is not None and length(shorter) > target_tokens and left > 0:
        edits += await _asked(optimizer, shorter, target_tokens, left, stage)
    return [Proposal(edit, 1, "failure", rank) for rank, edit in enumerate(edits)]


def duplicates(document: str) -> list[Edit]:
    """Edits that take out lines which stand a second time in their section: list items without text of their own
    below them, and paragraphs of one line. Each applies after those before it; the first of equal lines stays."""
    edits: list[Edit] = []
    while True:
        structure = Structure(document)
        found = next((edit for line in _repeated(structure) if (edit := _without(structure, line)) is not None), None)
        if found is None:
            return edits
        edits.append(found)
        document = apply_edits(document, [found]).document


def _repeated(structure: Structure) -> Iterator[int]:
    """The lines that say what an earlier line of their section says."""
    lines = structure.lines
    titles = {heading.line for heading in headings(structure.text)}
    protected = [(lines.at(region.start), lines.at(region.end - 1)) for region in structure.regions]
    seen: set[str] = set()
    for index in range(structure.first_line, len(lines)):
        if index in titles:
            seen = set()
        elif any(first <= index <= last for first, last in protected) or not _stands_alone(structure, index):
            continue
        elif normal_line(lines[index]) in seen:
            yield index
        else:
            seen.add(normal_line(lines[index]))


def _stands_alone(structure: Structure, index: int) -> bool:
    """Whether a line is a whole list item at the margin, or a whole paragraph."""
    lines, blocks = structure.lines, structure.blocks
    if lines.is_blank(index) or blocks.is_code(index) or blocks.comments[index] or lines[index][0] in " \t>|":
        return False
    below = index + 1
    last = below == len(lines) or lines.is_blank(below)
    if is_item(lines[index]):
        following = next((i for i in range(below, len(lines)) if not lines.is_blank(i)), None)
        runs_on = following is not None and (lines[following][0] in " \t" or not (last or is_item(lines[below])))
        return not runs_on
    return last and (index == structure.first_line or lines.is_blank(index - 1))


def _without(structure: Structure, line: int) -> Edit | None:
    """An edit that takes out this line alone: the lines above it are quoted with it, since it stands twice."""
    lines = structure.lines
    wanted = [normal_line(lines[i]) for i in range(len(lines)) if i != line and not lines.is_blank(i)]
    for first in range(line - 1, max(structure.first_line, line - _MOST_CONTEXT) - 1, -1):
        if lines.is_blank(first):
            continue
        above = [lines[i] for i in range(first, line)]
        target = "\n".join([*above, lines[line]])
        edit = Edit("replace", target, "\n".join(above), "It stood twice in this section.")
        applied = apply_edits(structure.text, [edit])
        after = Structure(applied.document).lines
        left = [normal_line(after[i]) for i in range(len(after)) if not after.is_blank(i)]
        if applied.reports[0].status == "applied" and left == wanted:
            return edit
    return None


async def _asked(optimizer: StepOptimizer, document: str, target_tokens: int, most: int, stage: str) -> list[Edit]:
    values = {
        "skill": tagged("skill", editable_body(document)),
        "length": count(length(document), "token"),
        "target": count(target_tokens, "token"),
        "budget": count(most, "edit"),
    }

    def read(text: str) -> Patch:
        patch = parse_patch(text)
        if patch.edits and not _needed(document, _raw(patch), target_tokens, most):
            raise ReplyError("none of its edits applies and makes the document shorter")
        return patch

    patch = await optimizer.ask(stage, "full/compact_document", values, read)
    return [] if patch is None else _needed(document, _raw(patch), target_tokens, most)


def _raw(patch: Patch) -> list[Edit]:
    return [Edit(raw.op, raw.target, raw.content, raw.reason) for raw in patch.edits]


def _needed(document: str, edits: Sequence[Edit], target_tokens: int, most: int) -> list[Edit]:
    """Of the edits those that replace or delete, apply and shorten, until the target is reached."""
    reason = f"The document is above its budget of {target_tokens} tokens."
    kept: list[Edit] = []
    for edit in edits:
        if length(document) <= target_tokens or len(kept) == most:
            break
        if edit.op not in ("replace", "delete"):
            continue
        after = apply_edits(document, [edit]).document
        if len(after) < len(document):
            kept.append(replace(edit, reason=f"{reason} {edit.reason}".strip()))
            document = after
    return kept
