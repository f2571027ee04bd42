#!/usr/bin/env python3
"""Keep docs/commands.md equal to what `--help` prints.

Usage: python .ci/help_text.py          exit code 1 and a diff where the page is stale
       python .ci/help_text.py --write  write the page
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "commands.md"
HEAD = """\
# Commands

What `--help` prints, written by `python .ci/help_text.py --write`. Every command takes `-C DIR` as git does, and
`git skill …` is the same program.

Exit codes: 0 finished (a ceiling is an end too); 1 finished without improvement, only with `--exit-code`; 2 usage,
configuration, or refused; 3 models or environment failed, and the same command goes on where it was; 4 a bug of ours;
130 interrupted.
"""


def pages() -> Iterator[tuple[str, str]]:
    """(command, help text) of the program and of every verb."""
    import click

    from skillgit.cli.main import main

    def walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                if inner is not None:
                    yield from walk(inner, click.Context(inner, info_name=name, parent=context))

    settings = {**main.context_settings, "terminal_width": 100, "max_content_width": 100}
    yield from walk(main, click.Context(main, info_name="skillgit", **settings))


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for command, text in pages():
        parts.append(f"## {command}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Check or write."""
    wanted = page()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    found = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    difference = list(difflib.unified_diff(found.splitlines(), wanted.splitlines(), "docs/commands.md", "--help"))
    print("\n".join(difference) if difference else "help text: docs/commands.md is current")
    return 1 if difference else 0


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    sys.exit(main())
