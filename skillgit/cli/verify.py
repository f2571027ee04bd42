"""`skillgit verify`: recompute what a skill's history says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.repair.audit.report import Report


@click.command("verify")
@click.argument("name")
@click.option("--run", "only", metavar="RUN", default="", help="Only this run (a prefix of its id is enough).")
@click.option("--rescore", is_flag=True, help="Score the replies in the evidence again; asks no model.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(name: str, only: str, rescore: bool, as_json: bool) -> int:
    """Compute again what the history of skill NAME says of itself: verdicts, scores, edits, trailers, tags, counters.

    Ends with 2 where anything written is not what was computed. Whoever can push can write journals: a score that
    is right by its journal is still one that somebody else has measured.
    """
    from skillgit.cli import opened
    from skillgit.train.repair.audit.auditing import audit

    with opened.project() as project:
        settings = project.config.skill(name)
        environment = project.environment(name) if rescore else None

        async def work() -> Report:
            try:
                return await audit(
                    project.repo,
                    name,
                    settings.document,
                    settings.merge.into,
                    only=only.lower(),
                    environment=environment,
                )
            finally:
                if environment is not None:
                    await environment.close()

        report = opened.run(work())
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)
    return 2 if report.differences else 0


def _show(report: Report) -> None:
    import sys

    for one in report.differences:
        line = one_line(f"{one.where}: {one.what}: written {one.written or 'nothing'}, computed {one.computed}")
        print(f"{colour('differs', 'red', sys.stdout)} {line}")
    for what, number in sorted(report.unchecked.items()):
        say(one_line(f"note: not checked: {what} ({number})"))
    counts = [(report.commits, "commit"), (report.entries, "journal entry"), (report.scores, "score")]
    shown = ", ".join(f"{number} {_plural(word, number)}" for number, word in counts)
    more = f", {report.attempts} attempts in the evidence" if report.attempts else ""
    again = f", {report.replies} replies scored again" if report.replies else ""
    print(f"{shown} checked{more}{again}, {len(report.differences)} differ")


def _plural(word: str, number: int) -> str:
    return word if number == 1 else "journal entries" if word.endswith("entry") else f"{word}s"
