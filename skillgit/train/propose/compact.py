"""Reflection for small local models: failed tasks with their answers become worked examples.

Such a model copies well and hardly finds rules, so the prompt has two samples from other domains, shows neither the
document nor the wrong replies, and constrains the reply by a JSON schema. What it does and does not follow was
measured (docs/benchmarks.md): samples of one edit each, or with questions only, make it leave the answers out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillgit.models.base import Request, Turn
from skillgit.train.propose.prompts import conversation, count, data, fill

MOST_REASONING = 80
MOST_CONTENT = 600
"""Characters of an example line that such a model can copy; grammars of repeated characters grow with it, too."""


def compact_request(failures: Sequence[tuple[str, str, str]], budget: int) -> Request | None:
    """One call about some failures.

    At most `budget` of them are shown, in their order: the model takes its edits from the first ones anyway, and
    what it does not see costs nothing.

    Args:
        failures: (task id, input, expected answer).
        budget: the most edits that may be proposed.

    Returns: None where no failure makes an example line of at most `MOST_CONTENT` characters.
    """
    short = [(ident, _line(text), _line(answer)) for ident, text, answer in failures]
    shown = [item for item in short if len(example_line(*item[1:])) <= MOST_CONTENT][:budget]
    if not shown:
        return None
    longest = max(len(example_line(*item[1:])) for item in shown)
    system, turns = conversation("compact/reflect")
    attempts = "\n".join(_attempt(*item) for item in shown)
    last = fill(turns[-1].text, {"budget": count(budget, "edit"), "attempts": attempts})
    tokens = MOST_REASONING + budget * (longest + 40)  # a token is one character at worst
    return Request(system, (*turns[:-1], Turn("user", last)), max_tokens=tokens, schema=schema(budget, longest))


def example_line(task: str, answer: str) -> str:
    """The line that stands for a failed task in the document."""
    return f"- {_line(task)} -> {_line(answer)}"


def schema(budget: int, longest: int) -> dict[str, Any]:
    """What the reply has to be: short reasoning first, then at most `budget` appended lines.

    Args:
        longest: characters of the longest example line that can come of the failures shown.
    """
    edit = {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": ["append"]},
            "content": {"type": "string", "maxLength": longest + 20},
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


def _attempt(ident: str, text: str, answer: str) -> str:
    opening = data("attempt", "", id=ident).removesuffix("</attempt>")
    return f"{opening}{data('input', text)}{data('expected', answer)}</attempt>"


def _line(text: str) -> str:
    return " ".join(text.split())
