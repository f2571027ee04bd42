"""`skillgit rejected note`."""

from __future__ import annotations

import click

from skillgit.cli.output import print_json
from skillgit.cli.rejected.naming import find, place, said


@click.command("note")
@click.argument("name")
@click.argument("step")
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print the note as JSON.")
def command(name: str, step: str, text: str, as_json: bool) -> None:
    """Keep a person's words with a rejected candidate of skill NAME: why it should, or should not, be tried again.

    STEP is named as in `skillgit rejected show`. Notes live in refs/notes/skillgit and are pushed with it; secrets in
    TEXT are taken out before it is kept.
    """
    from datetime import UTC, datetime

    from skillgit.cli import opened
    from skillgit.train.archive import remarks, story

    with opened.project() as project:
        project.config.skill(name)
        item = find(story.rejected(project.repo, name), name, step)
        remark = remarks.remember(project.repo, item.commit, text, datetime.now(UTC))
    if as_json:
        print_json({"ref": item.ref, "commit": item.commit, **remark.to_json()})
        return
    print(f"{item.run} step {place(item)}: {said(remark)}")
