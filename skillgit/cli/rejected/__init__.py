"""`skillgit rejected`: the candidates that the gate refused; one command per file."""

from __future__ import annotations

from typing import ClassVar

import click

from skillgit.cli.lazy import LazyGroup, Table

COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("skillgit.cli.rejected.listing", "List the rejected candidates of skill NAME."),
    "show": ("skillgit.cli.rejected.show", "Show one rejected candidate of skill NAME."),
    "retry": ("skillgit.cli.rejected.retry", "Try one again on today's tip, through the gate."),
    "note": ("skillgit.cli.rejected.note", "Keep a person's reason with one."),
    "prune": ("skillgit.cli.rejected.prune", "Remove some of them."),
}


class _Commands(LazyGroup):
    """The commands on rejected candidates."""

    table: ClassVar[Table] = COMMANDS


@click.group("rejected", cls=_Commands)
def command() -> None:
    """Look at, retry, note and prune rejected candidates; each is kept under refs/skillgit/rejected."""
