"""What an optimizer's reply says: a patch, or any other JSON object.

The last complete value of the reply counts (a draft may stand before it). Where that one is malformed or of the wrong
shape, the reply is an error: an earlier draft, or an inner part, is never taken in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillgit.errors import ReplyError
from skillgit.models.base import Json
from skillgit.models.jsontext import MEND, Found, find_values

MOST = 10**6
"""No number that a reply is asked for is as large."""

_EDIT_FIELDS = {"op", "target", "content", "reason", "support"}
_PATCH_WORDS = re.compile(r"\b(?:edits|op)[\"']?\s*:")
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True)
class RawEdit:
    """An edit as the model wrote it: nothing is checked but that each field is text. What is absent is empty."""

    op: str
    target: str = ""
    content: str = ""
    reason: str = ""
    support: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """The edits of one reply, in order, and why; `extra` holds the other top-level keys as they came."""

    reasoning: str
    edits: tuple[RawEdit, ...]
    extra: Mapping[str, Json] = field(default_factory=dict)


def parse_patch(reply: str) -> Patch:
    """Read `{"reasoning": …, "edits": […]}`, the same under the key `patch`, or a bare list of edits.

    Raises:
        ReplyError: empty, prose only, cut off, not JSON, or of another shape; the message says which.
    """
    found = _last(_candidates(reply), _speaks_of_edits)
    if found is None:
        raise _error("the reply has JSON, but no list of edits")
    if not found.readable:
        raise _error(f"the reply's JSON cannot be read for sure: {_start(found.text)}")
    if isinstance(found.value, list):
        return Patch("", _edits(found.value, found.repaired))
    outer = found.value
    inner = outer if "edits" in outer else outer.get("patch")
    if not isinstance(inner, dict) or "edits" not in inner:
        raise _error("the reply is one edit by itself; it must stand in a list of edits")
    if inner is outer and isinstance(outer.get("patch"), dict) and "edits" in outer["patch"]:
        raise _error("the reply has edits in two places: 'edits' and 'patch'")
    reasoning = _text(inner.get("reasoning", None if inner is outer else outer.get("reasoning")), "reasoning")
    rest = {**({} if inner is outer else outer), **inner}
    extra = {key: value for key, value in rest.items() if key not in {"reasoning", "edits", "patch"}}
    return Patch(reasoning, _edits(inner["edits"], found.repaired), extra)


def parse_object(reply: str) -> dict[str, Json]:
    """Read the last JSON object of a reply, with the tolerance of `parse_patch`.

    Raises:
        ReplyError: there is none, or it is cut off or malformed.
    """
    found = _last(_candidates(reply), lambda one: one.text.startswith("{"))
    if found is None:
        raise _error("the reply has a list where an object was asked for")
    if not isinstance(found.value, dict):
        raise _error(f"the reply's JSON cannot be read for sure: {_start(found.text)}")
    return found.value


def whole(value: Json) -> int | None:
    """A whole number as models write it: `2`, `2.0`, `"2"`, `"2 edits"`; None where it is none.

    What is further than `MOST` from 0 comes back as `MOST` or `-MOST`: all that is counted here is far below, and a
    number of 400 digits fits no float, one of 5,000 no `int()`.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-MOST, min(value, MOST))
    if isinstance(value, float):
        return whole(int(value)) if value.is_integer() else None
    match = re.match(r"\s*(-?)(\d++)(?!\.)", value) if isinstance(value, str) else None
    if match is None:
        return None
    digits = match[2].lstrip("0") or "0"
    size = int(digits) if len(digits) <= len(str(MOST)) else MOST
    return whole(-size if match[1] else size)


def _candidates(reply: str) -> list[Found]:
    """The values of the reply. `{name: …}` counts only where nothing is quoted as JSON is: prose has it too."""
    if not reply.strip():
        raise _error("the reply is empty")
    values = find_values(reply)
    if not values:
        raise _error("the reply is prose, without JSON")
    return [one for one in values if not one.bare] or values


def _last(values: list[Found], fits: Callable[[Found], bool]) -> Found | None:
    return next((one for one in reversed(values) if fits(one)), None)


def _speaks_of_edits(found: Found) -> bool:
    """Whether this value is meant as the patch, rightly formed or not."""
    if not found.readable:
        return _PATCH_WORDS.search(found.text) is not None
    if isinstance(found.value, list):  # `[ ]` is a check box unless it is the whole reply
        return any(isinstance(item, dict) for item in found.value) or (not found.value and found.alone)
    patch = found.value.get("patch")
    return "edits" in found.value or "op" in found.value or (isinstance(patch, dict) and "edits" in patch)


def _edits(value: Json, repaired: bool) -> tuple[RawEdit, ...]:
    if not isinstance(value, list):
        raise _error(f"the reply's 'edits' is {_kind(value)}, not a list")
    return tuple(_edit(item, number, repaired) for number, item in enumerate(value, 1))


def _edit(item: Json, number: int, repaired: bool) -> RawEdit:
    if not isinstance(item, dict):
        raise _error(f"edit {number} of the reply is {_kind(item)}, not an object")
    if item.get("op") is None:
        raise _error(f"edit {number} of the reply has no 'op'")
    if repaired and (strange := sorted(set(item) - _EDIT_FIELDS)):
        # A quote that nobody escaped makes fields out of text.
        raise _error(f"edit {number} of the reply is malformed near {strange[0][:40]!r}")
    where = f"edit {number}: "
    return RawEdit(
        op=_text(item["op"], f"{where}op"),
        target=_text(item.get("target"), f"{where}target"),
        content=_text(item.get("content"), f"{where}content"),
        reason=_text(item.get("reason"), f"{where}reason"),
        support=_support(item.get("support"), f"{where}support"),
    )


def _text(value: Json, where: str) -> str:
    """A string, or nothing. A number or a list might be half of what was meant."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _error(f"the reply's {where} is {_kind(value)}, not text")
    return value


def _support(value: Json, where: str) -> str:
    """A count, a phrase, or a list of attempts, as one string."""
    parts = value if isinstance(value, list) else [value]
    counts = [
        str(part) if isinstance(part, int) and not isinstance(part, bool) else _text(part, where) for part in parts
    ]
    return ", ".join(counts)


def _kind(value: Json) -> str:
    return _KINDS.get(type(value), "null")


def _start(text: str) -> str:
    """The first characters, on one line, to recognise a value by."""
    line = "".join(char for char in " ".join(text[:200].split()) if char.isprintable())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _error(message: str) -> ReplyError:
    return ReplyError(message, mend=MEND)
