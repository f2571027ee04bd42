"""Finding an edit's target in a document.

Both are compared in NFC, with every end-of-line as one and without trailing spaces. Where the target stands as whole
lines, those are meant and parts of longer lines are not looked at; else it may stand at word boundaries.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from skillgit.document.lines import EOL, Lines, block_lines
from skillgit.document.structure import Structure
from skillgit.document.words import splits_word

_ENOUGH = 5
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Match:
    """One place where a target stands.

    Args:
        start, end: its span in the document.
        whole: nothing but white space stands beside it on its first and its last line.
    """

    start: int
    end: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Where a target stands: the first few places in text that may be edited, and in text that may not."""

    editable: tuple[Match, ...]
    protected: tuple[Match, ...]


def normal_line(line: str) -> str:
    """A line as it is compared."""
    return unicodedata.normalize("NFC", line.rstrip(" \t"))


def find_target(structure: Structure, target: str) -> Found:
    """The places of a target that is not blank. Blank lines around a target only say that it is whole lines."""
    normal = _Normal(structure.lines)
    whole = _find(structure, normal, target, whole=True)
    return whole if whole.editable else _find(structure, normal, target, whole=False)


def _find(structure: Structure, normal: _Normal, target: str, *, whole: bool) -> Found:
    """The places where a target stands as whole lines, or those where it stands at all."""
    needle = "\n".join(normal_line(line) for line in block_lines(target))
    edges = EOL.split(target)
    at_start, at_end = not edges[0].strip(" \t"), not edges[-1].strip(" \t")
    spaces = target[len(target.rstrip(" \t")) :]
    editable: list[Match] = []
    protected: list[Match] = []
    for start in _occurrences(normal.text, needle, at_end=whole or at_end):
        stop = start + len(needle)
        begins = normal.begins_line(start)
        if (not begins and (whole or at_start)) or normal.is_indented_deeper(start):
            continue
        match = normal.match(start, stop, spaces, whole=begins and normal.text.startswith("\n", stop))
        (protected if _is_protected(structure, match) else editable).append(match)
        if len(editable) == _ENOUGH:
            break
    return Found(tuple(editable), tuple(protected))


def _occurrences(text: str, needle: str, *, at_end: bool) -> Iterator[int]:
    """Where the needle stands in the text without cutting a word; places may overlap."""
    sought = needle + "\n" if at_end else needle
    start = text.find(sought)
    while start >= 0:
        if not splits_word(text, start) and not splits_word(text, start + len(needle)):
            yield start
        start = text.find(sought, start + 1)


def _is_protected(structure: Structure, match: Match) -> bool:
    return any(match.start < end and start < match.end for start, end in structure.protected)


class _Normal:
    """The text of a document as it is compared, and the way back to the document's own offsets."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.composed = unicodedata.is_normalized("NFC", lines.text)
        raw = [lines.text[start:end].rstrip(" \t") for start, end in zip(lines.starts, lines.ends, strict=True)]
        texts = raw if self.composed else [normal_line(line) for line in raw]
        self.starts = list(accumulate((len(text) + 1 for text in texts), initial=0))[:-1]
        self.text = "\n".join([*texts, ""])

    def _line(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def begins_line(self, offset: int) -> bool:
        """Whether only white space stands before `offset` on its line."""
        indent = _INDENT.match(self.text, self.starts[self._line(offset)])
        return indent is not None and indent.end() >= offset

    def is_indented_deeper(self, offset: int) -> bool:
        """Whether what begins here with white space is the end of a longer indentation."""
        indented = self.text[offset] in " \t" and offset != self.starts[self._line(offset)]
        return indented and self.begins_line(offset)

    def match(self, start: int, stop: int, spaces: str, *, whole: bool) -> Match:
        """The place in the document; trailing spaces that the target has too belong to it."""
        first, last = self._raw(start), self._raw(stop)
        text = self.lines.text
        for space in spaces:
            if not text.startswith(space, last):
                break
            last += 1
        return Match(first, last, whole)

    def _raw(self, offset: int) -> int:
        """The document's offset for one of the compared text."""
        line = self._line(offset)
        column, start = offset - self.starts[line], self.lines.starts[line]
        return start + (column if self.composed else _spread(self.lines[line], column))


def _spread(raw: str, column: int) -> int:
    """The column of `raw` at which its composed form has `column` characters."""
    done, start = 0, 0
    while done < column and start < len(raw):
        stop = start + 1
        piece = unicodedata.normalize("NFC", raw[start:stop])
        while stop < len(raw):
            longer = unicodedata.normalize("NFC", raw[start : stop + 1])
            apart = longer == piece + unicodedata.normalize("NFC", raw[stop])
            if apart and not unicodedata.combining(raw[stop]):
                break
            piece, stop = longer, stop + 1
        done, start = done + len(piece), stop
    return start
