"""Reading one balanced JSON value: as it is, or with small slips mended, and never with a loss.

json-repair guesses. What it reads is taken only if it says what the source says: every word in its order, each string
between quotes as it stands there, as many objects and lists.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from skillgit.models.base import Json

UNREADABLE = object()
"""Stands for a value that could not be read, since None is a value."""

# json-repair can take time by the square of the length, and more where quotes stand at odd places; both are bounded.
_LONGEST_REPAIR = 12_000
_MOST_ODD_QUOTES = 40
_ODD_QUOTE = re.compile(r"\\.|(?<=\w)'(?=\w)|[\[{,:]\s*[\"']|(?P<odd>[\"'](?!\s*[,:\]}]))", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_WORD = re.compile(r"\w+")
_BREAKING_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def decoder() -> json.JSONDecoder:
    """JSON as models write it: raw line breaks in strings are fine; a key that stands twice, NaN and 1e999 are not."""
    return json.JSONDecoder(strict=False, object_pairs_hook=_no_key_twice, parse_constant=_refuse, parse_float=_finite)


def _no_key_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value


def _refuse(word: str) -> Json:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def read_strictly(text: str) -> Json:
    """The value that `text` is, or UNREADABLE."""
    try:
        value = decoder().decode(text)
    except (ValueError, RecursionError):
        return UNREADABLE
    return value if _is_utf8(value) else UNREADABLE


def read_leniently(text: str) -> Json:
    """What json-repair reads, or UNREADABLE where it lost, made up or moved text."""
    odd = sum(match["odd"] is not None for match in _ODD_QUOTE.finditer(text))
    if len(text) > _LONGEST_REPAIR or odd > _MOST_ODD_QUOTES:
        return UNREADABLE
    import json_repair  # here, since most replies do without

    try:
        value = json_repair.loads(text, skip_json_loads=True)
        same = isinstance(value, dict if text[0] == "{" else list) and _is_utf8(value) and _says_the_same(text, value)
    except (ValueError, LookupError, TypeError, AssertionError, RecursionError):  # json-repair asserts what it expects
        return UNREADABLE
    return value if same else UNREADABLE


def _is_utf8(value: Json) -> bool:
    """No lone surrogates, which no file and no other model would take."""
    return not any("\ud800" <= char <= "\udfff" for leaf in _leaves(value) if isinstance(leaf, str) for char in leaf)


def _leaves(value: Json) -> Iterator[Json]:
    """Keys and scalars in the order of the text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _says_the_same(text: str, value: Json) -> bool:
    source = _unescaped(text)
    at = 0
    words: list[str] = []
    for leaf in _leaves(value):
        shown = leaf if isinstance(leaf, str) else json.dumps(leaf)
        words += _words(shown)
        if isinstance(leaf, str):
            at = source.find(leaf, at)
            if at < 0 or _BREAKING_CONTROLS.search(leaf):
                return False
            at += len(leaf)
    return words == _words(source) and _are_quoted(value, source) and _has_all_brackets(value, source)


def _are_quoted(value: Json, source: str) -> bool:
    """Every string that is no key stands between quotes: where an unquoted one ends is a guess."""
    texts = [leaf for leaf in _values(value) if isinstance(leaf, str)]
    return all(any(f"{quote}{leaf}{quote}" in source for quote in "\"'") for leaf in texts)


def _has_all_brackets(value: Json, source: str) -> bool:
    """As many objects and lists as the source opens, those in strings aside: an empty one has no words to miss."""
    texts = [leaf for leaf in _leaves(value) if isinstance(leaf, str)]
    opened = {char: source.count(char) - sum(text.count(char) for text in texts) for char in "{["}
    return opened == {"{": _count(value, dict), "[": _count(value, list)}


def _count(value: Json, kind: type) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, kind) + sum(_count(one, kind) for one in inner)


def _values(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    else:
        yield value


def _words(text: str) -> list[str]:
    """Words in one case, Python's None as null."""
    return ["null" if word == "none" else word for word in _WORD.findall(text.lower())]


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _ESCAPED.get(code, match[0])

    pairs = _ESCAPE.sub(plain, text)
    return pairs.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
