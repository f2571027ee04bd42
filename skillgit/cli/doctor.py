"""`skillgit doctor`: what is wrong, and the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.repair.findings import Finding


@click.command("doctor")
@click.argument("name", required=False)
@click.option("--repair", is_flag=True, help="Mend refs from the journals; makes no model call.")
@click.option("--offline", is_flag=True, help="Make no model call.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(name: str | None, repair: bool, offline: bool, as_json: bool) -> int:
    """Check git, identity, configuration, and documents, environments, refs and models of skill NAME or of all.

    Each model gets one short call. Ends with 2 or 3 where something is wrong, as a run would.

    With --repair, a transaction that was cut short is completed, and branch, best, rejected refs, tags and journals go
    where the journals say, where nothing is lost by it. Ends with 0 where nothing wrong remains.
    """
    from pathlib import Path

    from skillgit.cli import opened
    from skillgit.train.checkup import Checkup, examine_models

    found: list[Finding] = []

    def show(finding: Finding) -> None:
        found.append(finding)
        if not as_json:
            _show(finding)

    with Checkup.open(Path.cwd()) as checkup:
        skills = checkup.skills(name)
        for finding in checkup.examine(name, repair=repair):
            show(finding)
        if checkup.project is not None and not offline and not repair:
            for skill in skills:
                for finding in opened.run(examine_models(checkup.project, skill, say)):
                    show(finding)
    if as_json:
        print_json([_row(finding) for finding in found])
    return max((f.exit_code for f in found if not f.ok), default=0)


def _row(finding: Finding) -> dict[str, str | bool | None]:
    return {
        "what": finding.what,
        "ok": finding.ok,
        "detail": finding.detail,
        "problem": finding.problem,
        "repaired": finding.repaired,
    }


def _show(finding: Finding) -> None:
    import sys

    if finding.problem is None:
        mark, style, text = "ok   ", "green", finding.detail
    elif finding.repaired is not None:
        mark, style, text = "fixed", "green", finding.repaired
    elif finding.exit_code == 0:
        mark, style, text = "note ", "yellow", finding.problem
    else:
        mark, style, text = "wrong", "red", finding.problem
    print(f"{colour(mark, style, sys.stdout)} {one_line(f'{finding.what}: {text}')}")
