"""What parts a document has: frontmatter, body, protected regions, fences, list items, comments.

Everything here is pure: text in, spans out. Offsets count characters of the text, spans are half open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skillgit.document import frontmatter as front
from skillgit.document.blocks import Blocks, Heading, find_headings, rescan, scan
from skillgit.document.lines import BOM, Lines, dominant_eol
from skillgit.errors import DocumentError

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""What git holds of a file in Git LFS begins with this."""

_MARKER = re.compile(r"<!--\s*+(SLOW_UPDATE|APPENDIX)_(START|END)\s*+-->")
_CODE_OR_COMMENT = re.compile(r"(`++).*?(?<!`)\1(?!`)|<!--")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Region:
    """A protected region, from the first character of its start marker to the last one of its end marker."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Change:
    """The span `start` to `end` of a document becomes `text`."""

    start: int
    end: int
    text: str


class Structure:
    """One document and its parts. The costly ones are found when they are first asked for.

    Attributes:
        text: the document.
        lines: its lines.
        eol: the end-of-line that most of its lines use; added text uses it.
        first_line: index of the first line after the frontmatter.
        problem: why no edit may touch the document (unbalanced markers, a frontmatter that never closes), or None.
        regions: the protected regions in order; empty where their markers are unbalanced.
    """

    def __init__(self, text: str, came_from: tuple[Structure, Change] | None = None) -> None:
        self.text = text
        self._came_from = came_from
        self.lines = Lines(text)
        self.eol = dominant_eol(text)
        found = front.find(self.lines)
        self.frontmatter = found
        self.first_line = 0 if found is None or found.close is None else found.close + 1
        self.regions, problem = self._find_regions()
        self.problem = found.problem if found is not None and found.problem else problem

    def changed(self, change: Change) -> Structure:
        """The structure after a change. What the change does not touch is not looked at again."""
        text = self.text[: change.start] + change.text + self.text[change.end :]
        return Structure(text, (self, change))

    @property
    def body_start(self) -> int:
        """Where the body begins: after the frontmatter's closing line, or after a byte order mark."""
        if self.first_line:
            return self.lines.next_start(self.first_line - 1)
        return 1 if self.text.startswith(BOM) else 0

    @property
    def frontmatter_text(self) -> str:
        """The frontmatter with its `---` lines, without the last end-of-line; empty where there is none."""
        return self.text[: self.lines.ends[self.first_line - 1]] if self.first_line else ""

    @cached_property
    def blocks(self) -> Blocks:
        """Fences, list items and comment blocks of the body."""
        if self._came_from is None:
            return scan(self.lines, self.first_line)
        (before, change), self._came_from = self._came_from, None
        if before.first_line != self.first_line:
            return scan(self.lines, self.first_line)
        above, below = before.lines.at(change.start), len(before.lines) - before.lines.at(change.end) - 1
        return rescan(before.blocks, self.lines, self.first_line, above, max(below, 0))

    @cached_property
    def protected(self) -> tuple[Span, ...]:
        """The spans that no edit may touch, in order: the frontmatter, and the regions with their markers."""
        head = self.lines.ends[self.first_line - 1] if self.first_line else self.body_start
        return ((0, head), *((region.start, region.end) for region in self.regions))

    @cached_property
    def comments(self) -> tuple[str, ...]:
        """The HTML comments of the body that a Markdown reader hides, in order; not those shown as code."""
        comments, position, line = [], self.text.find("<!--", self.body_start), -1
        openers: set[int] = set()
        while position >= 0:
            if self.lines.at(position) != line:
                line = self.lines.at(position)
                openers = self._comment_openers(line)
            end = self._comment_end(line, position) if position in openers else None
            if end is not None:
                comments.append(self.text[position:end])
            position = self.text.find("<!--", end if end is not None else position + 4)
        return tuple(comments)

    def _comment_openers(self, line: int) -> set[int]:
        """Where `<!--` stands on the line as text, not as code."""
        if self.blocks.is_code(line):
            return set()
        found = _CODE_OR_COMMENT.finditer(self.lines[line])
        return {self.lines.starts[line] + match.start() for match in found if match.group(1) is None}

    def _comment_end(self, line: int, start: int) -> int | None:
        """Where the comment that opens at `start` ends; None where it opens none."""
        close = self.text.find("-->", start + 2)
        last = self.lines.at(close) if close >= 0 else len(self.lines) - 1
        block = self.blocks.comments[line]
        for index in range(line + 1, last + 1):
            if not self._goes_on(index, block=block):
                return self.lines.ends[index - 1] if block else None
        if close >= 0:
            return close + 3
        return self.lines.ends[last] if block else None

    def _goes_on(self, line: int, *, block: bool) -> bool:
        """Whether a comment can run on into `line`: a block one as scanned, one in a paragraph up to a blank line."""
        if block:
            return self.blocks.comments[line]
        return not self.lines.is_blank(line) and not self.blocks.is_code(line)

    def _find_regions(self) -> tuple[tuple[Region, ...], str | None]:
        """The protected regions, and what is wrong with their markers."""
        regions: list[Region] = []
        opened: re.Match[str] | None = None
        for marker in _MARKER.finditer(self.text, self.body_start):
            if self._is_shown(marker.start()):
                continue
            kind, edge = marker.groups()
            where = f"{kind}_{edge} on line {self.lines.at(marker.start()) + 1}"
            if edge == "START":
                if opened is not None:
                    return (), f"the marker {where} stands inside the region {opened.group(1)}"
                opened = marker
            elif opened is None or opened.group(1) != kind:
                return (), f"the marker {where} has no start before it"
            else:
                regions.append(Region(kind, opened.start(), marker.end()))
                opened = None
        if opened is not None:
            line = self.lines.at(opened.start()) + 1
            return (), f"the marker {opened.group(1)}_START on line {line} has no end"
        return tuple(regions), None

    def _is_shown(self, offset: int) -> bool:
        """Whether a marker is only shown as an example in a code fence. In one that never closes it still counts."""
        fence = self.blocks.fence_at(self.lines.at(offset))
        return fence is not None and fence.closed


def frontmatter(text: str) -> dict[str, Any]:
    """The frontmatter as a mapping; empty where there is none.

    Raises:
        DocumentError: it never closes, is not valid YAML or no mapping; names the line.
    """
    return _frontmatter(Structure(text), "the document")


def _frontmatter(structure: Structure, path: str) -> dict[str, Any]:
    found = structure.frontmatter
    if found is None:
        return {}
    if found.close is None:
        mend = "close it with a line `---`, or put a blank line after a horizontal rule"
        raise DocumentError(f"{path}: {found.problem}", mend=mend)
    try:
        return front.load(structure.lines, found.close)
    except front.FrontmatterProblem as problem:
        raise DocumentError(f"{path}: {problem}", mend="mend the frontmatter") from None


def body(text: str) -> str:
    """The document without its frontmatter and byte order mark: what the target sees. No other byte changes."""
    return text[Structure(text).body_start :]


def headings(text: str) -> tuple[Heading, ...]:
    """The headings of the body, in order; lines in code fences and comments are none."""
    structure = Structure(text)
    return find_headings(structure.lines, structure.first_line)


def check_document(data: bytes, path: str) -> str:
    """Decode a document; end-of-line style and byte order mark are kept as they are.

    Args:
        data: the file's bytes.
        path: what the error calls the document, such as its path, or its path and commit.

    Raises:
        DocumentError: it is empty, not UTF-8, holds NUL bytes, or its frontmatter never closes or is no YAML mapping.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DocumentError(f"{path}: encoded as UTF-16, not as UTF-8", mend="save it as UTF-8")
    if data.startswith(LFS_POINTER):
        raise DocumentError(
            f"{path}: a Git LFS pointer", mend="keep the document out of LFS: edits need its text in git"
        )
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DocumentError(f"{path}: line {line}: a NUL byte, so this is no text", mend="remove it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        mend = "save it as UTF-8"
        raise DocumentError(f"{path}: line {line}: not UTF-8 (byte 0x{data[error.start]:02x})", mend=mend) from None
    if not text.removeprefix(BOM).strip():
        raise DocumentError(f"{path}: the document is empty", mend="write a first version of the skill")
    _frontmatter(Structure(text), path)
    return text
