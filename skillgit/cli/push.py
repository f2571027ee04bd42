"""`skillgit push`: send skills' history to a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.sharing.pushing import Pushed


@click.command("push")
@click.argument("remote", required=False)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--evidence", is_flag=True, help="Transcripts of attempts and optimizer calls too.")
@click.option("--dry-run", is_flag=True, help="Only show what would be sent.")
@click.option("--json", "as_json", is_flag=True, help="Print what was sent as JSON.")
def command(remote: str | None, names: tuple[str, ...], evidence: bool, dry_run: bool, as_json: bool) -> None:
    """Send the history of skills to REMOTE: branches, tags, journals, rejected candidates, best and notes.

    REMOTE is the one that `git push` would choose, else origin, unless given; NAMEs are the skills of skillgit.yaml.
    All refs go or none, where the remote can do that. A remote that has commits which are not here is refused before
    anything is sent; nothing is ever overwritten or removed there.
    """
    from pathlib import Path

    from skillgit.store.repository import Repository
    from skillgit.train.sharing.pushing import push

    repo = Repository.open(Path.cwd())
    try:
        done = push(
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


def _json(done: Pushed, dry_run: bool) -> dict[str, object]:
    sent = [
        {
            "ref": one.what.ref,
            "skill": one.what.name,
            "kind": one.what.kind.value,
            "action": one.action,
            "old": one.old,
            "new": one.new,
        }
        for one in done.plan.send
    ]
    return {
        "remote": done.remote,
        "dry_run": dry_run,
        "skills": list(done.skills),
        "sent": sent,
        "same": done.plan.same,
        "left": list(done.plan.notes),
        "notes": done.notes,
    }


def _print(done: Pushed, dry_run: bool) -> None:
    from skillgit.cli.sharing import kinds, listed

    remote, would = one_line(done.remote), "would send" if dry_run else "sent"
    counts = kinds(one.what for one in done.plan.send)
    if not done.skills:
        print("no skill to push: skillgit.yaml names none")
    for name in done.skills:
        if name in counts:
            print(f"{name}: {would} {listed(counts[name])} to {remote}")
        else:
            print(f"{name}: nothing new for {remote}")
    if done.notes in ("sent", "merged"):
        with_theirs = f", united with those of {remote}" if done.notes == "merged" else ""
        print(f"notes: {would} to {remote}{with_theirs}")
    for text in done.plan.notes:
        say(f"note: {one_line(text)}")
