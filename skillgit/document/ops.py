"""What each op does to a document: one function per op, from target and content to a change.

Each raises `Refusal` where the edit does not apply.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from skillgit.document.blocks import is_item, scan
from skillgit.document.lines import EOL, Lines, block_lines
from skillgit.document.matching import Match, find_target, normal_line
from skillgit.document.placing import (
    last_line_for_append,
    last_line_for_insert,
    place_after,
    reindent,
)
from skillgit.document.refusal import Refusal, quoted
from skillgit.document.structure import Change, Structure


def append(structure: Structure, content: str) -> Change:
    """Add a block at the end, before the protected regions that stand there."""
    block = block_lines(content)
    if _says(structure, block):
        raise Refusal("no_change", "the document already says this line for line")
    return place_after(structure, last_line_for_append(structure), block)


def insert_after(structure: Structure, target: str, content: str) -> Change:
    """Add a block after the lines that hold the target."""
    match = _locate(structure, target)
    line = structure.lines.at(match.end - 1)
    block = block_lines(content)
    if is_item(block[0]) and is_item(structure.lines[line]):
        block = reindent(block, _indent_before(structure, match), rest_is_absolute=False)
    place = last_line_for_insert(structure, line, block)
    if _follows(structure, line, block) or _follows(structure, place, block):
        raise Refusal("no_change", "this already follows the target")
    return place_after(structure, place, block)


def replace(structure: Structure, target: str, content: str) -> Change:
    """Put the content in the target's place."""
    match = _locate(structure, target)
    block, old = block_lines(content), block_lines(target)
    if [normal_line(line) for line in block] == [normal_line(line) for line in old]:
        raise Refusal("no_change", "the replacement is the same as its target")
    base = _indent_before(structure, match)
    text = structure.eol.join(reindent(block, base, rest_is_absolute=len(old) > 1))
    return Change(match.start - len(base), match.end, text)


def delete(structure: Structure, target: str) -> Change:
    """Take the target away; whole lines go with their newline, and with blank lines that the target has around it."""
    match = _locate(structure, target)
    if not match.whole:
        return Change(match.start, match.end, "")
    lines = structure.lines
    first, last = lines.at(match.start), lines.at(match.end - 1)
    before, after = _blank_lines_around(target)
    while before and first > structure.first_line and lines.is_blank(first - 1):
        first, before = first - 1, before - 1
    while after and last + 1 < len(lines) and lines.is_blank(last + 1):
        last, after = last + 1, after - 1
    return Change(lines.starts[first], lines.next_start(last), "")


def _locate(structure: Structure, target: str) -> Match:
    """The one place that the target means."""
    found = find_target(structure, target)
    if len(found.editable) == 1:
        return found.editable[0]
    if found.editable:
        lines = dict.fromkeys(structure.lines.at(match.start) + 1 for match in found.editable)
        places = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
        reason = f"its target {quoted(target)} fits more than one place ({places}): quote more"
        raise Refusal("ambiguous", reason)
    if found.protected:
        line = structure.lines.at(found.protected[0].start) + 1
        part = "the frontmatter" if line <= structure.first_line else "a protected region"
        raise Refusal("protected", f"its target {quoted(target)} touches {part} (line {line})")
    raise Refusal("unmatched", f"its target {quoted(target)} is not in the document")


def _indent_before(structure: Structure, match: Match) -> str:
    """The white space before a match that begins its line; empty where the target has it itself."""
    start = structure.lines.starts[structure.lines.at(match.start)]
    before = structure.text[start : match.start]
    return before if not before.strip(" \t") else ""


def _blank_lines_around(target: str) -> tuple[int, int]:
    """How many blank lines the target has before and after its text."""
    lines = EOL.split(target)
    filled = [index for index, line in enumerate(lines) if line.strip(" \t")]
    return max(0, filled[0] - 1), max(0, len(lines) - filled[-1] - 2)


def _says(structure: Structure, block: Sequence[str]) -> bool:
    """Whether the editable text has the block's lines in a row, blank lines aside, as code where they are code."""
    blocks = scan(Lines("\n".join(block)))
    wanted = [(normal_line(line), blocks.is_code(i)) for i, line in enumerate(block) if line.strip(" \t")]
    text = structure.text
    if wanted[0][0] not in text and unicodedata.is_normalized("NFC", text):
        return False
    said = list(_editable_lines(structure))
    return any(said[index : index + len(wanted)] == wanted for index, line in enumerate(said) if line == wanted[0])


def _editable_lines(structure: Structure) -> Iterator[tuple[str, bool] | None]:
    """Each line with text, as it is compared, and whether it is code; None in place of protected lines."""
    lines = structure.lines
    protected = _protected_lines(structure)
    for index in range(structure.first_line, len(lines)):
        if index in protected:
            yield None
        elif not lines.is_blank(index):
            yield normal_line(lines[index]), structure.blocks.is_code(index)


def _protected_lines(structure: Structure) -> frozenset[int]:
    lines = structure.lines
    ranges = (range(lines.at(region.start), lines.at(region.end - 1) + 1) for region in structure.regions)
    return frozenset(index for span in ranges for index in span)


def _follows(structure: Structure, line: int, block: Sequence[str]) -> bool:
    """Whether the editable lines below `line` are the block's, blank lines aside."""
    wanted = [normal_line(text) for text in block if text.strip(" \t")]
    protected = _protected_lines(structure)
    for index in range(line + 1, len(structure.lines)):
        if index in protected:
            return False
        if not structure.lines.is_blank(index) and normal_line(structure.lines[index]) != wanted.pop(0):
            return False
        if not wanted:
            return True
    return False
