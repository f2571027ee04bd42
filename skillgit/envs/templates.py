"""Placeholders in `system` and `prompt`: data goes in once and is never read as a template again."""

from __future__ import annotations

import re
from collections.abc import Mapping

SKILL = "skill"
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_PLACEHOLDER = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")


def placeholders(template: str) -> list[str]:
    """Names in a template, in order, each once."""
    return list(dict.fromkeys(match[2] for match in _PLACEHOLDER.finditer(template) if match[2]))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in, in one pass.

    `{name}` is replaced where `name` is a letter or `_`, then letters, digits, `_` and `-`; `{{name}}` stands for the
    text `{name}`. Every other brace is itself, so a prompt can show JSON. Braces in the values are not read.

    Raises:
        KeyError: a name without a value; loading an environment has made sure that there is none.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[2]] if match[2] else f"{{{match[1]}}}", template)
