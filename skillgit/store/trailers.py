"""Commit messages and their trailers: written so that no text can break the block, read as git reads them.

Pure. The rules for reading are those of git's `trailer.c` with `--no-divider` (what `git log --format=%(trailers)`
and `git interpret-trailers --no-divider --parse` do); the tests compare with both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

SUBJECT_COLUMNS = 72

_NAME_COLUMNS = 40
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
# Git cuts a message at such a line, whatever comment character stands before it.
_SCISSORS = "------------------------ >8 ------------------------"
_HARMLESS_SCISSORS = _SCISSORS.replace(">8", "> 8")
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_LINE_ENDS = re.compile("\r\n|\r|\u2028|\u2029|\u0085|\v|\f")
_JOINER = "\u200d"
_GIT_SPACE = " \t\n\r"
_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")


def format_message(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """A whole commit or tag message: subject, body, and the trailers as a paragraph of their own at the end.

    Args:
        subject: becomes one line; "(no subject)" where nothing is left of it.
        body: any text; control characters (but tabs and line ends) and bidirectional overrides are dropped.
        trailers: at least one, so that no line of the body can ever end up in the block; values become one line.

    Raises:
        ValueError: no trailers, or a key that git would not read as one.
    """
    if not trailers:
        raise ValueError("a message needs at least one trailer")
    block = "".join(f"{_checked_key(key)}: {one_line(value)}".rstrip() + "\n" for key, value in trailers)
    text = _cleaned_body(body)
    middle = f"{text}\n\n" if text else ""
    return f"{one_line(subject) or '(no subject)'}\n\n{middle}{block}"


def subject_line(name: str, what: str) -> str:
    """`skill(<name>): <what>`, one line of at most 72 columns, without control characters."""
    prefix = f"skill({_cut(name, _NAME_COLUMNS)}): "
    return _cut(prefix + one_line(what), SUBJECT_COLUMNS).rstrip()


def one_line(text: str) -> str:
    """The text as one line: control characters become spaces, runs of white space become one."""
    plain = "".join(" " if _unseen(char) else char for char in text.translate(_BIDI))
    return " ".join(_visible(plain).split()).replace(_SCISSORS, _HARMLESS_SCISSORS)


def parse_trailers(message: str) -> list[tuple[str, str]]:
    """The trailers of a message, in order, values unfolded: what `git interpret-trailers --parse` gives."""
    lines = _without_trailing_noise(message.split("\n"))
    start = _block_start(lines)
    found: list[tuple[str, str]] = []
    open_trailer = False
    for line in lines[start:]:
        if line[:1] in (" ", "\t", "\r") and line:
            if open_trailer:
                key, value = found[-1]
                found[-1] = (key, f"{value} {line.lstrip(_GIT_SPACE)}")
            continue
        at = _separator(line)
        open_trailer = at >= 1
        if open_trailer:
            found.append((line[:at].strip(_GIT_SPACE), line[at + 1 :]))
    return [(key, value.strip(_GIT_SPACE)) for key, value in found]


def _checked_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is no trailer key: letters, digits and hyphens")
    return key


def _unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp", "Zs")


def _visible(text: str) -> str:
    """Without lone surrogates, which no encoding of a commit can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _cleaned_body(body: str) -> str:
    text = _LINE_ENDS.sub("\n", _visible(body).translate(_BIDI))
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")
    text = text.replace(_SCISSORS, _HARMLESS_SCISSORS)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _cut(text: str, columns: int) -> str:
    """At most so many columns, with an ellipsis where something was cut, never inside a joined character."""
    if sum(map(_columns, text)) <= columns:
        return text
    width = end = 0
    while width + _columns(text[end]) < columns:
        width += _columns(text[end])
        end += 1
    while end and (not _columns(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return text[:end].rstrip() + "…"


def _without_trailing_noise(lines: list[str]) -> list[str]:
    """The lines that git looks at: up to scissors, without comments, blank lines and a conflict list at the end."""
    for index, line in enumerate(lines[:-1]):
        if line == f"# {_SCISSORS}":
            lines = [*lines[:index], ""]
            break
    kept = len(lines)
    noise = -1
    in_conflicts = False
    for index, line in enumerate(lines):
        if line == "" or line.startswith("#"):
            noise = index if noise < 0 else noise
        elif line == "Conflicts:" and index < kept - 1:
            in_conflicts = True
            noise = index if noise < 0 else noise
        elif not (in_conflicts and line.startswith("\t")) and noise >= 0:
            noise, in_conflicts = -1, False
    return lines[: noise if noise >= 0 else kept]


def _separator(line: str) -> int:
    """Where the colon stands in a line that can be a trailer; -1 otherwise."""
    match = re.match(r"[A-Za-z0-9-]*[ \t]*:", line)
    return match.end() - 1 if match and line[:1] not in " \t" else -1


def _block_start(lines: list[str]) -> int:
    """The first line of the trailer block; `len(lines)` where there is none."""
    title_end = next((i for i, line in enumerate(lines) if not line.startswith("#") and _blank(line)), len(lines))
    trailers = others = continued = 0
    generated = False
    seen_text = False
    for index in range(len(lines) - 1, title_end - 1, -1):
        line = lines[index]
        if line.startswith("#"):
            others, continued = others + continued, 0
        elif _blank(line):
            if not seen_text:
                continue
            others += continued
            fits = (generated and trailers * 3 >= others) or (trailers and not others)
            return index + 1 if fits else len(lines)
        else:
            seen_text = True
            trailers, others, continued, generated = _count(line, trailers, others, continued, generated)
    return len(lines)


def _count(line: str, trailers: int, others: int, continued: int, generated: bool) -> tuple[int, int, int, bool]:
    """One line of the last paragraph, read from its end: what it adds to the counts."""
    if line.startswith(_GENERATED):
        return trailers + 1, others, 0, True
    if _separator(line) >= 1:
        return trailers + 1, others, 0, generated
    if line[0] in _GIT_SPACE:
        return trailers, others, continued + 1, generated
    return trailers, others + 1 + continued, 0, generated


def _blank(line: str) -> bool:
    return not line.strip(_GIT_SPACE)


def trailer_values(message: str, key: str) -> Iterator[str]:
    """The values of one key, compared without case as git does."""
    return (value for name, value in parse_trailers(message) if name.lower() == key.lower())
