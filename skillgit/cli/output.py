"""How commands print: facts on stdout, notes on stderr, colour only where a person sees it."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TextIO

from skillgit.models.base import Json

_ANSI = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}


def is_terminal(stream: TextIO | None = None) -> bool:
    """True where a person looks at `stream` (stderr unless given)."""
    stream = sys.stderr if stream is None else stream
    return not stream.closed and stream.isatty()


def colour(text: str, style: str, stream: TextIO | None = None) -> str:
    """`text` in a style (red, green, yellow, cyan, bold, dim) on a terminal, plain elsewhere.

    NO_COLOR (https://no-color.org: set and not empty) and a dumb terminal are honoured.
    """
    if not is_terminal(stream) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_ANSI[style]}m{text}\x1b[0m"


def one_line(text: str) -> str:
    """`text` on one line, without characters that would move the cursor or change colours."""
    flat = " ".join(text.split())
    return flat if flat.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in flat)


def joined(text: str) -> str:
    """Paragraphs on one line, told apart: by a semicolon where the one before does not end a sentence."""
    found = ""
    for part in re.split(r"\n\s*\n", text.strip()):
        link = "" if not found else " " if found[-1] in ".!?:;,…" else "; "
        found += link + one_line(part)
    return found


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def many_lines(text: str) -> str:
    """`text` with its line ends and tabs, without characters that would move the cursor or change colours."""
    return "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)


def say(text: str) -> None:
    """A note for the person, on stderr, so that stdout stays what other programs read."""
    print(text, file=sys.stderr, flush=True)


def print_json(value: Json) -> None:
    """One JSON document on stdout; keys stay in the order in which they were put in.

    Characters that would move the cursor or turn the text around are escaped, which means the same.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(text)
