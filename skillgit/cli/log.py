"""`skillgit log`: a skill's steps with their scores."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.archive.story import Entry


@click.command("log")
@click.argument("name")
@click.option("--run", "only", metavar="RUN", help="Only this run (a prefix of its id is enough).")
@click.option("-n", "--max-count", type=click.IntRange(min=1), help="At most this many steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON, with their edits.")
def command(name: str, only: str | None, max_count: int | None, as_json: bool) -> None:
    """Show the steps of skill NAME, newest first: decision, val score, change, edits and cost.

    A slow update has a row of its own. Other candidates of a step stand below it by their numbers.
    """
    import sys
    from itertools import islice

    from skillgit.cli import baseline, opened
    from skillgit.cli.progress import MARKS, decided
    from skillgit.errors import UsageError
    from skillgit.train.archive import story

    with opened.project() as project:
        project.config.skill(name)
        entries = (e for e in story.steps(project.repo, name) if only is None or e.run.startswith(only))
        shown = list(islice(entries, max_count))
        # An older run may have been measured on other tasks than its baselines of today.
        baselines = baseline.shown(project, name)[0] if only is None and not as_json else []
    if only is not None and not shown:
        raise UsageError(f"{name} has no run {only}", mend=f"see `skillgit log {name}`")
    if as_json:
        print_json([entry.to_json() for entry in shown])
        return
    if not shown:
        print(f"{name} was not trained yet: `skillgit train {name}`")
    verdicts = max((len(decided(e.record.kind, e.record.decision)) for e in shown), default=0)
    widths = max(verdicts, 11), max((*(len(spent(e)) for e in shown), 10))
    run = ""
    for entry in shown:
        if entry.run != run:
            run = entry.run
            print(colour(f"run {run}", "bold", sys.stdout))
        for number, one in enumerate((entry, *entry.others)):
            text = row(one, widths, candidate=bool(number))
            print(colour(text, MARKS.get(one.record.decision, "dim"), sys.stdout))
    for line in baselines:
        print(line)


def spent(entry: Entry) -> str:
    """A step's calls, and dollars where they are known."""
    from skillgit.cli.progress import money

    usd = entry.record.cost.get("usd")
    return f"{entry.record.cost.get('calls', 0)} calls{money(None if usd is None else Decimal(usd))}"


def row(entry: Entry, widths: tuple[int, int], *, candidate: bool = False) -> str:
    """One step: number, decision, score, change, edits, cost, commit, reason. Or another candidate of the step above,
    by its number. Widths are of decision and cost."""
    from skillgit.cli.progress import decided, reached
    from skillgit.train.archive.journal import exact_number

    record = entry.record
    score = reached(entry.score, exact_number(record.maximum)).replace("at most ", "<=")
    change = "" if entry.delta is None else f"{float(entry.delta) * 100:+.1f}"
    edits = f"{len(record.commits)} edit{'' if len(record.commits) == 1 else 's'}"
    cost = "" if candidate else spent(entry)
    number = f"-{record.candidate:02d}" if candidate else str(record.step)
    verdict = decided(record.kind, record.decision)
    commit = (entry.commit or "")[:10]
    text = f"{number:>4}  {verdict:<{widths[0]}} {score:>8} {change:>6}  {edits:<8} {cost:<{widths[1]}} {commit:<10}"
    return f"{text}  {one_line(record.reason)}"
