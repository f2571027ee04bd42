"""Reflection for small local models: failed tasks with their answers become worked examples.

Such a model copies well and hardly finds rules, so the prompt has two samples from other domains, shows neither the
document nor the wrong replies, and constrains the reply by a JSON schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillgit.models.base import Request, Turn
from skillgit.train.prompts import conversation, count, data, fill

MOST_REASONING = 80
MOST_CONTENT = 300


def compact_request(failures: Sequence[tuple[str, str, str]], budget: int) -> Request:
    """One call about some failures.

    Args:
        failures: (task id, input, expected answer).
        budget: the most edits that may be proposed.
    """
    system, turns = conversation("compact/reflect")
    attempts = "\n".join(
        data("attempt", "", id=ident).removesuffix("</attempt>")
        + data("input", _line(text))
        + data("expected", _line(answer))
        + "</attempt>"
        for ident, text, answer in failures
    )
    last = fill(turns[-1].text, {"budget": count(budget, "edit"), "attempts": attempts})
    return Request(system, (*turns[:-1], Turn("user", last)), max_tokens=120 * budget, schema=schema(budget))


def schema(budget: int) -> dict[str, Any]:
    """What the reply has to be: short reasoning first, then at most `budget` appended lines."""
    edit = {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": ["append"]},
            "content": {"type": "string", "maxLength": MOST_CONTENT},
        },
        "required": ["op", "content"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "maxLength": MOST_REASONING},
            "edits": {"type": "array", "items": edit, "maxItems": budget},
        },
        "required": ["reasoning", "edits"],
        "additionalProperties": False,
    }


def _line(text: str) -> str:
    return " ".join(text.split())
