"""`skillgit train`: train a skill, or go on with its unfinished run."""

from __future__ import annotations

import click

from skillgit.cli.output import print_json, say


@click.command("train")
@click.argument("name")
@click.option("--fresh", is_flag=True, help="Give an unfinished run up and start a new one.")
@click.option("--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Override a setting of the skill.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--exit-code", is_flag=True, help="End with 1 where the run finished without improvement.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(name: str, fresh: bool, settings: tuple[str, ...], yes: bool, exit_code: bool, as_json: bool) -> int:
    """Train skill NAME on its branch skill/NAME; an unfinished run is resumed."""
    from skillgit.cli import opened
    from skillgit.cli.progress import points
    from skillgit.cli.settings import overrides
    from skillgit.errors import InterruptedRunError
    from skillgit.store.locks import SkillLock
    from skillgit.train.loop import Outcome, train
    from skillgit.train.session import Session

    with opened.project(overrides(name, settings)) as project:
        document = project.config.skill(name).document
        if project.has_uncommitted(document):
            say(f"note: {document} has changes that are not committed; training reads the commit")

        async def run(session: Session) -> Outcome:
            with SkillLock.acquire(session.repo, name) as lock:
                return await train(session, lock, fresh=fresh)

        try:
            outcome = opened.run(opened.with_session(project, name, run, optimizer=True, yes=yes))
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted", mend="the same command goes on where it was") from None
    if as_json:
        print_json(outcome.to_json())
    else:
        verb = "rose" if outcome.improved else "stayed"
        print(f"val {verb}: {points(outcome.before)} -> {points(outcome.after)} ({outcome.reason})")
        print(f"best document: {outcome.best_commit[:12]}; see `skillgit log {name}`")
        if outcome.improved:
            into = project.config.skill(name).merge.into or "BRANCH"
            print(f"bring it to the base branch with `skillgit merge {name} --into {into}`")
    return 1 if exit_code and not outcome.improved else 0
