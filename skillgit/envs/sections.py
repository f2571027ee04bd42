"""Headings and sections of a Markdown reply, as the checks see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skillgit.envs.normalize import fold

_LONGEST_HEADING = 300  # characters; a longer line is a paragraph
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
# What may begin a block that a line of dashes does not underline: a list, a quote, indented code.
_NO_PARAGRAPH = re.compile(r"\s*$|    |\t| {0,3}(?:[-+*>|]|\d{1,9}[.)])")
_RULE = re.compile(r"\s*(?:([-*_])\s*)(?:\1\s*){2,}$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(r"\[([^][]*)\]\([^()]*\)")
_COUNT = r"\d+(?:\.\d+)*"
_NUMBER = re.compile(
    rf"(?:(?:section|part|step|chapter) )?{_COUNT}(?:[.):]| ?[-–—:])? +|(?:[a-z]|[ivxlc]+)[.):] +|{_COUNT}[.)]"
)
_NOTE = re.compile(r" *[(\[][^()\[\]]*[)\]]$|(?: +[-–—]+ +|: +).*$")
_EDGE = re.compile(r"^(?:[^\w+#]|_)+|(?:[^\w+#]|_)+$")  # `C++` and `C#` keep their signs


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, subsections included."""

    heading: str
    body: str

    @property
    def has_text(self) -> bool:
        """Something is said that is no heading, comment or rule."""
        lines = _COMMENT.sub("", self.body).splitlines()
        heads = {line for at, _, _, underlined in _headings(lines) for line in (at, at + underlined)}
        said = [line for at, line in enumerate(lines) if at not in heads and line.strip()]
        return any(not _RULE.match(line) and not _FENCE.match(line) for line in said)


def heading_text(text: str) -> str:
    """A heading's words in the form in which they are compared: no markers, one case, no decoration at the ends."""
    bare = _LINK.sub(r"\1", text.strip().lstrip("#")).translate(str.maketrans("", "", "*`"))
    return _EDGE.sub("", fold(bare))


def find_sections(reply: str, heading: str) -> Iterator[Section]:
    """The sections whose heading says `heading`, whatever number or note it has: `## 2. Results (draft)`.

    Headings in fenced code are none, and a heading that only begins with the words (`Results and outlook`) is another.
    """
    wanted = heading_text(heading)
    lines = reply.splitlines()
    heads = _headings(lines)
    for place, (at, level, title, underlined) in enumerate(heads):
        if wanted in _readings(title):
            later = (heads[after] for after in range(place + 1, len(heads)))
            end = next((line for line, other, _, _ in later if other <= level), len(lines))
            yield Section(title, "\n".join(lines[at + 1 + underlined : end]))


def _readings(title: str) -> set[str]:
    """All that a heading may be called: with and without its number, with and without its note."""
    whole = fold(_LINK.sub(r"\1", title).translate(str.maketrans("", "", "*`"))).strip()
    plain = _EDGE.sub("", whole) if not _NUMBER.match(whole) else whole
    starts = {whole, plain, _NUMBER.sub("", whole, count=1), _NUMBER.sub("", plain, count=1)}
    return {_EDGE.sub("", text) for start in starts for text in (start, _NOTE.sub("", start))}


def _closing_hashes_off(title: str) -> str:
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _is_paragraph(lines: list[str], at: int, found: list[tuple[int, int, str, bool]]) -> bool:
    """Whether a line can be underlined: text, and no heading itself, nor the line that underlines one."""
    taken = found[-1][0] + found[-1][3] if found else -1
    return at > taken and not _NO_PARAGRAPH.match(lines[at])


def _headings(lines: list[str]) -> list[tuple[int, int, str, bool]]:
    """Line number (from 0), level, title and whether it is underlined, of every heading outside fences."""
    found: list[tuple[int, int, str, bool]] = []
    fence = ""
    for at, line in enumerate(lines):
        if fence:
            mark = line.strip()
            fence = "" if mark.startswith(fence) and not mark.strip(fence[0]) else fence
        elif opening := _FENCE.match(line):
            fence = opening[1]
        elif len(line) > _LONGEST_HEADING:
            continue
        elif atx := _ATX.match(line):
            found.append((at, len(atx[1]), _closing_hashes_off(line[atx.end() :].strip()), False))
        elif (under := _SETEXT.match(line)) and _is_paragraph(lines, at - 1, found):
            found.append((at - 1, 1 if under[1][0] == "=" else 2, lines[at - 1].strip(), True))
    return found
