"""Where added text goes, and the blank lines around it."""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.document.blocks import Blocks, indent_of, is_item, scan
from skillgit.document.lines import BOM, Lines
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Structure


def last_line_for_append(structure: Structure) -> int | None:
    """The line that appended text comes after: the last one with text before the protected regions at the end.

    None where no line with text, not even frontmatter, stands before.
    """
    boundary = len(structure.text)
    for region in reversed(structure.regions):
        if structure.text[region.end : boundary].strip():
            break
        boundary = region.start
    below = len(structure.lines) if boundary == len(structure.text) else structure.lines.at(boundary)
    return next((index for index in range(below - 1, -1, -1) if not structure.lines.is_blank(index)), None)


def last_line_for_insert(structure: Structure, line: int, block: Sequence[str]) -> int:
    """The line that text inserted after `line` comes after.

    Behind the code fence around it, and behind what belongs to the same list item, where text in between would tear
    the fence or take over the item's own lines.
    """
    fence = structure.blocks.fence_at(line)
    if fence is not None:
        if not fence.closed and fence.last == len(structure.lines) - 1:
            last = last_line_for_append(structure)
            return line if last is None else last
        line = fence.last
    last = _end_of_item(structure.blocks, line, block)
    return next(index for index in range(last, -1, -1) if not structure.lines.is_blank(index))


def _end_of_item(blocks: Blocks, line: int, block: Sequence[str]) -> int:
    """The last line of the outermost list item around `line` that a block of this indentation does not belong to."""
    indent, own = indent_of(block[0]), blocks.items[line]
    item, outermost = own, None
    while item is not None:
        outermost = item if item.indent >= indent else outermost
        item = item.parent
    if outermost is not None:
        return blocks.last_of(outermost, line)
    if own is not None and is_item(block[0]):
        return _end_of_paragraph(blocks, line)
    return line


def _end_of_paragraph(blocks: Blocks, line: int) -> int:
    """The last line of the item's text that runs on from `line` without a blank line, child or fence."""
    item = blocks.items[line]
    while line + 1 < len(blocks.items) and blocks.items[line + 1] is item and not blocks.is_code(line + 1):
        line += 1
    return line


def place_after(structure: Structure, line: int | None, block: Sequence[str]) -> Change:
    """Insert a block of lines after `line` (None: at the body's start), set off by one blank line on each side.

    A list item beside a list item stays tight. Blank lines that are there already serve; none is removed.

    Raises:
        Refusal: the place lies inside a protected region.
    """
    lines, eol = structure.lines, structure.eol
    first = structure.first_line if line is None else line + 1
    following = next((index for index in range(first, len(lines)) if not lines.is_blank(index)), None)
    blanks = (len(lines) if following is None else following) - first
    tight_before = line is not None and is_item(block[0]) and structure.blocks.items[line] is not None
    used = 1 if line is not None and not tight_before and blanks else 0
    offset = lines.starts[first + used] if first + used < len(lines) else len(structure.text)
    if any(region.start < offset < region.end for region in structure.regions):
        raise Refusal("protected", "the place after its target lies inside a protected region")
    tight_after = following is not None and is_item(lines[following]) and _ends_in_item(block)
    lead = "" if line is None or tight_before or used else eol
    trail = "" if following is None or blanks > used or tight_after else eol
    before = structure.text[:offset].removeprefix(BOM)
    if before and before[-1] not in "\r\n":
        lead = eol + lead
    text = lead + eol.join(block) + eol + trail
    return Change(offset, offset, _apart(before[-1:], text, structure.text[offset : offset + 1]))


def _apart(before: str, text: str, after: str) -> str:
    """The text, so that no lone CR at an edge makes a CRLF with a LF beside it (only where a document has both)."""
    if before == "\r" and text.startswith("\n"):
        text = "\r" + text
    return text + "\n" if after == "\n" and text.endswith("\r") else text


def _ends_in_item(block: Sequence[str]) -> bool:
    """Whether the last line of a block belongs to a list item."""
    if is_item(block[-1]):
        return True
    margin = min(indent_of(line) for line in block if line.strip(" \t"))
    blocks = scan(Lines("\n".join(line.expandtabs(4)[margin:] for line in block)))
    return bool(blocks.items) and blocks.items[-1] is not None


def reindent(block: Sequence[str], base: str, *, rest_is_absolute: bool) -> list[str]:
    """A block that was written without the indentation `base` of the place it goes to, with it.

    Models often lose the first line's indentation only, or that of all lines. Where the first line has it, or all
    the others have, those are left as they are.
    """
    if not base or block[0].startswith(base):
        return list(block)
    rest = list(block[1:])
    if not rest_is_absolute and not all(line.startswith(base) for line in rest if line.strip(" \t")):
        rest = [base + line if line.strip(" \t") else line for line in rest]
    return [base + block[0], *rest]
