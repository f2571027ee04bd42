"""A group of commands that loads a command's module only when that command is called."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Mapping
from typing import ClassVar

import click

Table = Mapping[str, tuple[str, str]]
"""Command -> (module with `command`, short help). The help stands here so that listing imports nothing."""


class LazyGroup(click.Group):
    """Finds commands by a table."""

    table: ClassVar[Table] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb, (module, _) in self.table.items() if importlib.util.find_spec(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, short_help = self.table[cmd_name]
        command = importlib.import_module(module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.command is no click command")
        command.short_help = short_help
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb, known = args[0], self.list_commands(ctx)
        if verb not in known and not verb.startswith("-"):
            close = difflib.get_close_matches(verb, known, n=1, cutoff=0.5)
            meant = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            ctx.fail(f"no command {verb!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(verb, self.table[verb][1]) for verb in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
