"""One thing that is wrong with a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """What is wrong, and where.

    Args:
        line: counted from 1.
        level: an `error` keeps agents from loading the skill, leads them astray or gives something away; a `warning`
            is what the specification only recommends, or what some loaders do not take.
        message: one clause, without a full stop; it quotes no secret.
    """

    line: int
    level: Literal["error", "warning"]
    message: str


def error(line: int, message: str) -> Finding:
    """An error on a line."""
    return Finding(line, "error", message)


def warning(line: int, message: str) -> Finding:
    """A warning on a line."""
    return Finding(line, "warning", message)
