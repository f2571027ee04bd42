"""A new body for a document, all at once. Frontmatter and protected regions keep their bytes.

The rules are those of edits (DESIGN, section 3): no marker, no hidden text, no frontmatter, no open fence. What the
document has hidden already (a licence in a comment) may stay.
"""

from __future__ import annotations

from skillgit.document.content import refused_content
from skillgit.document.integrity import check_change
from skillgit.document.lines import block_lines
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Region, Structure, body


def editable_body(document: str) -> str:
    """The body without its protected regions: what a rewrite may change, and all that it has to bring again."""
    structure = Structure(document)
    parts, at = [], structure.body_start
    for region in structure.regions:
        parts.append(document[at : region.start].strip("\r\n"))
        at = region.end
    parts.append(document[at:])
    return (structure.eol * 2).join(part.strip("\r\n") for part in parts if part.strip())


UNCHANGED = "the document would stay as it is"
"""Why a body is refused that is the one there is."""


def with_body(document: str, new_body: str) -> tuple[str, str | None]:
    """The document with another body.

    Protected regions at the body's beginning stay there, those at its end keep every byte from the first of them on;
    regions in between have no place in the new text, and follow it.

    Args:
        new_body: Markdown; a frontmatter in it is left out, blank lines around it mean nothing.

    Returns: the document and None, or the document as it was and why the body is refused, as one clause.
    """
    structure = Structure(document)
    block = block_lines(body(new_body))
    if structure.problem is not None:
        return document, structure.problem
    if not block:
        return document, "its new body is empty"
    # Comments are compared with those that were there, below: a rewrite may keep them.
    refused = refused_content("\n".join(block).replace("<!--", "(!--"))
    if refused is not None:
        return document, refused
    change = _change(structure, block)
    after = structure.changed(change)
    if after.text == document:
        return document, UNCHANGED
    try:
        check_change(structure, after, change)
    except Refusal as refusal:
        return document, refusal.reason
    return after.text, None


def _change(structure: Structure, block: list[str]) -> Change:
    """From behind the regions that lead the body, to the first of those that end it."""
    text, eol = structure.text, structure.eol
    leading, inner, trailing = _placed(structure)
    start = leading[-1].end if leading else structure.body_start
    stop = trailing[0].start if trailing else len(text)
    gap = text[start:stop]
    lead = gap[: len(gap) - len(gap.lstrip("\r\n"))]
    before = text[:start]
    if leading:
        lead = lead if lead.count("\n") > 1 or lead.count("\r") > 1 else eol * 2
    elif before.removeprefix("\ufeff") and before[-1] not in "\r\n":
        lead = eol + lead
    parts = [eol.join(block), *(text[region.start : region.end] for region in inner)]
    tail = eol * 2 if trailing else eol
    return Change(start, stop, lead + (eol * 2).join(parts) + tail)


def _placed(structure: Structure) -> tuple[list[Region], list[Region], list[Region]]:
    """The protected regions before all other text of the body, amid it, and after it."""
    text, regions = structure.text, list(structure.regions)
    leading: list[Region] = []
    at = structure.body_start
    while regions and not text[at : regions[0].start].strip():
        leading.append(regions.pop(0))
        at = leading[-1].end
    trailing: list[Region] = []
    end = len(text)
    while regions and not text[regions[-1].end : end].strip():
        trailing.insert(0, regions.pop())
        end = trailing[0].start
    if not regions and not trailing and not text[at:].strip():  # nothing but regions: new text goes before them
        return [], [], leading
    return leading, regions, trailing
