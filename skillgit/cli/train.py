"""`skillgit train`: train a skill, or go on with its unfinished run."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillgit.cli.output import print_json, say

if TYPE_CHECKING:
    from skillgit.train.loop import Outcome
    from skillgit.train.project import Project
    from skillgit.train.spend.budget import Budget


class _Dollars(click.ParamType[Decimal]):
    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            found = Decimal(str(value))
        except ArithmeticError:
            found = Decimal("nan")
        if not found.is_finite():
            self.fail(f"{value!r} is no amount", param, ctx)
        return found


@click.command("train")
@click.argument("name")
@click.option("--fresh", is_flag=True, help="Give an unfinished run up and start a new one.")
@click.option("--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Override a setting of the skill.")
@click.option("--max-calls", type=int, metavar="N", help="End when N model calls were made; the run can go on later.")
@click.option("--max-tokens", type=int, metavar="N", help="The same for tokens, in and out, of all roles.")
@click.option("--max-usd", type=_Dollars(), metavar="USD", help="The same for money, at list prices.")
@click.option("--max-minutes", type=float, metavar="MIN", help="The same for time.")
@click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and money by stage, and make no call.")
@click.option("--events", type=click.Path(dir_okay=False, path_type=Path), help="Append each event to this JSONL file.")
@click.option("--track", "trackers", metavar="NAME", multiple=True, help="Report to wandb, mlflow or a plugin.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--exit-code", is_flag=True, help="End with 1 where the run finished without improvement.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    name: str,
    fresh: bool,
    settings: tuple[str, ...],
    max_calls: int | None,
    max_tokens: int | None,
    max_usd: Decimal | None,
    max_minutes: float | None,
    dry_run: bool,
    events: Path | None,
    trackers: tuple[str, ...],
    yes: bool,
    exit_code: bool,
    as_json: bool,
) -> int:
    """Train skill NAME on its branch skill/NAME; an unfinished run is resumed.

    Ctrl-C once finishes the running step, twice stops now; nothing that was paid for is lost, and the same command
    goes on.
    """
    from skillgit.cli import baseline, opened, training
    from skillgit.cli.settings import overrides
    from skillgit.train.spend.budget import Budget

    budget = Budget(max_calls, max_tokens, max_usd, max_minutes)
    with opened.project(overrides(name, settings)) as project:
        document = project.config.skill(name).document
        if project.has_uncommitted(document):
            say(f"note: {document} has changes that are not committed; training reads the commit")
        if dry_run:
            return _estimate(project, name, budget, as_json=as_json)
        outcome = training.run(project, name, fresh=fresh, budget=budget, events=events, trackers=trackers, yes=yes)
        baselines, rows = baseline.shown(project, name)
    if as_json:
        print_json({**outcome.to_json(), "baselines": rows})
    else:
        _print(outcome, project, baselines)
    return 1 if exit_code and outcome.finished and not outcome.improved else 0


def _estimate(project: Project, name: str, budget: Budget, *, as_json: bool) -> int:
    from skillgit.cli import training
    from skillgit.train.spend.estimate import too_small

    found = training.estimate(project, name, budget)
    short = too_small(budget, found)
    if as_json:
        print_json({**found.to_json(), "too_small": short})
        return 0
    for line in found.table():
        print(line)
    if short is not None:
        say(f"note: {short}")
    return 0


def _print(outcome: Outcome, project: Project, baselines: list[str]) -> None:
    from skillgit.cli.progress import points

    name = outcome.skill
    verb = "rose" if outcome.improved else "stayed"
    if outcome.before is None:
        print(f"no document is measured yet: {outcome.reason}")
    else:
        print(f"val {verb}: {points(outcome.before)} -> {points(outcome.after)} ({outcome.reason})")
    for line in baselines:
        print(line)
    if outcome.test is not None:
        print(f"test: {points(outcome.test[0])} -> {points(outcome.test[1])}")
    if not outcome.finished:
        print(f"go on with `skillgit train {name}`")
    if outcome.best_commit:
        print(f"best document: {outcome.best_commit[:12]}; see `skillgit log {name}`")
    if outcome.improved:
        into = project.config.skill(name).merge.into or "BRANCH"
        print(f"bring it to the base branch with `skillgit merge {name} --into {into}`")
