"""`skillgit eval`: score any revision of a skill's document, and remember it in the notes."""

from __future__ import annotations

import click

from skillgit.cli.output import print_json


@click.command("eval")
@click.argument("name")
@click.option("--rev", metavar="REV", help="The revision to score; the best document unless given.")
@click.option(
    "--split", type=click.Choice(["train", "val", "test"]), default="test", show_default=True, help="The tasks."
)
@click.option("--target", metavar="MODEL", help="Another target than the configured one, as provider/model.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON, with those of each task.")
def command(name: str, rev: str | None, split: str, target: str | None, yes: bool, as_json: bool) -> None:
    """Score the document of skill NAME at a revision; the result is kept in refs/notes/skillgit."""
    from skillgit.cli import opened
    from skillgit.cli.progress import points
    from skillgit.envs.contract import SPLITS
    from skillgit.train.scoring import scores
    from skillgit.train.scoring.evaluate import Evaluation, evaluate, remember, resolve
    from skillgit.train.session import Session

    chosen = next(s for s in SPLITS if s == split)

    async def run(session: Session) -> Evaluation:
        session.repo.identity()  # the note needs one, and no call is made for a score that cannot be kept
        repeats = session.settings.evaluation.repeats
        found = await evaluate(session, resolve(session, rev), chosen, repeats=repeats)
        remember(session, found)
        return found

    with opened.project() as project:
        found = opened.run(opened.with_session(project, name, run, target=target, yes=yes))
    if as_json:
        print_json(
            {
                "skill": name,
                "commit": found.commit,
                "blob": found.blob,
                "split": found.split,
                "target": found.target,
                "digest": found.digest,
                "tasks": found.tasks,
                "errors": found.errors,
                "hard": round(float(found.hard), 6),
                "soft": round(float(found.soft), 6),
                "scores": scores.encode(found.measurement),
            }
        )
        return
    failed = f", {found.errors} attempts failed" if found.errors else ""
    print(f"{name} at {found.commit[:12]} on {found.split}: {points(found.hard)} hard, {points(found.soft)} soft")
    print(f"{found.tasks} tasks with {found.target}{failed}")
