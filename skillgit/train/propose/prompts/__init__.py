"""Prompts: Markdown files in this folder, filled with data that stands in tags of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from skillgit.models.base import Turn

_TAGS = (
    "skill|attempt|input|reply|expected|reason|rejected_edit|pattern|notes|edit|suggestion|candidate|pair|before|after"
    "|guidance|previous_skill|appendix|conflict|base_side|trained_side"
)
_TAG = re.compile(rf"<(?=/?(?:{_TAGS})\b)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def data(tag: str, text: str, **attributes: str) -> str:
    """A piece of data in its tag. Only a `<` that would open or close one of our tags is escaped, so that the text
    can be quoted back as it stands; attributes are made of ids, whose quotes are dropped."""
    named = "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items())
    return f"<{tag}{named}>{_TAG.sub('&lt;', text)}</{tag}>"


def _attribute(value: str) -> str:
    return re.sub(r'[<>"\s]+', " ", value).strip()


def sections(name: str) -> dict[str, str]:
    """The parts of a prompt file by their `# heading`, stripped.

    Args:
        name: `full/reflect_failures`, without the ending.
    """
    return dict(_parts(name))


def conversation(name: str) -> tuple[str, tuple[Turn, ...]]:
    """A prompt file with samples: its system text, and the turns, of which the last one is the template."""
    parts = _parts(name)
    roles: dict[str, Literal["user", "assistant"]] = {
        "sample user": "user",
        "sample reply": "assistant",
        "user": "user",
    }
    return sections(name)["system"], tuple(Turn(roles[part], text) for part, text in parts if part in roles)


@cache
def _parts(name: str) -> tuple[tuple[str, str], ...]:
    text = files("skillgit.train.propose.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
    parts = re.split(r"^# (system|user|sample user|sample reply)$", text, flags=re.MULTILINE)
    return tuple((parts[i], parts[i + 1].strip()) for i in range(1, len(parts), 2))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace `{placeholders}` in one pass: braces in the data mean nothing, those of JSON examples stay."""
    return _PLACEHOLDER.sub(lambda m: values.get(m[1], m[0]), template)


def count(number: int, noun: str) -> str:
    """`1 edit`, `4 edits`: budgets are said in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
