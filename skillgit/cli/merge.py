"""`skillgit merge`: bring a skill's best document to the base branch, or another training branch into this one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from skillgit.cli.output import many_lines, one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.errors import ConflictError
    from skillgit.train.merging.gating import WithSession
    from skillgit.train.merging.into import Merged
    from skillgit.train.project import Project
    from skillgit.train.session import Session

T = TypeVar("T")


@click.command("merge")
@click.argument("name")
@click.argument("other", required=False)
@click.option("--into", metavar="BRANCH", help="The base branch; merge.into of skillgit.yaml unless given.")
@click.option("--resolve", is_flag=True, help="Let the optimizer settle conflicts; its text has to pass the gate.")
@click.option("--no-tag", is_flag=True, help="Make no release tag on the merge commit.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done, or the conflicts, as JSON.")
def command(
    name: str, other: str | None, into: str | None, resolve: bool, no_tag: bool, yes: bool, as_json: bool
) -> None:
    """Merge the best document of skill NAME into a branch, with a best_skill.md beside it.

    The merge commit gets the skill's next release tag, skill/NAME/vN. With OTHER, another training branch of this skill
    (a branch, a tag or a commit) is merged into skill/NAME instead, through the gate. Where both sides changed the same
    lines nothing moves, and both are shown with what brought their lines.
    """
    from skillgit.cli import opened
    from skillgit.errors import ConflictError, UsageError

    if other is not None and (into is not None or no_tag):
        raise UsageError("--into and --no-tag are for the base branch", mend="leave OTHER out, or the option")
    with opened.project() as project:
        try:
            if other is None:
                _base(project, name, into, resolve=resolve, tag=not no_tag, yes=yes, as_json=as_json)
            else:
                _other(project, name, other, resolve=resolve, yes=yes, as_json=as_json)
        except ConflictError as error:
            _show(name, error, as_json=as_json)
            raise


def sessions(project: Project, name: str, *, yes: bool = False) -> WithSession:
    """Opens the models of a skill when a merge needs them."""
    from skillgit.cli import opened

    def with_session(work: Callable[[Session], Awaitable[T]], *, optimizer: bool = False) -> Awaitable[T]:
        return opened.with_session(project, name, work, optimizer=optimizer, yes=yes)

    return with_session


def _base(project: Project, name: str, into: str | None, *, resolve: bool, tag: bool, yes: bool, as_json: bool) -> None:
    from skillgit.cli import opened
    from skillgit.cli.changing import tell
    from skillgit.errors import UsageError
    from skillgit.store.locks import SkillLock
    from skillgit.store.refs import HEADS
    from skillgit.train.merging.into import merge

    settings = project.config.skill(name)
    if into is not None and not into.strip():
        raise UsageError("--into: an empty name", mend="name the base branch")
    branch = into or settings.merge.into or (project.repo.head_branch() or "").removeprefix(HEADS)
    if not branch:
        raise UsageError("no base branch: HEAD is detached", mend="name one with --into BRANCH")
    ready = sessions(project, name, yes=yes)
    with SkillLock.acquire(project.repo, name, "merge") as lock:
        work = merge(project.repo, name, settings, branch, ready, lock=lock, resolve=resolve, tag=tag, tell=tell)
        done = opened.run(work)
    if as_json:
        print_json({"skill": name, **done.to_json()})
    else:
        _say(name, done)


def _say(name: str, done: Merged) -> None:
    from skillgit.cli.progress import points

    if done.commit is None:
        merged = ", merged with what people changed there" if done.with_changes else ""
        print(f"{done.into} already has the best document of {name}{merged}")
        return
    if done.resolution is not None:
        print(f"conflicts settled by the optimizer: {one_line(done.resolution) or 'it gave no reason'}")
    if done.verdict is not None:
        print(f"merged with the changes on {done.into}: {one_line(done.verdict.reason)}")
    what = "the best document" if done.verdict is None else "a new document"
    scored = f", val {points(done.score)}" if done.score is not None else ""
    print(f"{done.into} is at {done.commit[:12]}: {done.document} is {what}{scored}")
    if done.score is None:
        print(f"not measured: `skillgit eval {name} --split val` does that")
    if done.below_best is not None:
        print(f"that is below the best document, val {points(done.below_best)}")
    print(f"the same bytes are in {done.best_file}")
    if done.tag is not None:
        print(f"released as {done.tag.removeprefix('refs/tags/')}")


def _other(project: Project, name: str, other: str, *, resolve: bool, yes: bool, as_json: bool) -> None:
    from skillgit.cli import opened
    from skillgit.cli.changing import report, tell
    from skillgit.store.locks import SkillLock
    from skillgit.train.merging.other import merge_other, why_nothing

    with SkillLock.acquire(project.repo, name, "merge") as lock:
        ready = sessions(project, name, yes=yes)
        work = merge_other(
            project.repo, name, project.config.skill(name), other, ready, lock=lock, resolve=resolve, tell=tell
        )
        brought = opened.run(work)
    why = why_nothing(project.repo, name, project.config.skills, other) if brought is None else ""
    if brought is not None:
        report(name, brought.record, brought.run, as_json=as_json, mend="train on: it starts from the tip's document")
    elif as_json:
        print_json({"skill": name, "other": other, "commit": None, "reason": why})
    else:
        print(one_line(why))


def _show(name: str, error: ConflictError, *, as_json: bool) -> None:
    """Both sides of a conflict: facts on stdout where a program reads, else on stderr for the person."""
    if as_json:
        print_json({"skill": name, "commit": None, "conflicts": list(error.conflicts)})
    else:
        say(many_lines(error.shown))
