"""`skillgit status`: where each skill stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgit.train.archive.standing import Fetched, Holder, Status


@click.command("status")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str | None, as_json: bool) -> None:
    """Show where skill NAME, or every skill, stands: branch, best, base, run, rejected, remotes, lock."""
    from skillgit.cli import baseline, opened
    from skillgit.train.archive import standing

    with opened.project() as project:
        names = [name] if name else sorted(project.config.skills)
        found = [standing.status(project.repo, n, project.config.skill(n)) for n in names]
        baselines = [baseline.shown(project, n) for n in names]
    if as_json:
        print_json(
            [{**status.to_json(), "baselines": rows} for status, (_, rows) in zip(found, baselines, strict=True)]
        )
        return
    if not found:
        print("skillgit.yaml has no skills: `skillgit init --skill NAME`")
    for status, (lines, _) in zip(found, baselines, strict=True):
        print("\n".join([*_lines(status), *(f"  {line}" for line in lines)]))


def _lines(status: Status) -> list[str]:
    lines = [f"{status.name}: {status.document}", *_refs(status)]
    if status.best is None and status.run is None:
        if status.remotes:
            lines.append("  not trained here yet; its history is on a remote: `skillgit fetch`")
        else:
            lines.append(f"  not trained here yet: `skillgit train {status.name}`")
        return [*lines, *_around(status)]
    if status.best is not None:
        lines.append(f"  base     {_base(status)}")
    if status.unmeasured_base:
        lines.append(f"  note     the document on {status.base} differs from its best_skill.md: nobody measured it")
    if status.unmeasured_commits:
        are = "commit on the branch is" if status.unmeasured_commits == 1 else "commits on the branch are"
        lines.append(f"  note     {status.unmeasured_commits} {are} not measured yet")
    if status.run is not None:
        lines.append(f"  run      {status.run}, step {status.run_step} of {status.run_steps}, {_state(status)}")
    lines += _around(status)
    which = "this run" if status.accepted_run == status.run else f"run {status.accepted_run}"
    lines.append(f"  steps    {status.accepted} accepted in {which}, {status.rejected} rejected kept")
    return lines


def _refs(status: Status) -> Iterator[str]:
    """The branch and the best document; or what the journals here know of them, and how they come back."""
    from skillgit.cli.progress import points

    branch = f"skill/{status.name}"
    if status.branch is not None:
        yield f"  branch   {branch} at {status.branch[:12]}"
    elif status.fetched_only:
        there = one_line(status.remotes[0].ref.removeprefix("refs/remotes/"))
        yield f"  branch   not here yet: `skillgit train {status.name}` starts from {there}"
    for ref in status.missing:
        what = "branch" if ref.startswith("refs/heads/") else "best"
        yield f"  {what:<8} {ref.removeprefix('refs/heads/')} is missing: `skillgit doctor --repair` brings it back"
    if status.best is not None and status.best_score is not None:
        yield f"  best     {status.best[:12]}, val {points(status.best_score)}"
    elif status.best is not None:
        yield f"  best     {status.best[:12]}, not measured: `skillgit eval {status.name} --split val` does that"


def _base(status: Status) -> str:
    """How the base's document stands to the best one, and what there is to do."""
    name, base = status.name, status.base
    # A detached HEAD is no branch that something can be merged into; the training branch is no base.
    into = "BRANCH" if base in ("HEAD", f"skill/{name}") else base
    merge = f"`skillgit merge {name} --into {into}`"
    if status.base_state == "best":
        return f"{base} has the best document"
    if status.base_state == "merged":
        return f"{base} has the best document, merged with what people changed there"
    if status.base_state == "copy":
        return f"{base} has the best document, and another best_skill.md: {merge} writes it anew"
    if status.base_state == "person":
        return f"{base} has people's document, to which the best one adds nothing: train again, it starts from theirs"
    if status.base_state == "gone":
        return f"{base} has no {status.document}: it was deleted or renamed there"
    if status.base_commit is None:
        return f"there is no branch {base}"
    return f"{base} does not have the best document: {merge}"


def _state(status: Status) -> str:
    if not status.running:
        return f"finished: {one_line(status.run_reason)}"
    due = f", the end of epoch {status.run_epoch} is due" if status.closing else ""
    return f"unfinished{due}, `skillgit train` goes on"


def _around(status: Status) -> Iterator[str]:
    """What lies outside of the skill's own history: a review, remotes, whoever works on it."""
    if status.published is not None:
        count = f"{status.unpublished} more commit{'' if status.unpublished == 1 else 's'}"
        more = f", the branch has {count}" if status.unpublished else ""
        yield f"  review   {status.published[:12]} was pushed for review{more}"
    for fetched in status.remotes:
        yield f"  remote   {_remote(fetched)}"
    if status.lock is not None:
        yield f"  lock     {_holder(status.lock)}"


def _remote(fetched: Fetched) -> str:
    short = one_line(fetched.ref.removeprefix("refs/remotes/"))
    if fetched.ahead is None or fetched.behind is None:
        return f"{short} at {fetched.commit[:12]}"
    if not fetched.ahead and not fetched.behind:
        return f"{short} is where the branch is"
    counts = ((fetched.ahead, "ahead of"), (fetched.behind, "behind"))
    told = " and ".join(f"{number} commit{'' if number == 1 else 's'} {how}" for number, how in counts if number)
    return f"the branch is {told} {short}, as last fetched"


def _holder(lock: Holder) -> str:
    command = f" ({lock.command})" if lock.command else ""
    who = one_line(f"process {lock.pid}{command} on {lock.host} since {lock.since}")
    if lock.alive is False:
        return f"left by {who}, which has ended: the next command takes it over"
    return f"held by {who}"
