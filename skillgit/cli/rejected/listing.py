"""`skillgit rejected list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import print_json
from skillgit.cli.rejected.naming import place, said, to_json, verdict

if TYPE_CHECKING:
    from skillgit.train.archive.buffer import Order


@click.command("list")
@click.argument("name")
@click.option(
    "--sort",
    "order",
    type=click.Choice(["step", "close", "day", "reason"]),
    default="step",
    show_default=True,
    help="step: newest first; close: nearest to the document it had to beat first; day: newest first; reason: by text.",
)
@click.option("--run", "only", metavar="RUN", default="", help="Only this run (a prefix of its id is enough).")
@click.option("-n", "--max-count", type=click.IntRange(min=1), help="At most this many candidates.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str, order: Order, only: str, max_count: int | None, as_json: bool) -> None:
    """List the rejected candidates of skill NAME with the notes that people left on them.

    STEP-KK is candidate KK of a step. How close one came is its score, or what it could still have reached when it was
    given up, minus the score of the document that it had to beat.
    """
    from skillgit.cli import opened
    from skillgit.errors import UsageError
    from skillgit.train.archive import buffer, story
    from skillgit.train.archive.remarks import Remarks

    with opened.project() as project:
        document = project.config.skill(name).document
        known, remarks = story.Steps(project.repo, name), Remarks(project.repo)
        kept = story.rejected(project.repo, name, known)
        found = [item for item in kept if item.run.startswith(only)]
        if only and not found:
            raise UsageError(f"{name} has no rejected candidates of a run {only}", mend=f"see `skillgit log {name}`")
        tells = buffer.told(project.repo, name, document, known) if order in ("close", "day") else {}
        found = buffer.ordered(found, order, tells)[:max_count]
        tells = tells or buffer.told(project.repo, name, document, known, found)
        if as_json:
            print_json([to_json(item, tells.get(item.ref), remarks.of(item.commit)) for item in found])
            return
        if not found:
            print(f"{name} has no rejected candidates")
        for item in found:
            told = tells.get(item.ref, buffer.NOTHING)
            line = f"{item.run} step {place(item):>7}  {item.commit[:10]}  {told.day:<10}  {verdict(item, told)}"
            print(line)
            for remark in remarks.of(item.commit):
                print(f"    {said(remark)}")
