"""`skillgit rejected prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.models.base import Json
    from skillgit.train.sharing.pruning import Pruned


@click.command("prune")
@click.argument("name")
@click.argument("steps", metavar="[STEP]...", nargs=-1)
@click.option("--run", metavar="RUN", help="Those of this run (a prefix of its id is enough).")
@click.option("--older-than", type=click.IntRange(min=0), metavar="DAYS", help="Those made so many days ago.")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option(
    "--push",
    "remote",
    metavar="REMOTE",
    is_flag=False,
    flag_value="",
    help="Delete them on a remote too: --push=REMOTE, or --push for the one that `skillgit push` uses. "
    "Without candidates: those that were pruned here before.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was removed as JSON.")
def command(
    name: str,
    steps: tuple[str, ...],
    run: str | None,
    older_than: int | None,
    everything: bool,
    dry_run: bool,
    remote: str | None,
    as_json: bool,
) -> None:
    """Remove rejected candidates of skill NAME from the buffer.

    STEP is as for `rejected show`. A later fetch does not bring them back, and a later push does not send them, here
    and, once the list of them was pushed, in other clones. Without candidates: those that were pruned elsewhere. Only
    their refs go: the commits stay as long as the run's journal is kept, which needs them.
    """
    from datetime import timedelta

    from skillgit.cli import opened
    from skillgit.cli.changing import tell
    from skillgit.errors import RefusedError, UsageError
    from skillgit.train.sharing.pruning import Wanted, run_prune

    if steps and (run is not None or older_than is not None or everything):
        raise UsageError("STEPs and --run, --older-than or --all exclude each other", mend="leave one of the two out")
    age = timedelta(days=older_than) if older_than is not None else None
    with opened.project() as project:
        project.config.skill(name)
        done = run_prune(
            project.repo,
            name,
            Wanted(steps, run, age, everything),
            remote=remote or None,
            push=remote is not None,
            dry_run=dry_run,
            tell=tell,
            say=lambda text: say(f"note: {one_line(text)}"),
        )
    if as_json:
        print_json(_json(name, done, dry_run))
    else:
        _print(name, done, dry_run)
    if done.differing:
        first, more = done.differing[0], len(done.differing) - 1
        others = f" and {more} more" if more else ""
        raise RefusedError(
            f"{done.remote} has another commit at {first}{others}, which stays there",
            mend="see what it is before deleting it by hand",
        )


def _json(name: str, done: Pruned, dry_run: bool) -> dict[str, Json]:
    """Stable keys."""
    return {
        "skill": name,
        "dry_run": dry_run,
        "pruned": list(done.here),
        "remote": done.remote,
        "deleted": list(done.there),
        "differing": list(done.differing),
    }


def _print(name: str, done: Pruned, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for ref in done.here if dry_run else ():
        print(ref)
    if done.here or done.remote is None:
        number = len(done.here)
        print(f"{number} rejected candidate{'' if number == 1 else 's'} of {name} {would}pruned here")
    if done.remote is not None:
        print(f"{len(done.there)} {would}deleted on {one_line(done.remote)}")
