"""The block structure of Markdown, as far as edits need it: code fences, list items, comment blocks, headings.

One pass over the lines with the container rules of CommonMark 0.31 (sections 4.5 fenced code, 4.6 HTML blocks,
5.1 block quotes, 5.2 list items): a fence inside a list item or a quote is found, and ends with its container.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from skillgit.document.lines import Lines

_QUOTE = re.compile(r" {0,3}> ?")
_FENCE = re.compile(r" {0,3}(?:(`{3,}+)(?!.*`)|(~{3,}+))")
_HEADING = re.compile(r" {0,3}(#{1,6}+)(?=[ \t]|$)")
_HEADING_END = re.compile(r"(?:^|(?<=[ \t]))#++$")
_UNDERLINE = re.compile(r" {0,3}(=++|-++)[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_MARKER = re.compile(r" {0,3}(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)")
# A line at the margin that begins a block whatever stands above: a heading, or a bullet with text.
_FRESH = re.compile(r"#{1,6}(?:[ \t]|$)|[-+*] [^\W_]")
_BEGINS = re.compile(r" {0,3}[>`~<#=*_+0-9-]")
# Deeper nesting is no structure that anybody reads; cmark has such a limit too.
_DEEPEST = 100
_ANY_MARKER = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")


class Role(IntEnum):
    """What a line is for the code fence around it."""

    OUTSIDE = 0
    OPENS = 1
    INSIDE = 2
    CLOSES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One list item: the column of its marker, and the item that it lies in."""

    indent: int
    parent: Item | None

    def within(self, item: Item) -> bool:
        """Whether this is `item` or lies in it."""
        here: Item | None = self
        while here is not None and here is not item:
            here = here.parent
        return here is item


@dataclass(frozen=True, slots=True)
class Fence:
    """One code fence by its lines, both inclusive; `closed` is False where its closing line is missing."""

    first: int
    last: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading: the line it stands on (its text, for an underlined one), its level 1-6, its text."""

    line: int
    level: int
    title: str


@dataclass(slots=True)
class Blocks:
    """What a scan found, with one entry for each line of the text in each list.

    Nothing in it is an absolute line number, so that the part below a change can be taken over.

    Args:
        roles: what the line is for a code fence.
        items: the innermost list item that the line belongs to; None for blank lines outside of fences.
        comments: whether the line is part of an HTML comment that stands as a block.
        fresh: whether nothing above the line matters for it and for what follows.
    """

    roles: list[Role]
    items: list[Item | None]
    comments: list[bool]
    fresh: list[bool]

    @classmethod
    def outside(cls, count: int) -> Blocks:
        """Blocks of `count` lines that are outside of everything."""
        return cls([Role.OUTSIDE] * count, [None] * count, [False] * count, [False] * count)

    def cut(self, start: int, stop: int) -> Blocks:
        """The part for the lines `start` to `stop`."""
        part = slice(start, stop)
        return Blocks(self.roles[part], self.items[part], self.comments[part], self.fresh[part])

    def __add__(self, below: Blocks) -> Blocks:
        return Blocks(
            self.roles + below.roles,
            self.items + below.items,
            self.comments + below.comments,
            self.fresh + below.fresh,
        )

    def is_code(self, line: int) -> bool:
        """Whether the line belongs to a code fence."""
        return self.roles[line] is not Role.OUTSIDE

    def fence_at(self, line: int) -> Fence | None:
        """The code fence that the line belongs to."""
        if not self.is_code(line):
            return None
        first = last = line
        while self.roles[first] is not Role.OPENS:
            first -= 1
        while self.roles[last] is not Role.CLOSES:
            if last + 1 == len(self.roles) or self.roles[last + 1] not in (Role.INSIDE, Role.CLOSES):
                return Fence(first, last, closed=False)
            last += 1
        return Fence(first, last, closed=True)

    def last_of(self, item: Item, line: int) -> int:
        """The last line of an item that `line` belongs to, blank lines after it left out."""
        last = line
        for index in range(line + 1, len(self.items)):
            here = self.items[index]
            if here is not None and here.within(item):
                last = index
            elif here is not None or self.fresh[index] or self.is_code(index):
                break
        return last


def is_item(line: str) -> bool:
    """Whether a line begins a list item, at any indentation. A horizontal rule does not."""
    return bool(_ANY_MARKER.match(line)) and not _RULE.match(line.lstrip(" \t"))


def indent_of(line: str) -> int:
    """The columns of white space that a line begins with; a tab goes to the next multiple of four."""
    spread = line.expandtabs(4)
    return len(spread) - len(spread.lstrip(" "))


def scan(lines: Lines, first: int = 0) -> Blocks:
    """Find the blocks of a text from line `first` on; the lines before it are taken as outside of everything."""
    return _scanned(lines, first).blocks


def find_headings(lines: Lines, first: int = 0) -> tuple[Heading, ...]:
    """The headings of a text from line `first` on; lines in code fences and comments are none."""
    return tuple(_scanned(lines, first).headings)


def _scanned(lines: Lines, first: int) -> _Scanner:
    scanner = _Scanner(lines)
    for index in range(first, len(lines)):
        scanner.feed(index, lines[index])
    return scanner


def rescan(old: Blocks, lines: Lines, first: int, same_above: int, same_below: int) -> Blocks:
    """The blocks of a changed text: what `scan(lines, first)` finds, in the time that the change takes.

    Args:
        old: the blocks before the change.
        lines: the lines after it.
        first: the first line to look at; the same before and after.
        same_above: how many lines above the change are as before.
        same_below: how many lines below it are.
    """
    start = next((index for index in range(same_above - 1, first, -1) if old.fresh[index]), first)
    moved = len(lines) - len(old.roles)
    scanner = _Scanner(lines)
    for index in range(start, len(lines)):
        if index >= len(lines) - same_below and old.fresh[index - moved] and scanner.is_fresh(index, lines[index]):
            below = old.cut(index - moved, len(old.roles))
            return old.cut(0, start) + scanner.blocks.cut(start, index) + below
        scanner.feed(index, lines[index])
    return old.cut(0, start) + scanner.blocks.cut(start, len(lines))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@dataclass(slots=True)
class _Container:
    """A block quote (`width` 0) or a list item, whose lines are indented by `width` columns."""

    width: int
    item: Item | None = None
    empty: bool = False


class _Scanner:
    """The state between two lines."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.blocks = Blocks.outside(len(lines))
        self.headings: list[Heading] = []
        self.containers: list[_Container] = []
        self.paragraph: int | None = None
        self.fence: tuple[str, int, int] | None = None
        self.comment_depth: int | None = None
        self.below_blank = True

    def is_fresh(self, index: int, line: str) -> bool:
        """Whether nothing above the line matters: it ends every container, and begins a block of its own."""
        if self.fence is not None or self.comment_depth is not None or not line or line[0] in " \t":
            return False
        return self.below_blank or _FRESH.match(line) is not None

    def feed(self, index: int, line: str) -> None:
        """Take the next line."""
        fresh = self.blocks.fresh[index] = self.is_fresh(index, line)
        if line[:1].isalpha() and (fresh or (not self.containers and self.fence is None and not self._in_comment)):
            self.paragraph = index if fresh or self.paragraph is None else self.paragraph
            self.containers = []
            self.below_blank = False
            return
        if "\t" in line:
            line = line.expandtabs(4)
        matched, rest = self._continue(line)
        blank = not rest.strip(" ")
        if not self._in_leaf(index, matched, rest):
            self._open(index, line, matched, rest)
        if not blank or self.blocks.is_code(index):
            inner = (container.item for container in reversed(self.containers) if container.item is not None)
            self.blocks.items[index] = next(inner, None)
        self.below_blank = not line.strip(" ")

    @property
    def _in_comment(self) -> bool:
        return self.comment_depth is not None

    def _continue(self, line: str) -> tuple[int, str]:
        """How many open containers the line goes on with, and what is left of it after their prefixes."""
        rest = line
        for depth, container in enumerate(self.containers):
            if container.item is None:
                quote = _QUOTE.match(rest)
                if quote is None:
                    return depth, rest
                rest = rest[quote.end() :]
            elif not rest.strip(" "):
                if container.empty:
                    return depth, rest
            elif _indent(rest) >= container.width:
                rest = rest[container.width :]
                container.empty = False
            else:
                return depth, rest
        return len(self.containers), rest

    def _in_leaf(self, index: int, matched: int, rest: str) -> bool:
        """Whether the line lies in an open fence or comment block; ends those whose container has ended."""
        if self.fence is not None:
            char, length, depth = self.fence
            if matched < depth:
                self.fence = None
                return False
            closing = rest.strip(" ")
            closes = _indent(rest) < 4 and len(closing) >= length and closing == char * len(closing)
            self.blocks.roles[index] = Role.CLOSES if closes else Role.INSIDE
            if closes:
                self.fence = None
            return True
        if self.comment_depth is not None:
            if matched < self.comment_depth:
                self.comment_depth = None
                return False
            self.blocks.comments[index] = True
            if "-->" in rest:
                self.comment_depth = None
            return True
        return False

    def _open(self, index: int, line: str, matched: int, rest: str) -> None:
        """Open the containers and the leaf that begin on this line."""
        all_matched = matched == len(self.containers)
        opened: list[_Container] = []
        while matched + len(opened) < _DEEPEST and _BEGINS.match(rest):
            quote = _QUOTE.match(rest)
            interrupts = self.paragraph is not None and all_matched and not opened
            if quote is not None:
                opened.append(_Container(0))
                rest = rest[quote.end() :]
                continue
            if self._leaf(index, rest, matched + len(opened), interrupts=interrupts):
                self.containers = [*self.containers[:matched], *opened]
                self.paragraph = None
                return
            marker = _MARKER.match(rest)
            if marker is None or (interrupts and not _may_interrupt(marker, rest)):
                break
            column = len(line) - len(rest.lstrip(" "))
            container, rest = _item(column, marker, rest, [*self.containers[:matched], *opened])
            opened.append(container)
        blank = not rest.strip(" ")
        if not all_matched and not opened and not blank and self.paragraph is not None:
            return  # a lazy continuation: the paragraph of the open containers goes on
        self.containers = [*self.containers[:matched], *opened]
        goes_on = self.paragraph is not None and all_matched and not opened
        if blank:
            self.paragraph = None
        elif not goes_on:
            self.paragraph = index if _indent(rest) < 4 else None

    def _leaf(self, index: int, rest: str, depth: int, *, interrupts: bool) -> bool:
        """Open a fence, a comment block, a heading or a rule, where one begins here."""
        fence = _FENCE.match(rest)
        if fence is not None:
            run = fence.group(1) or fence.group(2)
            self.fence = (run[0], len(run), depth)
            self.blocks.roles[index] = Role.OPENS
            return True
        stripped = rest.lstrip(" ")
        if stripped.startswith("<!--"):
            self.blocks.comments[index] = True
            self.comment_depth = None if "-->" in stripped else depth
            return True
        heading = _HEADING.match(rest)
        if heading is not None:
            title = _HEADING_END.sub("", rest[heading.end() :].strip()).strip()
            self.headings.append(Heading(index, len(heading.group(1)), title))
            return True
        underline = _UNDERLINE.match(rest)
        if interrupts and underline is not None and self.paragraph is not None:
            title = " ".join(self.lines[above].strip() for above in range(self.paragraph, index))
            self.headings.append(Heading(self.paragraph, 1 if underline.group(1)[0] == "=" else 2, title))
            return True
        return _RULE.match(rest) is not None


def _item(column: int, marker: re.Match[str], rest: str, parents: list[_Container]) -> tuple[_Container, str]:
    """A list item that begins at `column`, and what is left of its line after the marker."""
    after = rest[marker.end() :]
    spaces = _indent(after)
    empty = not after.strip(" ")
    padding = 1 if empty or spaces > 4 else spaces
    parent = next((container.item for container in reversed(parents) if container.item is not None), None)
    return _Container(marker.end() + padding, Item(column, parent), empty), after[padding:]


def _may_interrupt(marker: re.Match[str], rest: str) -> bool:
    """Whether a list may begin here in the middle of a paragraph (CommonMark 5.2)."""
    return bool(rest[marker.end() :].strip(" ")) and marker.group(1) in (None, "1")
