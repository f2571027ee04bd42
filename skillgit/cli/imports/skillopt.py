"""`skillgit import skillopt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.config import SkillSettings
    from skillgit.train.events import Event
    from skillgit.train.imports.bringing import Brought
    from skillgit.train.project import Project


@click.command("skillopt")
@click.argument("run_dir", metavar="RUN_DIR", type=click.Path(path_type=Path))
@click.option("--skill", "name", metavar="NAME", help="The skill to begin; the one of skillgit.yaml unless given.")
@click.option("--document", metavar="PATH", help="Its document, for a skill that skillgit.yaml does not have yet.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported; move nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(run_dir: Path, name: str | None, document: str | None, dry_run: bool, as_json: bool) -> None:
    """Import RUN_DIR, an output folder of SkillOpt, as the beginning of a skill's history.

    Accepted candidates become the commits of the branch, rejected ones and epochs get their refs, with the scores and
    dates of the folder. A run that is not finished comes up to its last whole step. Training goes on from the best
    document, which is measured anew first: SkillOpt's scores compare with nothing else.
    """
    from skillgit.cli import opened
    from skillgit.store.locks import SkillLock
    from skillgit.train.imports.bringing import bring

    with opened.project() as project:
        skill, settings = _chosen(project, name, document)
        with SkillLock.acquire(project.repo, skill, "import") as lock:
            done = bring(project.repo, lock, skill, settings, run_dir, tell=_tell, dry_run=dry_run)
        configured = skill in project.config.skills
    if as_json:
        print_json(done.to_json())
        return
    for text in (*done.left_out, *done.notes):
        say(f"note: {one_line(text)}")
    print("\n".join(_lines(done, configured=configured)))


def _chosen(project: Project, name: str | None, document: str | None) -> tuple[str, SkillSettings]:
    """The skill and its settings; those of a skill that is not configured yet are the defaults."""
    from skillgit.config import check_name
    from skillgit.errors import UsageError
    from skillgit.train.imports.bringing import settings_of

    skills = project.config.skills
    if name is None:
        if len(skills) != 1:
            raise UsageError(
                f"skillgit.yaml has {len(skills) or 'no'} skills", mend="name one, or a new one, with --skill NAME"
            )
        name = next(iter(skills))
    if name in skills:
        settings = skills[name]
        if document is not None and document != settings.document:
            mend = "leave --document out, or name another skill with --skill NAME"
            raise UsageError(f"--document {document}: the document of {name} is {settings.document}", mend=mend)
        return name, settings
    try:
        check_name(name)
    except ValueError as error:
        raise UsageError(f"--skill: {error}", mend="choose another name") from None
    if document is None:
        mend = f"name its document with --document PATH, or run `skillgit init --skill {name}` first"
        raise UsageError(f"skillgit.yaml has no skill {name!r}", mend=mend)
    return name, settings_of(document)


def _lines(done: Brought, *, configured: bool) -> list[str]:
    from skillgit.cli.progress import points

    if done.here:
        return [f"already here: run {done.run} of {done.skill}; nothing moved"]
    would = "would import" if done.dry_run else "imported"
    of = f" of {done.total_steps}" if done.total_steps > done.steps else ""
    lines = [
        f"{would} {done.steps}{of} steps as run {done.run} of {done.skill}: "
        f"{done.accepted} accepted, {done.rejected} rejected, {done.epochs} epochs"
    ]
    at = f" at {done.best[:12]}" if done.best is not None else ""
    lines.append(f"best document: step {done.best_step}{at}, val {points(done.best_score)} by SkillOpt")
    if done.dry_run:
        return lines
    if not configured:
        lines.append(f"tell skillgit.yaml of it: `skillgit init --skill {done.skill} --document {done.document}`")
    lines.append(f"`skillgit train {done.skill}` goes on from there, and measures it on its own val tasks first")
    return lines


def _tell(event: Event) -> None:
    """What the last owner of the lock left behind."""
    from skillgit.train.events import Note

    if isinstance(event, Note):
        say(f"note: {event.text}")
