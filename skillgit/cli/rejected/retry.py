"""`skillgit rejected retry`."""

from __future__ import annotations

import click


@click.command("retry")
@click.argument("name")
@click.argument("step")
@click.option("-n", "--dry-run", is_flag=True, help="Show what the document would gain, and change nothing.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the journal's entry, or the dry run, as JSON.")
def command(name: str, step: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Try a rejected candidate of skill NAME again: its edits on today's document, through the gate.

    STEP is as in `skillgit rejected show`. An accepted one is noted on the rejected commit, whose ref stays.
    """
    from datetime import UTC, datetime

    from skillgit.cli import changing, opened
    from skillgit.cli.rejected.naming import find
    from skillgit.store.notes import add_note
    from skillgit.train.archive import story
    from skillgit.train.archive.documents import Placed
    from skillgit.train.carry.change import Change
    from skillgit.train.carry.pick import picked
    from skillgit.train.carry.retry import wanted as wanted_of

    with opened.project() as project, changing.conflicts():
        repo, path = project.repo, project.config.skill(name).document
        item = find(story.rejected(repo, name), name, step)
        wanted = wanted_of(repo, path, item)
        if dry_run:
            before = changing.at_tip(project, name)
            changing.show_only(path, before.text, picked(repo, before, wanted).document, as_json=as_json)
            return

        def make(before: Placed) -> Change:
            return Change("retry", picked(repo, before, wanted))

        record, run = changing.gated(project, name, "rejected retry", make, yes=yes)
        if record.accepted:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            add_note(repo, item.commit, {"kind": "retried", "skill": name, "as": record.commits[-1], "at": at})
    changing.report(name, record, run, as_json=as_json, mend="it stays in the rejected buffer")
