"""`skillgit cherry-pick`: bring an edit of another skill, run or branch in, through the gate."""

from __future__ import annotations

import click


@click.command("cherry-pick")
@click.argument("name")
@click.argument("revs", metavar="REV...", nargs=-1, required=True)
@click.option("--path", "source", metavar="PATH", help="The file whose change is meant, where REV changes several.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what the document would gain, and change nothing.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the journal's entry, or the dry run, as JSON.")
def command(name: str, revs: tuple[str, ...], source: str | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Bring the changes of commits into the document of skill NAME; together they have to pass its gate.

    REV is any commit: an edit of another skill, run or branch, a rejected candidate's, or a person's.
    """
    from skillgit.cli import changing, opened
    from skillgit.train.archive.documents import Placed
    from skillgit.train.carry.change import Change
    from skillgit.train.carry.pick import find, picked

    with opened.project() as project, changing.conflicts():
        repo, path = project.repo, project.config.skill(name).document
        wanted = [find(repo, path, rev, source) for rev in revs]
        if dry_run:
            before = changing.at_tip(project, name)
            changing.show_only(path, before.text, picked(repo, before, wanted).document, as_json=as_json)
            return

        def make(before: Placed) -> Change:
            return Change("cherry-pick", picked(repo, before, wanted))

        record, run = changing.gated(project, name, "cherry-pick", make, yes=yes)
    changing.report(name, record, run, as_json=as_json, mend="edit the document by hand to have it all the same")
