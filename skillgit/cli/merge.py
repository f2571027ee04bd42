"""`skillgit merge`: bring a skill's best document to the base branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import print_json, say

if TYPE_CHECKING:
    from skillgit.train.events import Event


def _tell(event: Event) -> None:
    """What the last owner of the lock left behind."""
    from skillgit.train.events import Note

    if isinstance(event, Note):
        say(f"note: {event.text}")


@click.command("merge")
@click.argument("name")
@click.option("--into", metavar="BRANCH", help="The base branch; merge.into of skillgit.yaml unless given.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(name: str, into: str | None, as_json: bool) -> None:
    """Merge the best document of skill NAME into a branch, with a best_skill.md beside it."""
    from skillgit.cli import opened
    from skillgit.cli.progress import points
    from skillgit.errors import ConflictError, UsageError
    from skillgit.store.locks import SkillLock
    from skillgit.store.refs import HEADS
    from skillgit.train.merging.into import gate_documents, merge

    with opened.project() as project:
        settings = project.config.skill(name)
        if into is not None and not into.strip():
            raise UsageError("--into: an empty name", mend="name the base branch")
        branch = into or settings.merge.into or (project.repo.head_branch() or "").removeprefix(HEADS)
        if not branch:
            raise UsageError("no base branch: HEAD is detached", mend="name one with --into BRANCH")
        judge = gate_documents(lambda work: opened.with_session(project, name, work))
        with SkillLock.acquire(project.repo, name, "merge") as lock:
            try:
                done = opened.run(merge(project.repo, name, settings, branch, judge, lock=lock, tell=_tell))
            except ConflictError as error:
                say(error.shown)
                raise
    if as_json:
        score = None if done.score is None else round(float(done.score), 6)
        print_json(
            {
                "skill": name,
                "into": done.into,
                "commit": done.commit,
                "document": done.document,
                "best_file": done.best_file,
                "score": score,
            }
        )
        return
    if done.commit is None:
        print(f"{done.into} already has the best document of {name}")
        return
    if done.verdict is not None:
        print(f"merged with the changes on {done.into}: {done.verdict.reason}")
    scored = f", val {points(done.score)}" if done.score is not None else ""
    print(f"{done.into} is at {done.commit[:12]}: {done.document} is the best document{scored}")
    print(f"the same bytes are in {done.best_file}")
