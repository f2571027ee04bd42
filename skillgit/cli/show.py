"""`skillgit show`: one decision whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, counted, joined, many_lines, one_line, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from skillgit.train.archive.attempts import Attempt, Flip
    from skillgit.train.archive.showing import Shown
    from skillgit.train.project import Project


@click.command("show")
@click.argument("name", required=False, metavar="[NAME]")
@click.argument("rev", required=False, metavar="[REV|STEP]")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str | None, rev: str | None, as_json: bool) -> None:
    """Show one decision of skill NAME whole: verdict, edits with their reasons, tasks that flipped, cost, diff.

    REV is any revision of git's: a candidate's last commit or one of its edits, a rejected ref, a merge, a tag, a
    person's commit, a journal's commit; or `best`, `tip`, `base`. STEP is 7, RUN/7 (the beginning of a run's id is
    enough) or 7-02, candidate 2 of a step. Nothing means the newest entry. NAME may be left out where there is one
    skill, or where the commit says which it is of.

    A score is shown only of a document that was measured, whatever a commit's trailers say.
    """
    from skillgit.cli import opened
    from skillgit.train.archive import showing

    with opened.project() as project:
        skill, text = _asked(project, name, rev)
        shown = showing.show(project.repo, skill, project.config.skill(skill), text)
    if as_json:
        print_json(shown.to_json())
        return
    for line in _lines(shown):
        print(line)
    if shown.diff:
        print()
    for line in shown.diff.split("\n")[:-1]:
        print(_coloured(many_lines(line.removesuffix("\r"))))


def _asked(project: Project, name: str | None, rev: str | None) -> tuple[str, str]:
    """The skill and what to show of it."""
    from skillgit.errors import UsageError
    from skillgit.train.archive import showing

    skills = project.config.skills
    if name is not None and rev is not None:
        return name, rev
    if name in skills:
        return name, ""
    text = name or ""
    skill = showing.skill_of(project.repo, skills, text)
    if skill is not None:
        return skill, text
    if not skills:
        raise UsageError("skillgit.yaml has no skills", mend="make one with `skillgit init --skill NAME`")
    among, mend = ", ".join(sorted(skills)), f"`skillgit show NAME{' ' if text else ''}{text}`"
    if not text:
        raise UsageError(f"there is more than one skill: {among}", mend=f"name one: {mend}")
    raise UsageError(f"{text!r} is no skill, and nothing says which one it is of: {among}", mend=f"name one: {mend}")


def _lines(shown: Shown) -> Iterator[str]:
    yield from _head(shown)
    yield from _verdict(shown)
    for remark in shown.remarks:
        yield one_line(f"note {remark.at[:10]} {remark.by}: {remark.text}")
    if shown.edits:
        yield ""
    for number, edit in enumerate(shown.edits, start=1):
        yield from _edit(number, edit)
    for way in ("gained", "lost"):
        chosen = [flip for flip in shown.flips if flip.way == way]
        if chosen:
            yield f"\ntasks {way}:"
        for flip in chosen:
            yield from _flip(flip)
    yield from _cost(shown)


def _head(shown: Shown) -> Iterator[str]:
    """What it is, and where it stands."""
    from skillgit.cli.progress import MARKS, decided
    from skillgit.train.archive.told import date_of

    entry, commit = shown.entry, shown.commit
    if entry is not None:
        record = entry.record
        named = bool(record.commits) and (shown.several or record.kind != "step")
        number = f"-{record.candidate:02d}" if named else ""
        text = one_line(f"step {record.step}{number}: {decided(record.kind, record.decision)}")
        yield colour(text, MARKS.get(record.decision, "bold"), sys.stdout)
        yield f"run {entry.run}"
        yield f"journal {entry.journal}"
        yield f"date {shown.decided}"
    elif shown.kind == "person":
        yield colour("a person's commit", "bold", sys.stdout)
    else:
        yield colour(one_line(f"a commit of kind {shown.kind}"), "bold", sys.stdout)
    if commit is not None:
        written = "" if shown.decided else f", {date_of(commit.author_time)}"
        yield f"commit {commit.oid}"
        yield one_line(f"by {commit.author}{written}: {commit.subject}")
    if shown.edit is not None and shown.edit[0] < shown.edit[1]:
        yield f"edit {shown.edit[0]} of {shown.edit[1]}; the verdict is on all of them together"
    if shown.copied is not None:
        run, step = shown.copied
        yield f"its trailers are of step {step} of run {run}, which it is not itself"
    if shown.tag:
        yield from (f"tag   {line}" for line in many_lines(shown.tag).split("\n"))


def _verdict(shown: Shown) -> Iterator[str]:
    """The scores, and the verdict's sentence."""
    from skillgit.train.archive.journal import exact_number

    entry, found = shown.entry, shown.measured
    inner = shown.edit is not None and shown.edit[0] < shown.edit[1]
    if inner and entry is not None and entry.reached is not None:
        yield f"all edits together: {_score(entry.score, exact_number(entry.record.maximum), entry.before)}"
    if found is not None:
        own = entry is not None and not inner and found.source == "journal"
        where = "" if own else f", from {one_line(found.where)}"
        yield f"{_score(found.score, found.maximum, found.before)}{where}"
    elif shown.commit is not None:
        yield "not measured" if shown.blob is not None else f"it has no {shown.document}"
    if entry is not None and entry.record.reason:
        yield joined(entry.record.reason)


def _score(score: Fraction | None, maximum: Fraction | None, before: Fraction | None) -> str:
    from skillgit.cli.progress import points, reached

    after = reached(score, maximum)
    if before is None:
        return f"val {after}"
    change = "" if score is None else f" ({float(score - before) * 100:+.1f})"
    return f"val {points(before)} -> {after}{change}"


def _edit(number: int, edit: dict[str, object]) -> Iterator[str]:
    """An edit: what, status, support, commit; its reason, and why where it could not be applied."""
    from skillgit.train.archive.messages import SOURCES

    source, support = str(edit.get("source")), edit.get("support")
    noun = source if support == 1 else SOURCES.get(source, source)
    commit = str(edit["commit"] or "")[:10]
    parts = [f"{edit.get('op')} ({edit.get('status')})", f"{support} {noun}" if support else "", commit]
    yield f"{number}  {one_line(', '.join(part for part in parts if part))}"
    text = str(edit.get("content") or edit.get("target") or "")
    for label, value in (("", text), ("reason: ", edit.get("reason")), ("why: ", edit.get("why"))):
        if value:
            yield f"   {label}{_short(str(value)) if not label else joined(str(value))}"


def _flip(flip: Flip) -> Iterator[str]:
    yield f"  {one_line(flip.task)}" + (f"  {_short(flip.input)}" if flip.input else "")
    if flip.before is None and flip.after is None:
        return
    yield f"    before  {_attempt(flip.before)}"
    yield f"    after   {_attempt(flip.after)}"


def _attempt(attempt: Attempt | None) -> str:
    if attempt is None:
        return "(the attempt is not here)"
    if attempt.hard is None:
        return f"failed: {_short(attempt.said)}"
    why = f"  ({_short(attempt.said)})" if attempt.said else ""
    return f"{float(attempt.hard):g}  {_short(attempt.reply)}{why}"


def _cost(shown: Shown) -> Iterator[str]:
    """Tokens and money by role."""
    from skillgit.cli.progress import money

    if shown.spent:
        yield ""
    for row in shown.spent:
        spent = f"{counted(row.calls, 'call')}, {counted(row.tokens, 'token')}{money(row.usd)}"
        yield f"{one_line(row.role):<10} {spent}"


def _short(text: str, most: int = 160) -> str:
    flat = one_line(text)
    return flat if len(flat) <= most else f"{flat[:most].rstrip()}…"


def _coloured(line: str) -> str:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return colour(line, style, sys.stdout) if style else line
