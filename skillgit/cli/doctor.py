"""`skillgit doctor`: what is wrong, and the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.checkup import Finding


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Make no model call.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(offline: bool, as_json: bool) -> int:
    """Check git, identity, configuration, documents, environments and models.

    Each model gets one short call. Ends with 2 or 3 where something is wrong, as a run would.
    """
    from pathlib import Path

    from skillgit.cli import opened
    from skillgit.train.checkup import examine, examine_models

    found: list[Finding] = []
    for finding in examine(Path.cwd()):
        found.append(finding)
        if not as_json:
            _show(finding)
    configured = any(f.what == "configuration" and f.problem is None for f in found)
    if configured and not offline:
        with opened.project() as project:
            for name in sorted(project.config.skills):
                for finding in opened.run(examine_models(project, name, say)):
                    found.append(finding)
                    if not as_json:
                        _show(finding)
    if as_json:
        rows = [{"what": f.what, "ok": f.problem is None, "detail": f.detail, "problem": f.problem} for f in found]
        print_json(rows)
    return max((f.exit_code for f in found), default=0)


def _show(finding: Finding) -> None:
    import sys

    if finding.problem is None:
        print(f"{colour('ok   ', 'green', sys.stdout)} {finding.what}: {one_line(finding.detail)}")
    else:
        print(f"{colour('wrong', 'red', sys.stdout)} {finding.what}: {one_line(finding.problem)}")
