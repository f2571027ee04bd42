"""Extraction: the answer that a reply holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skillgit.models.base import Json

JSON_PREFIX = "json:"
_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")
# An opening fence's info string is one word here: a small model may well put its whole answer behind the fence.
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w+#.-]*\s*")
_FENCED = re.compile(r"^[ \t]*```[\w+#.-]*[ \t]*\r?\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_INDEX = re.compile(r"[0-9]{1,9}")
_MOST_TRIES = 64  # places in a reply where a JSON value may begin; more are noise


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was taken from a reply; `problem` says in words why nothing could be, and then `text` is empty."""

    text: str
    problem: str = ""


def check_rule(rule: str) -> str:
    """Whether `rule` is an extraction; returns it.

    Raises:
        ValueError: with the known ones.
    """
    if rule in _RULES or (rule.startswith(JSON_PREFIX) and all(rule.removeprefix(JSON_PREFIX).split("."))):
        return rule
    raise ValueError(f"{rule!r} is no extraction: write answer_tag, last_line, whole or json:<path>")


def extract(reply: str, rule: str) -> Extracted:
    """Take the answer from a reply.

    Args:
        rule: `answer_tag`: the text of the last closed `<answer>…</answer>`, in any letter case. `last_line`: the last
            line that is neither blank nor a code fence, without Markdown backticks around the whole line. `whole`: the
            reply. `json:<path>`: the string, number or truth value at a dotted path (numbers index lists) of the
            reply's JSON: the whole reply, else its last fenced block that is JSON, else the first JSON object or list
            in its text. Numbers stay as they were written.

    White space around the answer is dropped. Where the reply has no answer in that form, or a blank one, the text is
    empty and `problem` says why; there is no fallback to another form, which would reward a reply that broke the
    agreed one.
    """
    if not reply.strip():
        return Extracted("", "the reply is empty")
    if rule.startswith(JSON_PREFIX):
        return _json_path(reply, rule.removeprefix(JSON_PREFIX))
    return _RULES[rule](reply)


def _whole(reply: str) -> Extracted:
    return Extracted(reply.strip())


def _answer_tag(reply: str) -> Extracted:
    start: int | None = None
    found: str | None = None
    opened = False
    for tag in _TAG.finditer(reply):
        if not tag[1]:
            start, opened = tag.end(), True
        elif start is not None:
            found, start = reply[start : tag.start()].strip(), None
    if found is None:
        return Extracted("", "the <answer> tag is not closed" if opened else "the reply has no <answer> tag")
    return Extracted(found, "" if found else "the <answer> tag is empty")


def _last_line(reply: str) -> Extracted:
    for line in reversed(_LINE_END.split(reply)):
        if line.strip() and not _FENCE.fullmatch(line):
            text = _unquoted(line.strip())
            return Extracted(text, "" if text else "the last line is empty")
    return Extracted("", "the reply has no line besides code fences")


def _unquoted(line: str) -> str:
    """Without backticks around the whole line: `` `a` `` is a, but `` `a` or `b` `` stays."""
    ticks = len(line) - len(line.lstrip("`"))
    inner = line[ticks:-ticks] if ticks else ""
    closed = bool(inner) and line.endswith("`" * ticks) and "`" not in (inner[0], inner[-1])
    return inner.strip() if closed and "`" * ticks not in inner else line


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


# Numbers are kept as text, so that 1.50 stays 1.50.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refused)


def _values(reply: str) -> Iterator[Json]:
    """JSON values in a reply, the most likely one first."""
    whole = reply.strip()
    fenced = [match[1].strip() for match in _FENCED.finditer(reply)]
    for text in [whole, *reversed(fenced)]:
        try:
            yield _DECODER.decode(text)
        except (ValueError, RecursionError):
            continue
    for tried, match in enumerate(re.finditer(r"[{\[]", reply)):
        if tried >= _MOST_TRIES:
            return
        try:
            yield _DECODER.raw_decode(reply, match.start())[0]
        except (ValueError, RecursionError):
            continue


def _json_path(reply: str, path: str) -> Extracted:
    value = next((v for v in _values(reply) if isinstance(v, dict | list)), None)
    if value is None:
        return Extracted("", "the reply holds no JSON object")
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return Extracted("", f"the reply's JSON has nothing at {path}")
    if isinstance(value, bool):
        return Extracted("true" if value else "false")
    if not isinstance(value, str):
        return Extracted("", f"the reply's JSON has no text or number at {path}")
    return Extracted(value.strip(), "" if value.strip() else f"the reply's JSON has an empty text at {path}")


_RULES = {"answer_tag": _answer_tag, "last_line": _last_line, "whole": _whole}
