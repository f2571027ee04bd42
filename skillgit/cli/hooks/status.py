"""`skillgit hooks status`."""

from __future__ import annotations

import click


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print what lies where as JSON.")
def command(as_json: bool) -> None:
    """Show for each hook whether git runs it, and what runs before it."""
    from pathlib import Path

    from skillgit.cli.hooks.shown import show
    from skillgit.store.repository import Repository
    from skillgit.train.hooks import installing

    show(installing.status(Repository.open(Path.cwd())), as_json=as_json)
