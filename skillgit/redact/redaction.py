"""Takes secrets and e-mail addresses out of text before it is kept anywhere (DESIGN, section 7).

History cannot be taken back: what stands before every write to a ref errs towards redaction where a value sits behind
a secret-like name. What only looks random (commit ids, digests, UUIDs, ULIDs, base64) and text about secrets stays.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from typing import Any

from skillgit.redact.blocks import Finding
from skillgit.redact.forms import authorization_value, find_by_form
from skillgit.redact.values import find_by_name, named_kind

PERSONAL = frozenset({"email"})
"""Kinds that are personal data and open nothing."""

_PLACEHOLDER = re.compile(r"\[redacted:[a-z-]{1,20}\]")
_BY_NAME = frozenset({"password", "key", "secret", "token"})
_MOST_PASSES = 20


def find(text: str) -> tuple[Finding, ...]:
    """Secrets and personal data in order, without overlaps."""
    hidden = [match.span() for match in _PLACEHOLDER.finditer(text)]
    merged: list[Finding] = []
    for one in sorted({*find_by_form(text), *find_by_name(text)}):
        before = bisect.bisect_right(hidden, (one.start, len(text))) - 1
        if one.start >= one.end or (before >= 0 and one.end <= hidden[before][1]):
            continue
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            kind = one.kind if last.kind in _BY_NAME and one.kind not in _BY_NAME else last.kind
            merged[-1] = Finding(last.start, max(last.end, one.end), kind)
        else:
            merged.append(one)
    return tuple(merged)


def secrets_in(text: str) -> set[tuple[str, str]]:
    """Kind and text of each secret; e-mail addresses are personal data, and people may want them in a document."""
    return {(found.kind, text[found.start : found.end]) for found in find(text) if found.kind not in PERSONAL}


def contains_secret(text: str) -> str | None:
    """The kind of the first secret in a text, or None. An e-mail address is personal data, not a secret."""
    return next((one.kind for one in find(text) if one.kind not in PERSONAL), None)


def redact(text: str, limit: int | None = None) -> str:
    """The text with each secret and e-mail address replaced by `[redacted:<kind>]`.

    Args:
        text: anything; it is not changed where it has neither.
        limit: the most characters to return. Cut is after redaction, so that no half of a token is left behind, and
            never within a placeholder.
    """
    for _ in range(_MOST_PASSES):  # a placeholder may lay bare what stood beside it; almost always one pass is all
        findings = find(text)
        if not findings:
            break
        text = _replaced(text, findings)
    if limit is None or len(text) <= limit:
        return text
    cut = next((at.start() for at in _PLACEHOLDER.finditer(text) if at.start() < limit < at.end()), limit)
    return text[:cut]


def _replaced(text: str, findings: tuple[Finding, ...]) -> str:
    parts: list[str] = []
    at = 0
    for one in findings:
        parts += [text[at : one.start], f"[redacted:{one.kind}]"]
        at = one.end
    return "".join([*parts, text[at:]])


def redact_json(value: Any) -> Any:
    """A JSON value with every string redacted, keys included; a key's name counts as context for its value.

    Tuples become lists. Two keys that become equal are told apart by a number.
    """
    return _redact_json(value, "")


def _redact_json(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        # {"name": "Authorization", "value": …}, as records of requests have it
        context = value.get("name", value.get("key"))
        result: dict[str, Any] = {}
        for name, inner in value.items():
            within = context if name == "value" and isinstance(context, str) else str(name)
            result[_unused(redact(str(name)), result)] = _redact_json(inner, within)
        return result
    if isinstance(value, list | tuple):
        return [_redact_json(inner, key) for inner in value]
    if isinstance(value, str):
        return _redact_named(key, value)
    if isinstance(value, int) and not isinstance(value, bool) and named_kind(key, str(value)) == "password":
        return "[redacted:password]"
    return value


def _redact_named(key: str, value: str) -> str:
    if key.lower().endswith("cookie") and "=" in value and not _PLACEHOLDER.fullmatch(value):
        return "[redacted:cookie]"
    if key.lower().endswith("authorization"):
        return redact(authorization_value(value))
    kind = named_kind(key, value)
    if kind is None or _PLACEHOLDER.search(value):
        return redact(value)
    return f"[redacted:{kind}]"


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
