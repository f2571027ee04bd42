"""`skillgit rejected list`."""

from __future__ import annotations

import click

from skillgit.cli.output import print_json
from skillgit.cli.rejected.naming import place, to_json, verdict


@click.command("list")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str, as_json: bool) -> None:
    """List the rejected candidates of skill NAME, newest step first; STEP-KK is candidate KK of a step."""
    from skillgit.cli import opened
    from skillgit.train.archive import story

    with opened.project() as project:
        project.config.skill(name)
        found = story.rejected(project.repo, name)
    if as_json:
        print_json([to_json(item) for item in found])
        return
    if not found:
        print(f"{name} has no rejected candidates")
    for item in found:
        print(f"{item.run} step {place(item):>7}  {item.commit[:10]}  {verdict(item)}")
