"""Whether the JSON of a journal has the form that its fields are declared to have.

Whoever can push can write a journal. What is read out of one goes into arithmetic, on a terminal, and on the command
line of git: so an id has to be an id, and a score a score of 0 to 1, before anybody looks at it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

Fits = Callable[[Any], bool]

_SCORE = re.compile(r"(\d{1,4000})(?:/(\d{1,4000}))?", re.ASCII)
_OID = re.compile(r"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?)?")
_USD = re.compile(r"\d{1,12}(?:\.\d{1,20})?", re.ASCII)
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_MOST_COUNT = 10**15

_EDIT_TEXTS = frozenset({"op", "target", "content", "reason", "status", "source", "why"})

IDS = frozenset({"tip", "incumbent", "best_commit", "document_before", "parent"})
"""Fields that are an object's id, or empty; `commits` and `rejoin` are lists of such."""
SCORES = frozenset({"score", "score_hard", "score_soft", "maximum", "before"})
"""Fields that are `num/den` from 0 to 1, or None."""


@functools.lru_cache(maxsize=4096)
def score(text: str) -> Fraction:
    """A score that is written `num/den`, or as a whole number. Python's own reader takes `1e999999999` as well.

    Raises:
        ValueError: it is none, or not one of 0 to 1.
    """
    match = _SCORE.fullmatch(text)
    over, under = (int(match[1]), int(match[2] or 1)) if match else (1, 0)
    if over > under or not under:
        raise ValueError(f"{text[:40]!r} is no score")
    return Fraction(over, under)


def is_score(value: Any) -> bool:
    """Whether it is such a score, or None."""
    try:
        return value is None or (type(value) is str and score(value) is not None)
    except ValueError:
        return False


def is_id(value: Any) -> bool:
    """Whether it is an object's id, or empty."""
    return type(value) is str and _OID.fullmatch(value) is not None


def is_path(value: Any) -> bool:
    """Whether it can be a document's path: git is told such, some on a line."""
    return type(value) is str and not _CONTROL.search(value)


def is_edit(value: Any) -> bool:
    """Whether it is a row about an edit: texts, and how many attempts asked for it."""
    if type(value) is not dict:
        return False
    return all(type(item) is str for key, item in value.items() if key in _EDIT_TEXTS) and (
        type(value.get("support", 0)) is int
    )


def is_cost(value: Any) -> bool:
    """Whether it is what an entry cost: counts, and a price in dollars where one is known."""
    if type(value) is not dict:
        return False
    usd = value.get("usd")
    priced = usd is None or (type(usd) is str and _USD.fullmatch(usd) is not None)
    return priced and _is_count(value.get("calls", 0)) and _is_count(value.get("tokens", 0))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST_COUNT


def each(fits: Fits) -> Fits:
    """Whether it is a list of such."""
    return lambda value: type(value) is list and (not value or all(map(fits, value)))


def table(kind: type, special: Mapping[str, Fits]) -> dict[str, Fits]:
    """For each field of a dataclass, whether a value can be its: by its type, or by a rule of its own."""
    return {name: special.get(name) or _of(hint) for name, hint in get_type_hints(kind).items()}


def _of(hint: Any) -> Fits:
    """Whether a value is of a type as annotations name it: str, int, bool, lists and dictionaries of them, `| None`."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin is list:
        return each(_of(parts[0]))
    if origin is dict and parts[1] is not Any:
        inner = _of(parts[1])
        return lambda value: type(value) is dict and all(map(inner, value.values()))
    kinds = frozenset(parts) if origin is UnionType else frozenset({origin or hint})
    return lambda value: type(value) in kinds
