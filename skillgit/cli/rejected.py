"""`skillgit rejected`: the candidates that the gate refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.archive.story import Rejected


@click.group("rejected")
def command() -> None:
    """List and show rejected candidates; each is kept under refs/skillgit/rejected."""


@command.command("list", short_help="List the rejected candidates of skill NAME.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_(name: str, as_json: bool) -> None:
    """List the rejected candidates of skill NAME, newest step first; STEP-KK is candidate KK of a step."""
    from skillgit.cli import opened
    from skillgit.train.archive import story

    with opened.project() as project:
        project.config.skill(name)
        found = story.rejected(project.repo, name)
    if as_json:
        print_json([_to_json(item) for item in found])
        return
    if not found:
        print(f"{name} has no rejected candidates")
    for item in found:
        print(f"{item.run} step {_place(item):>7}  {item.commit[:10]}  {_verdict(item)}")


@command.command("show", short_help="Show one rejected candidate of skill NAME.")
@click.argument("name")
@click.argument("step")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def show(name: str, step: str, as_json: bool) -> None:
    """Show one rejected candidate of skill NAME.

    STEP is the step's number, of the newest run that has it, or RUN/STEP; STEP-KK is candidate KK, needed where more
    than one of the step was rejected.
    """
    from skillgit.cli import opened
    from skillgit.train.archive import story

    with opened.project() as project:
        document = project.config.skill(name).document
        item = _find(story.rejected(project.repo, name), name, step)
        start = f"{item.commit}~{len(item.entry.record.commits)}" if item.entry else f"{item.commit}^"
        path = f":(top,literal){document}"
        diff = project.repo.git("diff", "--no-color", "--no-ext-diff", start, item.commit, "--", path).out.decode(
            errors="replace"
        )
    if as_json:
        print_json({**_to_json(item), "diff": diff})
        return
    print(f"{item.ref}\ncommit {item.commit}\n{_verdict(item)}")
    for edit in item.entry.record.edits if item.entry else []:
        why = one_line(str(edit.get("reason") or ""))
        print(f"  {edit.get('op')} ({edit.get('status')}){': ' if why else ''}{why}")
    print(f"\n{diff}", end="")


def _find(found: list[Rejected], name: str, step: str) -> Rejected:
    import re

    from skillgit.errors import UsageError

    run, _, place = step.rpartition("/")
    asked = re.fullmatch(r"0*(\d{1,9})(?:-0*(\d{1,9}))?", place)
    fitting = [
        item
        for item in found
        if asked and item.run.startswith(run) and item.step == int(asked[1]) and asked[2] in (None, str(item.candidate))
    ]
    fitting = [item for item in fitting if item.run == fitting[0].run]
    if not fitting:
        raise UsageError(f"{name} has no rejected candidate {step!r}", mend=f"see `skillgit rejected list {name}`")
    if len(fitting) > 1:
        which = ", ".join(_place(item) for item in fitting)
        raise UsageError(f"{name} has more than one rejected candidate {step!r}: {which}", mend="name one of them")
    return fitting[0]


def _place(item: Rejected) -> str:
    return f"{item.step}-{item.candidate:02d}"


def _verdict(item: Rejected) -> str:
    from skillgit.cli.progress import points, reached
    from skillgit.train.archive.journal import exact_number

    if item.entry is None:
        return "its journal is not here"
    record = item.entry.record
    score = reached(item.entry.score, exact_number(record.maximum))
    kind = "" if record.kind == "step" else f"{record.kind}: "
    return f"{kind}val {points(exact_number(record.before))} -> {score}: {one_line(record.reason)}"


def _to_json(item: Rejected) -> dict[str, object]:
    return {
        "ref": item.ref,
        "commit": item.commit,
        "run": item.run,
        "step": item.step,
        "candidate": item.candidate,
        "record": item.entry.to_json() if item.entry else None,
    }
