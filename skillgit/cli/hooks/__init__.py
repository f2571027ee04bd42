"""`skillgit hooks`: the git hooks; one command per file."""

from __future__ import annotations

from typing import ClassVar

import click

from skillgit.cli.lazy import LazyGroup, Table

COMMANDS: dict[str, tuple[str, str]] = {
    "install": ("skillgit.cli.hooks.install", "Put the hooks beside those that are there."),
    "uninstall": ("skillgit.cli.hooks.uninstall", "Take them away and put earlier ones back."),
    "status": ("skillgit.cli.hooks.status", "Show which are installed, and where."),
    "run": ("skillgit.cli.hooks.run", "What git calls."),
}


class _Commands(LazyGroup):
    """The commands on hooks."""

    table: ClassVar[Table] = COMMANDS


@click.group("hooks", cls=_Commands)
def command() -> None:
    """Install, remove and run the git hooks.

    commit-msg looks at the trailers of commits on a skill's branch; pre-push stops secrets, transcripts, and what would
    drop commits of a skill's branch; post-merge says when a document is not the one that was measured.
    """
