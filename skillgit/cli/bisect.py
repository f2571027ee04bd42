"""`skillgit bisect`: which edit broke or fixed a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skillgit.cli.output import one_line, print_json

if TYPE_CHECKING:
    from skillgit.store.repository import Repository
    from skillgit.train.trace.bisect import Flip, Point


@click.command("bisect")
@click.argument("name")
@click.option("--task", "task", metavar="ID", required=True, help="The task, of any split.")
@click.option("--from", "start", metavar="REV", help="Where to begin; where the document begins unless given.")
@click.option("--to", "end", metavar="REV", help="Where to end; the training branch unless given.")
@click.option("--no-measure", is_flag=True, help="Only what the journals know; no model is asked.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(
    name: str, task: str, start: str | None, end: str | None, no_measure: bool, yes: bool, as_json: bool
) -> None:
    """Find the edits of skill NAME with which the score of one task changed.

    What the journals know of the task comes first. Where they leave a gap between two documents that score differently,
    it is halved by measuring; a change that another one undid within such a gap is not seen.
    """
    from skillgit.cli import opened
    from skillgit.train.session import Session
    from skillgit.train.trace import bisect, tracing

    with opened.project() as project:
        repo, settings = project.repo, project.config.skill(name)
        chosen = tracing.task_of(project.environment(name), task)
        line = tracing.line_of(repo, name, settings, start, end)
        tracing.fill(project, name, line, chosen.id)
        if not no_measure and bisect.wanted(line) is not None:

            async def work(session: Session) -> list[Flip]:
                return await bisect.bisect(line, tracing.measuring(session, chosen))

            found = opened.run(opened.with_session(project, name, work, yes=yes))
        else:
            found = bisect.flips(line)
        rows = [_row(repo, name, flip) for flip in found]
        known = [point for point in line if point.value is not None]
    if as_json:
        print_json(
            {
                "skill": name,
                "task": chosen.id,
                "documents": len(line),
                "measured": sum(point.source == "measured" for point in known),
                "first": _point(known[0]) if known else None,
                "last": _point(known[-1]) if known else None,
                "flips": rows,
            }
        )
        return
    _say(name, chosen.id, line, known, rows)


def _point(point: Point) -> dict[str, Any]:
    value = None if point.value is None else round(float(point.value), 6)
    return {"commit": point.commit, "document": point.blob, "score": value, "source": point.source}


def _row(repo: Repository, name: str, flip: Flip) -> dict[str, Any]:
    from skillgit.train.archive import edits

    info = repo.objects.read_commit(flip.after.commit)
    known = edits.by_commit(repo, name, flip.after.commit)
    return {
        "change": "fixed" if flip.fixed else "broken",
        "before": _point(flip.before),
        "after": _point(flip.after),
        "run": known.run if known else None,
        "step": known.step if known else None,
        "edit": known.number if known else None,
        "subject": info.subject,
        "author": info.author,
    }


def _say(name: str, task: str, line: list[Point], known: list[Point], rows: list[dict[str, Any]]) -> None:
    from skillgit.cli.progress import points

    if not known:
        print(f"no journal knows how {task} did; without --no-measure it is measured")
        return
    ends = [f"{points(point.value)} with {point.commit[:12]}" for point in (known[0], known[-1])]
    print(f"{task}: {ends[0]}, {ends[1]}; {len(line)} documents, {len(known)} of them known")
    for row in rows:
        edit = f"step {row['step']} edit {row['edit']} of run {row['run'][:10]}" if row["run"] else ""
        place = edit or one_line(row["author"])
        scores = " -> ".join(f"{row[end]['score'] * 100:.1f}%" for end in ("before", "after"))
        print(f"{row['change']} by {row['after']['commit'][:12]} ({place}): {scores}  {one_line(row['subject'])}")
    if not rows:
        print("its score is the same with all of them that are known")
