"""The YAML frontmatter of a document: where it is and what it says.

Frontmatter begins on the first line of the file with `---` and ends with the next line that is `---`, as the loaders
of Agent Skills read it. A `---` on the first line can also be a horizontal rule. It is taken for one when a blank
line follows (pandoc's rule) and what stands below is no YAML mapping; whatever else begins with `---` is frontmatter,
and a loader would fail on it, so a broken one is a problem to be named and never silently text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from skillgit.document.lines import Lines

_KEY = re.compile(r"""["']?\w[\w .-]*["']?[ \t]*:(?:[ \t]|$)""")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The lines of a frontmatter, and what is wrong with them.

    Args:
        close: index of the closing `---` line; the opening one is line 0. None where it never closes.
        problem: one clause that names the line (from 1), or None.
    """

    close: int | None
    problem: str | None = None


class FrontmatterProblem(ValueError):
    """A frontmatter that is no YAML mapping; the message names the line, counted from the file's first."""


def find(lines: Lines) -> Frontmatter | None:
    """The frontmatter of a text, or None where it has none. The YAML is read only where the lines leave a doubt."""
    if not len(lines) or lines[0].rstrip(" \t") != "---":
        return None
    close = next((index for index in range(1, len(lines)) if lines[index].rstrip(" \t") == "---"), None)
    spaced = len(lines) > 1 and lines.is_blank(1)
    if close is None:
        if spaced and not _meant(lines):
            return None
        return Frontmatter(None, "the frontmatter that opens on line 1 never closes")
    if spaced and not _meant(lines):
        try:
            load(lines, close)
        except FrontmatterProblem:
            return None
        if any(not lines.is_blank(index) for index in range(1, close)):
            return None  # only YAML comments, which a Markdown reader sees as headings
    return Frontmatter(close)


def _meant(lines: Lines) -> bool:
    """Whether the first line with text below the opening one looks like a YAML key."""
    first = next((index for index in range(1, len(lines)) if not lines.is_blank(index)), None)
    return first is not None and bool(_KEY.match(lines[first]))


def load(lines: Lines, close: int) -> dict[str, Any]:
    """The mapping between line 0 and line `close`; empty where nothing stands there.

    Raises:
        FrontmatterProblem: it is not valid YAML or no mapping.
    """
    text = "\n".join(lines[index] for index in range(1, close))
    try:
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise FrontmatterProblem(f"line {line}: the frontmatter is not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 2
        raise FrontmatterProblem(f"line {line}: the frontmatter has a character that YAML forbids") from None
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # PyYAML's constructors leak these for values such as `2024-13-45` or `!!int x`.
        first = str(error).split("\n", 1)[0]
        raise FrontmatterProblem(f"line 1: the frontmatter has a value that cannot be read: {first}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FrontmatterProblem("line 2: the frontmatter is not a YAML mapping")
    return value
