"""Finding JSON values in a model's reply, whole or not at all.

A reply may have prose, fences and thinking around its JSON, and the JSON may have small slips. What must never happen
is that a part of a cut-off reply is taken for the whole. So a value counts only from an opening bracket to the bracket
that closes it, and one that is never closed makes the reply unusable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from skillgit.errors import ReplyError
from skillgit.models.base import Json
from skillgit.models.jsonvalue import UNREADABLE, decoder, read_leniently, read_strictly

MEND = "ask again"
_WIDEST_MARGIN = 200  # characters around the only value of a reply

_THINK = (
    r"<(?P<close>/?)think(?:ing)?(?:\s[^<>]*)?>|<(?P<close2>/?)thought>|\[(?P<close3>/?)THINK\]|◁(?P<close4>/?)think▷"
)
_THINK_TAG = re.compile(_THINK)
_LANDMARK = re.compile(rf"[{{\[]|{_THINK}")
# What may follow a bracket that opens JSON, quoted or Python-like; anything else is prose such as `{x}` or `[see]`.
_OBJECT_START = re.compile(r"\{\s*(?:[\"'}]|\Z|[A-Za-z_]\w*\s*:)")
_ARRAY_START = re.compile(r"\[\s*(?:[\[{\"'\]\d-]|\Z|true\b|false\b|null\b|True\b|False\b|None\b)")
_BARE_START = re.compile(r"\{\s*[A-Za-z_]")
_MARK = re.compile(r"[\"'{}\[\]\\]")
_AFTER_STRING = re.compile(r"\s*(?:[,:\]}]|\Z)")
_CLOSES = {"}": "{", "]": "["}


@dataclass(frozen=True)
class Found:
    """A balanced value of the reply, read when it is asked for.

    Args:
        text: as it stands in the reply.
        alone: nothing but white space and one fence stands around it.
        torn: a quote stands right behind it and none before: its end is likely a bracket in a string, after a quote
            that nobody escaped.
    """

    text: str
    alone: bool = False
    torn: bool = False

    @property
    def bare(self) -> bool:
        """It opens like `{name: …`, which prose does as well."""
        return _BARE_START.match(self.text) is not None

    @cached_property
    def _reading(self) -> tuple[Json, bool]:
        if self.torn:
            return UNREADABLE, False
        value = read_strictly(self.text)
        return (value, False) if value is not UNREADABLE else (read_leniently(self.text), True)

    @property
    def readable(self) -> bool:
        """It parses, as it is or repaired without loss."""
        return self._reading[0] is not UNREADABLE

    @property
    def value(self) -> Json:
        """What it says: an object or a list; None where it is not readable."""
        return self._reading[0] if self.readable else None

    @property
    def repaired(self) -> bool:
        """json-repair was needed."""
        return self._reading[1]


def find_values(reply: str) -> list[Found]:
    """All values outside thinking, in order; none inside another.

    Raises:
        ReplyError: a bracket or a thinking block is opened and never closed.
    """
    return [
        Found(reply[start:end], _is_alone(reply, start, end), _is_torn(reply, start, end))
        for start, end in _spans(reply)
    ]


def _spans(reply: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    while landmark := _LANDMARK.search(reply, at):
        start = landmark.start()
        if landmark[0] not in {"{", "["}:
            if _is_closing(landmark):  # its opening stood in the prompt: all before was thinking
                found.clear()
                at = landmark.end()
            else:
                at = _end_of_thinking(reply, start)
        elif not _looks_like_json(reply, start):
            at = start + 1
        elif (end := _end_of_value(reply, start)) is not None:
            found.append((start, end))
            at = end
        else:
            found.clear()
            at = _end_of_broken_thought(reply, start)
    return found


def _is_closing(tag: re.Match[str]) -> bool:
    return any(tag.groups())


def _end_of_thinking(reply: str, start: int) -> int:
    depth = 0
    for tag in _THINK_TAG.finditer(reply, start):
        depth += -1 if _is_closing(tag) else 1
        if depth == 0:
            return tag.end()
    raise ReplyError("the reply ends while the model is still thinking", mend="ask again, with more tokens")


def _end_of_broken_thought(reply: str, start: int) -> int:
    """After the thinking that an unclosed bracket at `start` belongs to; a reply that begins with it is cut off."""
    closing = [tag.end() for tag in _THINK_TAG.finditer(reply, start) if _is_closing(tag)]
    if closing and not _is_margin(reply[:start]):
        return closing[-1]
    line = reply.count("\n", 0, start) + 1
    what = f"no bracket rightly closes the {reply[start]!r} on its line {line}"
    raise ReplyError(f"the reply is cut off or malformed: {what}", mend="ask again, with more tokens")


def _is_alone(reply: str, start: int, end: int) -> bool:
    return len(reply) - (end - start) <= _WIDEST_MARGIN and _is_margin(reply[:start]) and _is_margin(reply[end:])


def _is_torn(reply: str, start: int, end: int) -> bool:
    return reply[end : end + 1] == '"' and reply[max(start - 1, 0) : start] != '"'


def _is_margin(text: str) -> bool:
    return re.fullmatch(r"\s*(?:`{3,}|~{3,})?[A-Za-z]*\s*", text) is not None


def _looks_like_json(reply: str, start: int) -> bool:
    pattern = _OBJECT_START if reply[start] == "{" else _ARRAY_START
    return pattern.match(reply, start) is not None


def _end_of_value(reply: str, start: int) -> int | None:
    """Where the bracket at `start` is closed; quotes inside strings that nobody escaped are seen through."""
    try:
        return decoder().raw_decode(reply, start)[1]
    except (ValueError, RecursionError):
        pass
    opened: list[str] = []
    quote = ""
    at = start
    while mark := _MARK.search(reply, at):
        char, at = mark[0], mark.end()
        if char == "\\":
            if not quote:
                return None
            at += 1
        elif quote:
            if char == quote and _AFTER_STRING.match(reply, at):
                quote = ""
        elif char == '"' or (char == "'" and reply[start : at - 1].rstrip()[-1:] in "{[,:"):
            quote = char
        elif char in "{[":
            opened.append(char)
        elif char in _CLOSES:
            if opened.pop() != _CLOSES[char]:
                return None
            if not opened:
                return at
    return None
