"""`skillgit hooks install`."""

from __future__ import annotations

import click


@click.command("install")
@click.option("--json", "as_json", is_flag=True, help="Print what lies where as JSON.")
def command(as_json: bool) -> None:
    """Put the hooks in the repository; hooks that are there stay, and run first.

    All work trees of a repository share its hooks. Where `core.hooksPath` names another folder, they go there."""
    from pathlib import Path

    from skillgit.cli.hooks.shown import show
    from skillgit.store.repository import Repository
    from skillgit.train.hooks import installing

    show(installing.install(Repository.open(Path.cwd())), as_json=as_json)
