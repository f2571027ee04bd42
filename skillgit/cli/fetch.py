"""`skillgit fetch`: get skills' history from a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.sharing.fetching import Fetched


@click.command("fetch")
@click.argument("remote", required=False)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--evidence", is_flag=True, help="Transcripts of attempts and optimizer calls too, where they were sent.")
@click.option("--dry-run", is_flag=True, help="Only show what would be fetched.")
@click.option("--json", "as_json", is_flag=True, help="Print what was fetched as JSON.")
def command(remote: str | None, names: tuple[str, ...], evidence: bool, dry_run: bool, as_json: bool) -> None:
    """Get the history of skills from REMOTE: branches, tags, journals, rejected candidates, best and notes.

    REMOTE is the one that `git fetch` would choose, else origin, unless given; NAMEs are the skills of skillgit.yaml
    and all that the remote has. What is here only moves forward: a branch that is behind goes along with its journals
    and best; one that has gone another way stays, and the next `skillgit train` re-bases it. Nothing is removed, and
    pruned candidates do not come back.
    """
    from pathlib import Path

    from skillgit.store.repository import Repository
    from skillgit.train.sharing.fetching import fetch

    repo = Repository.open(Path.cwd())
    try:
        done = fetch(
            repo,
            remote,
            names,
            evidence=evidence,
            dry_run=dry_run,
            say=lambda text: say(f"note: {one_line(text)}"),
        )
    finally:
        repo.close()
    if as_json:
        print_json(_json(done, dry_run))
        return
    _print(done, dry_run)


def _json(done: Fetched, dry_run: bool) -> dict[str, object]:
    got = [
        {
            "ref": one.what.ref,
            "skill": one.what.name,
            "kind": one.what.kind.value,
            "to": one.place,
            "old": one.old,
            "new": one.new,
        }
        for one in done.plan.get
    ]
    return {
        "remote": done.remote,
        "dry_run": dry_run,
        "skills": list(done.skills),
        "fetched": got,
        "moved": [{"ref": one.ref, "old": one.old, "new": one.new} for one in done.moved],
        "left": list(done.left),
        "conflicts": [one.ref for one in done.plan.conflicts],
        "pruned": done.plan.pruned,
        "notes": done.notes,
    }


def _print(done: Fetched, dry_run: bool) -> None:
    from skillgit.cli.sharing import kinds, listed

    remote, would = one_line(done.remote), "would fetch" if dry_run else "fetched"
    counts = kinds(one.what for one in done.plan.get)
    moved = {one.ref: one.new for one in done.moved}
    if not done.skills:
        print(f"{remote} has nothing of a skill")
    for name in done.skills:
        if name in counts:
            print(f"{name}: {would} {listed(counts[name])} from {remote}")
        else:
            print(f"{name}: nothing new on {remote}")
        tip = moved.get(f"refs/heads/skill/{name}")
        if tip is not None:
            print(f"{name}: skill/{name} went forward to {tip[:12]}")
        if name in done.unstarted:
            print(f"{name}: `skillgit train {name}` starts from {remote}/skill/{name}")
    if done.plan.pruned:
        number = done.plan.pruned
        stay = " that was pruned stays" if number == 1 else "s that were pruned stay"
        print(f"{number} rejected candidate{stay} on {remote}")
    if done.notes:
        print(f"notes: {would} from {remote}")
    for text in done.left:
        say(f"note: {one_line(text)}")
