"""`skillgit rollback`: bring an earlier document back."""

from __future__ import annotations

import click


@click.command("rollback")
@click.argument("name")
@click.option("--to", "rev", metavar="REV", required=True, help="A commit, a step, a release such as v3.")
@click.option("-m", "--message", "why", default="", help="Why; kept in the commit.")
@click.option("-n", "--dry-run", is_flag=True, help="Show how the document would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the journal's entry, or the dry run, as JSON.")
def command(name: str, rev: str, why: str, dry_run: bool, as_json: bool) -> None:
    """Make an earlier document of skill NAME the current and the best one, by a commit on top of its branch.

    Nothing is measured: the next training does that first, where the score is not known.
    """
    from skillgit.cli import changing, opened
    from skillgit.redact import redact
    from skillgit.train.archive import documents, revisions
    from skillgit.train.carry.rollback import roll_back

    with opened.project() as project:
        path = project.config.skill(name).document
        commit = revisions.commit_of(project.repo, name, project.config.skill(name), rev)
        if dry_run:
            before = changing.at_tip(project, name)
            changing.show_only(
                path, before.text, documents.read_editable(project.repo, commit, path).text, as_json=as_json
            )
            return
        record, run = changing.ungated(
            project, name, "rollback", lambda shelf: roll_back(shelf, commit, rev, redact(why.strip()))
        )
    changing.report(name, record, run, as_json=as_json, mend="")
