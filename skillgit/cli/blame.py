"""`skillgit blame`: which edit or person brought each line of a document."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, many_lines, one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.archive.blaming import Origin

_STYLES = {"edit": "green", "copied": "yellow", "unknown": "yellow"}


@click.command("blame")
@click.argument("name")
@click.argument("rev", required=False)
@click.option("-L", "ranges", metavar="START,END", multiple=True, help="Only these lines, as `git blame -L` has them.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str, rev: str | None, ranges: tuple[str, ...], as_json: bool) -> None:
    """Show for each line of the document of skill NAME the step, score change, support and reason that brought it.

    Lines of people have their name and date. REV is a revision as `skillgit diff` takes it; the training branch's tip
    unless given. A commit that has a step's trailers but is not the one that the journal lists (plain git copied,
    rebased or amended it) was not measured, and has no score.
    """
    from skillgit.cli import opened
    from skillgit.errors import UsageError
    from skillgit.store.refs import SkillRefs
    from skillgit.train.archive import blaming
    from skillgit.train.archive.revisions import BASE, TIP, find

    with opened.project() as project:
        repo, settings = project.repo, project.config.skill(name)
        trained = repo.read_ref(SkillRefs(name).branch) is not None
        revision = find(repo, name, settings, rev or (TIP if trained else BASE))
        if revision.commit is None:
            raise UsageError(f"{revision.named}: no commit has its document", mend="name a step that has a candidate")
        found = blaming.blame(repo, name, revision.commit, settings.document, ranges)
    if as_json:
        lines = [{"line": line.number, "text": line.text, "commit": line.commit} for line in found.lines]
        origins = {commit: origin.to_json() for commit, origin in found.origins.items()}
        print_json({"skill": name, **revision.to_json(), "lines": lines, "commits": origins})
        return
    width = len(str(found.lines[-1].number)) if found.lines else 1
    for commit, group in groupby(found.lines, key=lambda line: line.commit):
        origin = found.origins[commit]
        print(colour(one_line(heading(origin)), _STYLES.get(origin.kind, "cyan"), sys.stdout))
        for line in group:
            print(f"  {line.number:>{width}}  {many_lines(line.text)}".rstrip())


def heading(origin: Origin) -> str:
    """`1a2b3c4d5e step 7.2 of run 01k9x0c5v2, +2.1: 3 failures: why`; or the person and the date."""
    commit, run = origin.commit.oid[:10], (origin.run or "")[:10]
    who = f"{origin.commit.author}, {origin.commit.date:%Y-%m-%d}"
    if origin.kind == "edit":
        return f"{commit} {_edit(origin, run)}"
    if origin.kind == "copied":
        return f"{commit} copied from step {origin.step} of run {run}, not measured as it is ({who})"
    if origin.kind == "unknown":
        return f"{commit} step {origin.step} of run {run}, whose journal is not here"
    if origin.kind == "ours":
        return f"{commit} {origin.what or 'commit'} of run {run}: {origin.commit.summary}"
    start = " (before training)" if origin.kind == "base" else ""
    return f"{commit} {who}{start}: {origin.commit.summary}"


def _edit(origin: Origin, run: str) -> str:
    edit, entry = origin.edit, origin.entry
    kind = "" if origin.what == "step" else f"{origin.what} "
    delta = "" if origin.delta is None else f", {float(origin.delta) * 100:+.1f}"
    decided = f" {entry.record.decision}" if entry and not entry.record.accepted else ""
    if edit is None:
        return f"{kind}step {origin.step} of run {run}{decided}{delta}"
    shared = f" with {edit.count - 1} other edit{'s' if edit.count > 2 else ''}" if edit.count > 1 and delta else ""
    return f"{kind}step {edit.place} of run {run}{decided}{delta}{shared}{_why(edit.row)}"


def _why(row: dict[str, object]) -> str:
    """Support and reason, as far as the edit has them."""
    from skillgit.train.archive.messages import SOURCES

    support, source = row.get("support"), str(row.get("source") or "")
    many = SOURCES.get(source, source) if support != 1 else source
    said = [f"{support} {many}"] if support and source else []
    reason = str(row.get("reason") or row.get("why") or "").strip()
    return "".join(f": {part}" for part in [*said, reason] if part)
