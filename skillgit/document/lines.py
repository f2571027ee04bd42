"""A text as lines: where each begins and ends, and which end-of-line it uses.

A line ends with CRLF, LF or a lone CR, as in CommonMark; nothing else ends a line (`str.splitlines` cuts at
form feeds and Unicode separators too, which would move bytes that nobody edited).
"""

from __future__ import annotations

import re
from bisect import bisect_right

EOL = re.compile(r"\r\n|\n|\r")
BOM = "\ufeff"


class Lines:
    """The lines of one text. Offsets count characters of `text`.

    A byte order mark at the very start belongs to no line, so the first line begins after it.

    Attributes:
        starts: where each line begins.
        ends: where each line's own text ends, before its end-of-line.
    """

    __slots__ = ("ends", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        first = 1 if text.startswith(BOM) else 0
        breaks = [match.span() for match in EOL.finditer(text, first)]
        self.starts = [first, *[stop for _, stop in breaks]]
        self.ends = [start for start, _ in breaks]
        if self.starts[-1] < len(text):
            self.ends.append(len(text))
        else:
            self.starts.pop()

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> str:
        """The line's own text, without its end-of-line."""
        return self.text[self.starts[index] : self.ends[index]]

    def next_start(self, index: int) -> int:
        """Where the line after `index` begins; the end of the text after the last one."""
        return self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)

    def at(self, offset: int) -> int:
        """The index of the line that holds `offset`; its end-of-line belongs to it."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def is_blank(self, index: int) -> bool:
        """Whether the line has nothing but spaces and tabs."""
        return not self[index].strip(" \t")


def dominant_eol(text: str) -> str:
    """The end-of-line that most lines use; LF where there is none or a tie."""
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda eol: counts[eol])


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends; a final end-of-line opens no further line."""
    return EOL.split(text[:-2] if text.endswith("\r\n") else text[:-1] if text.endswith(("\n", "\r")) else text)


def block_lines(text: str) -> list[str]:
    """The lines of a text without the blank ones around it; empty where all are blank."""
    lines = EOL.split(text)
    filled = [index for index, line in enumerate(lines) if line.strip(" \t")]
    return lines[filled[0] : filled[-1] + 1] if filled else []
