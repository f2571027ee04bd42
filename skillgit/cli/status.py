"""`skillgit status`: where each skill stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import print_json

if TYPE_CHECKING:
    from skillgit.train.archive.story import Status


@click.command("status")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str | None, as_json: bool) -> None:
    """Show where skill NAME, or every skill, stands: branch, best, base, run, rejected."""
    from skillgit.cli import baseline, opened
    from skillgit.train.archive import story

    with opened.project() as project:
        names = [name] if name else sorted(project.config.skills)
        found = [story.status(project.repo, n, project.config.skill(n)) for n in names]
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
    from skillgit.cli.progress import points

    lines = [f"{status.name}: {status.document}"]
    if status.branch is not None:
        lines.append(f"  branch   skill/{status.name} at {status.branch[:12]}")
    if status.best is None:
        return [*lines, f"  not trained here yet: `skillgit train {status.name}`"]
    lines.append(f"  best     {status.best[:12]}, val {points(status.best_score)}")
    if status.merged:
        lines.append(f"  base     {status.base} has the best document")
    else:
        # A detached HEAD is no branch that something can be merged into.
        into = "BRANCH" if status.base == "HEAD" else status.base
        merge = f"`skillgit merge {status.name} --into {into}`"
        lines.append(f"  base     {status.base} does not have the best document: {merge}")
    if status.unmeasured_base:
        lines.append(f"  note     the document on {status.base} differs from its best_skill.md: nobody measured it")
    if status.unmeasured_commits:
        lines.append(f"  note     {status.unmeasured_commits} commits on the branch are not measured yet")
    if status.run is not None:
        state = "unfinished, `skillgit train` goes on" if status.running else f"finished: {status.run_reason}"
        lines.append(f"  run      {status.run}, step {status.run_step} of {status.run_steps}, {state}")
    which = "this run" if status.accepted_run == status.run else f"run {status.accepted_run}"
    lines.append(f"  steps    {status.accepted} accepted in {which}, {status.rejected} rejected kept")
    return lines
