"""`skillgit log`: a skill's steps with their scores."""

from __future__ import annotations

import shutil
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, counted, is_terminal, joined, one_line, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from skillgit.store.repository import Repository
    from skillgit.train.archive.story import Entry
    from skillgit.train.archive.timeline import Line

FIRST = 100
"""Entries that the widths of columns are taken from before the first one is printed."""


@click.command("log")
@click.argument("name")
@click.option("--run", "only", metavar="RUN", help="Only this run (a prefix of its id is enough).")
@click.option("-n", "--max-count", type=click.IntRange(min=1), help="At most this many entries.")
@click.option("--graph", is_flag=True, help="Draw what became part of the branch, and what did not beside it.")
@click.option("--rejected", "buffer", is_flag=True, help="With the refs of rejected candidates, journal here or not.")
@click.option("--json", "as_json", is_flag=True, help="Print the entries as JSON, with their edits.")
def command(name: str, only: str | None, max_count: int | None, graph: bool, buffer: bool, as_json: bool) -> None:
    """Show the steps of skill NAME, newest first: decision, val score, change, edits and cost.

    A slow update, a person's commit, a revert or a merge has a row of its own. Other candidates of a step stand below
    it by their numbers. Commits on the branch that no run has seen come first.

    In the graph `*` is an accepted step, `o` where a run begins, `h` a person's commit, `m` a merge, `r` a revert, `b`
    a rollback, `c` a cherry-pick, `t` a retry; `x` is a rejected candidate and `?` an undecided one, beside the tip
    that they were tried on.
    """
    from itertools import islice

    from skillgit.cli import baseline, opened
    from skillgit.errors import UsageError
    from skillgit.train.archive import timeline

    with opened.project() as project:
        document = project.config.skill(name).document
        stream = timeline.timeline(project.repo, name, document, run=only or "", buffer=buffer)
        lines = iter(islice(stream, max_count))
        first = list(islice(lines, FIRST))
        if only is not None and not first:
            raise UsageError(f"{name} has no run {only}", mend=f"see `skillgit log {name}`")
        if as_json:
            print_json([line.to_json(refs=buffer) for line in (*first, *lines)])
            return
        if not first:
            print(_nothing(project.repo, name))
        _show(first, lines, graph=graph)
        # An older run may have been measured on other tasks than its baselines of today.
        for text in baseline.shown(project, name)[0] if only is None else ():
            print(text)


def _show(first: list[Line], rest: Iterable[Line], *, graph: bool) -> None:
    """Print the entries as they are read."""
    from itertools import chain

    from skillgit.cli.progress import MARKS, decided
    from skillgit.train.archive.graph import JOIN, WIDTH, column, kind_of, placed

    verdicts = (decided(one.record.kind, one.record.decision) for line in first for one in line.entries)
    widths = max(11, *map(len, verdicts), 0), max(10, *(len(spent(line.entry)) for line in first), 0)
    room = room_for(sys.stdout) - (WIDTH if graph else 0)
    run: str | None = None
    for line in chain(first, rest):
        if line.entry.run != run:
            run = line.entry.run
            title = f"run {run}" if run else "not measured yet"
            print(colour(title, "bold", sys.stdout))
        for text, one in _rows(line, widths, room):
            kind, decision = kind_of(one.record), one.record.decision
            drawn = column(kind, decision) if graph else ""
            print(drawn + colour(text, MARKS.get(decision, "dim"), sys.stdout))
            if graph and placed(kind, decision) == "side":
                print(JOIN)


def room_for(stream: TextIO) -> int:
    """Columns of a terminal; without end where nobody's screen is written to."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else sys.maxsize


def cut(text: str, room: int) -> str:
    """A text as far as there is room for it; wide characters take two columns."""
    if len(text) * 2 <= room:
        return text
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= room:
        return text
    return f"{set_cell_size(text, room - 1).rstrip()}…" if room > 1 else ""


def _rows(line: Line, widths: tuple[int, int], room: int) -> Iterator[tuple[str, Entry]]:
    """The rows of an entry: its own, or a person's commit's, and those of the step's other candidates."""
    if line.author:
        yield f"   -  {(line.entry.commit or '')[:10]}  {one_line(line.author)}: {one_line(line.subject)}", line.entry
        return
    for number, one in enumerate(line.entries):
        named = bool(number) or (line.refs.get(one.record.candidate) is not None and not one.journal)
        text = row(one, widths, room, candidate=bool(number), named=named)
        ref = line.refs.get(one.record.candidate) if one.record.commits else None
        yield (f"{text}  {ref}" if ref else text), one


def _nothing(repo: Repository, name: str) -> str:
    """What is said where there is no entry."""
    from skillgit.store.refs import SkillRefs
    from skillgit.train.archive.standing import elsewhere
    from skillgit.train.archive.told import Trailers

    branch = repo.read_ref(SkillRefs(name).branch)
    if branch is not None and Trailers(repo.objects.read_commit(branch).message).run:
        return f"skill/{name} is here, the journals of its runs are not: `skillgit fetch`"
    away = elsewhere(repo, name)
    if away:
        return f"{name} was not trained here, but on a remote that was fetched ({one_line(away[0])}): `skillgit fetch`"
    return f"{name} was not trained yet: `skillgit train {name}`"


def spent(entry: Entry) -> str:
    """A step's calls, and dollars where they are known."""
    from skillgit.cli.progress import money

    usd = entry.record.cost.get("usd")
    return f"{counted(entry.record.cost.get('calls', 0), 'call')}{money(None if usd is None else Decimal(usd))}"


def row(
    entry: Entry, widths: tuple[int, int], room: int = sys.maxsize, *, candidate: bool = False, named: bool = False
) -> str:
    """One step: number, decision, score, change, edits, cost, commit, reason. Or another candidate of the step above,
    by its number. Widths are of decision and cost; `named` shows a candidate's number; the reason is
    cut where the row would not fit into the room."""
    from skillgit.cli.progress import decided, reached
    from skillgit.train.archive.journal import exact_number

    record = entry.record
    score = reached(entry.score, exact_number(record.maximum)).replace("at most ", "<=")
    change = "" if entry.delta is None else f"{float(entry.delta) * 100:+.1f}"
    edits = f"{len(record.commits)} edit{'' if len(record.commits) == 1 else 's'}"
    cost = "" if candidate else spent(entry)
    number = f"-{record.candidate:02d}" if named else ""
    number = number if candidate else f"{record.step}{number}"
    verdict = one_line(decided(record.kind, record.decision))
    commit = (entry.commit or "")[:10]
    text = f"{number:>4}  {verdict:<{widths[0]}} {score:>8} {change:>6}  {edits:<8} {cost:<{widths[1]}} {commit:<10}"
    return f"{text}  {cut(joined(record.reason), room - len(text) - 2)}"
