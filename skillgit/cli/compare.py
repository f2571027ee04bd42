"""`skillgit compare`: skills, runs, models and revisions in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import counted, one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.archive.lineup import Cell, Row, RunFacts

HEAD = (
    "what",
    "document",
    "lines",
    "tokens",
    "target",
    "val hard",
    "soft",
    "to first",
    "test hard",
    "soft",
    "to first",
)


@click.command("compare")
@click.argument("things", metavar="A [B]...", nargs=-1, required=True)
@click.option("--target", metavar="MODEL", help="Only scores of this target, as provider/model.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def command(things: tuple[str, ...], target: str | None, markdown: bool, as_json: bool) -> None:
    """Compare skills, runs and revisions by what is known of their documents; nothing is measured.

    Each of A, B, ... is NAME (the skill's best document), NAME@REV (a revision as `skillgit diff` takes it) or
    NAME@RUN (the beginning of a run's id: its best document, and what the run cost). There is a row for each target
    that a document was measured with. `to first` is the mean difference to the first row by the gate metric of the
    first skill, over the same tasks with the same target, with its standard error and the number of tasks; scores of
    other tasks or with another target are marked, and do not compare.
    """
    from skillgit.cli import opened
    from skillgit.errors import UsageError
    from skillgit.train.archive import lineup
    from skillgit.train.scoring.scores import metric_of

    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other", mend="choose one")
    with opened.project() as project:
        metric = metric_of(project.config.skill(things[0].partition("@")[0]).evaluation)
        items = [lineup.identify(project.repo, project.config.skill, text, metric) for text in things]
        found = lineup.rows(project.repo, items, metric, target)
    if as_json:
        print_json([row.to_json(metric) for row in found])
        return
    table = [HEAD, *(_cells(row) for row in found)]
    for line in _markdown(table) if markdown else _plain(table):
        print(line)
    runs = [(item.named, item.run) for item in items if item.run]
    notes = [f"{named}: {_training(run)}" for named, run in runs] + _mends(found)
    if notes:
        print()
    for line in notes:
        print(f"- {one_line(line)}" if markdown else one_line(line))


def _cells(row: Row) -> tuple[str, ...]:
    item = row.item
    return (
        item.named,
        item.revision.blob[:10],
        str(item.lines),
        str(item.tokens),
        row.target or "-",
        *_scores(row.val),
        *_scores(row.test),
    )


def _scores(cell: Cell) -> tuple[str, str, str]:
    """Hard, soft, and the difference to the first row, or why there is none."""
    from skillgit.cli.progress import points

    if cell.known is None:
        return "-", "-", "-"
    against = {"first": "", "unknown": "", "same": "-"}.get(cell.against, cell.against)
    if cell.paired is not None:
        error = "" if cell.paired.error is None else f" ± {cell.paired.error * 100:.1f}"
        against = f"{float(cell.paired.difference) * 100:+.1f}{error} (n={cell.paired.tasks})"
    return points(cell.known.hard), points(cell.known.soft), against


def _plain(table: list[tuple[str, ...]]) -> list[str]:
    texts = [[one_line(cell) for cell in row] for row in table]
    widths = [max(len(row[column]) for row in texts) for column in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts]


def _markdown(table: list[tuple[str, ...]]) -> list[str]:
    texts = [[one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in row] for row in table]
    lines = [f"| {' | '.join(row)} |" for row in texts]
    return [lines[0], f"|{'---|' * len(HEAD)}", *lines[1:]]


def _training(run: RunFacts) -> str:
    """`val 25.0% -> 75.0% in 12 steps, 5 accepted, 7 rejected; 230 calls, 12034 tokens, $0.4300`."""
    from skillgit.cli.progress import money, points

    other = "" if run.compares else " (val tasks or target changed on the way)"
    spent = f"{counted(run.calls, 'call')}, {counted(run.tokens, 'token')}{money(run.usd)}"
    counts = f"{run.accepted} accepted, {run.rejected} rejected"
    return f"val {points(run.start)} -> {points(run.best)}{other} in {run.steps} steps, {counts}; {spent}"


def _mends(found: list[Row]) -> list[str]:
    """For each row without any score, the command that measures it."""
    return [
        f"{row.item.named} was not measured: `skillgit eval {row.item.skill} --rev {_rev(row)} --split val`"
        for row in found
        if row.val.known is None and row.test.known is None
    ]


def _rev(row: Row) -> str:
    revision = row.item.revision
    return revision.commit[:12] if revision.commit else "REV"
