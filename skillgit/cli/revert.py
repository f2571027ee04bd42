"""`skillgit revert`: take edits out of a skill's document."""

from __future__ import annotations

import click


@click.command("revert")
@click.argument("name")
@click.argument("edits", metavar="EDIT...", nargs=-1, required=True)
@click.option("--no-gate", is_flag=True, help="Take them out whatever the score: nothing is measured.")
@click.option("-m", "--message", "why", default="", help="Why; kept in the commit and in the notes.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what the document would lose, and change nothing.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the journal's entry, or the dry run, as JSON.")
def command(
    name: str, edits: tuple[str, ...], no_gate: bool, why: str, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Take accepted edits out of the document of skill NAME, by a revert commit each.

    EDIT is a commit, a step's number (all of its edits), STEP.N (edit N of it), or one of them behind RUN/. The result
    has to pass the gate; with --no-gate it need not, and becomes the best document all the same. What was taken out is
    remembered in the notes, and training does not propose it again.
    """
    from skillgit.cli import changing, opened
    from skillgit.redact import redact
    from skillgit.train.archive.documents import Placed
    from skillgit.train.archive.edits import named
    from skillgit.train.carry.change import Change
    from skillgit.train.carry.revert import reverted
    from skillgit.train.carry.ungated import put

    with opened.project() as project, changing.conflicts():
        repo, path = project.repo, project.config.skill(name).document
        found = {edit.commit: edit for text in edits for edit in named(repo, name, text)}
        wanted, reason = list(found.values()), redact(why.strip())
        if dry_run:
            before = changing.at_tip(project, name)
            changing.show_only(path, before.text, reverted(repo, path, before, wanted).document, as_json=as_json)
            return

        def make(before: Placed) -> Change:
            return Change("revert", reverted(repo, path, before, wanted, reason))

        if no_gate:
            told = f"a person took out {len(wanted)} edit{'s' if len(wanted) > 1 else ''} without the gate"
            record, run = changing.ungated(
                project, name, "revert", lambda shelf: put(shelf, "revert", make(shelf.document()).built, told)
            )
        else:
            record, run = changing.gated(project, name, "revert", make, yes=yes)
    changing.report(name, record, run, as_json=as_json, mend="--no-gate takes it out all the same")
