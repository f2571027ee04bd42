"""`skillgit hooks uninstall`."""

from __future__ import annotations

import click


@click.command("uninstall")
@click.option("--json", "as_json", is_flag=True, help="Print what lies where as JSON.")
def command(as_json: bool) -> None:
    """Take the hooks away, and put those that were there before back, byte for byte.

    A script of ours that somebody changed is left where it is."""
    from pathlib import Path

    from skillgit.cli.hooks.shown import show
    from skillgit.store.repository import Repository
    from skillgit.train.hooks import installing

    show(installing.uninstall(Repository.open(Path.cwd())), as_json=as_json)
