"""Private keys in their text forms, whole or with a part cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_EDGE = re.compile(r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BREAK = re.compile(r"\\+r\\+n|\\+[nr]|\r?\n|\r")
# What a quotation, a diff or source code puts around a line.
_AROUND = " \t>|+-\"'`,\\"
_BODY = re.compile(r"[A-Za-z0-9+/=]+")
_HEADER = re.compile(r"[A-Za-z][A-Za-z-]{1,20}: \S.*")
_CUT_HEAD = 8000  # characters before an END without its BEGIN that may belong to the key
_PUTTY = re.compile(r"Private-Lines: \d{1,4}((?:\s{1,8}[A-Za-z0-9+/=]{8,}){1,200})")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """The characters `start` to `end` of a text are a secret, or personal data, of this kind."""

    start: int
    end: int
    kind: str


def find_private_keys(text: str) -> Iterator[Finding]:
    """PEM, OpenSSH, PGP and PuTTY keys. Where an end is cut off, what looks like a key's lines belongs to it."""
    edges = list(_EDGE.finditer(text))
    for place, edge in enumerate(edges):
        following = edges[place + 1] if place + 1 < len(edges) else None
        if edge[1] == "BEGIN":
            if following and following[1] == "END":
                yield Finding(edge.start(), following.end(), "private-key")
            elif (end := _end_of_body(text, edge.end(), following.start() if following else len(text))) > edge.end():
                yield Finding(edge.start(), end, "private-key")
        elif place == 0 or edges[place - 1][1] == "END":
            floor = edges[place - 1].end() if place else 0
            if (start := _start_of_body(text, floor, edge.start())) < edge.start():
                yield Finding(start, edge.end(), "private-key")
    for match in _PUTTY.finditer(text):
        yield Finding(match.start(1), match.end(1), "private-key")


def _end_of_body(text: str, at: int, ceiling: int) -> int:
    end = at
    while at < ceiling:
        stop = _BREAK.search(text, at, ceiling)
        line = text[at : stop.start() if stop else ceiling]
        if not _belongs(line):
            break
        if line.strip(_AROUND):
            end = at + len(line)
        if stop is None:
            break
        at = stop.end()
    return end


def _start_of_body(text: str, floor: int, end: int) -> int:
    floor = max(floor, end - _CUT_HEAD)
    starts = [floor, *(floor + stop.end() for stop in _BREAK.finditer(text[floor:end]))]
    start = end
    for at, stop in zip(reversed(starts), [end, *reversed(starts[1:])], strict=True):
        line = _BREAK.sub("", text[at:stop])
        if not _belongs(line):
            break
        start = at if line.strip(_AROUND) else start
    return start


def _belongs(line: str) -> bool:
    bare = line.strip(_AROUND)
    words = bare.split()
    if all(_BODY.fullmatch(word) for word in words):
        return len(words) < 2 or max(map(len, words)) >= 32  # line breaks turned into spaces
    return _HEADER.fullmatch(bare) is not None
