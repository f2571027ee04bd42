"""`skillgit baseline`: what one pass over train brings without the loop, gated and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skillgit.cli.output import counted, one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.project import Project
    from skillgit.train.scoring.baseline_notes import Baseline
    from skillgit.train.scoring.baselines import Report
    from skillgit.train.scoring.scores import Metric

_SAID = {"accept": "accepted", "reject": "rejected", "indecisive": "indecisive", "none": "not gated"}


@click.command("baseline")
@click.argument("name")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["examples", "one_shot"]),
    multiple=True,
    help="Which baseline to make; both unless given. May be given more than once.",
)
@click.option(
    "--split", type=click.Choice(["val", "test"]), default="val", show_default=True, help="test: val, and test as well."
)
@click.option("--rev", metavar="REV", help="The document to start from; what training began with unless given.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the baselines as JSON.")
def command(name: str, kinds: tuple[str, ...], split: str, rev: str | None, yes: bool, as_json: bool) -> None:
    """Measure what skill NAME gets from one pass over train, without training.

    `examples` puts all failed train tasks with their answers into the document, without a model; `one_shot` lets the
    optimizer rewrite the document once. Both are judged by the skill's gate, nothing is committed, and the result is
    kept in refs/notes/skillgit: `status`, `log` and `train` show it.
    """
    from skillgit.cli import opened
    from skillgit.train.scoring import baseline_notes
    from skillgit.train.scoring.baselines import make, start
    from skillgit.train.session import Session

    chosen = [kind for kind in baseline_notes.KINDS if kind in kinds or not kinds]

    async def run(session: Session) -> tuple[Report, dict[str, Any], Metric]:
        session.repo.identity()  # the note needs one
        commit, base = start(session, rev)

        def keep(found: Baseline) -> None:
            baseline_notes.remember(session.repo, base.blob, [found])

        report = await make(session, commit, base, chosen, test=split == "test", keep=keep)
        return report, session.cost(), session.metric

    with opened.project() as project:
        work = opened.with_session(project, name, run, optimizer="one_shot" in chosen, yes=yes)
        report, cost, metric = opened.run(work)
    if as_json:
        print_json(_facts(name, report, cost, metric))
    else:
        for text in _lines(name, report, cost, metric):
            print(one_line(text))
    if report.problem is not None:
        raise report.problem[1]  # last, after what was made


def line(found: Baseline, metric: Metric) -> str:
    """`baseline examples: val 62.5% (48 tasks)`, as `status`, `log` and `train` show it."""
    from skillgit.cli.progress import points

    by = f", {found.optimizer}" if found.optimizer else ""
    return one_line(
        f"baseline {found.kind}: val {points(metric.value(found.hard, found.soft))} ({found.tasks} tasks{by})"
    )


def shown(project: Project, name: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The known baselines of a skill, for people and as JSON; both are empty where none is known."""
    from skillgit.train.scoring import baseline_notes
    from skillgit.train.scoring.scores import metric_of

    settings = project.config.skill(name)
    metric = metric_of(settings.evaluation)
    found = baseline_notes.find(project.repo, name, settings)
    return [line(one, metric) for one in found], [one.to_json(metric) for one in found]


def _facts(name: str, report: Report, cost: dict[str, Any], metric: Metric) -> dict[str, Any]:
    before = report.before
    return {
        "skill": name,
        "commit": before.commit,
        "blob": before.blob,
        "target": before.target,
        "val": before.digest,
        "metric": str(metric),
        "before": round(float(metric.value(before.hard, before.soft)), 6),
        "train": {"tasks": report.attempts, "failed": report.failed, "errors": report.errors},
        "baselines": [found.to_json(metric) for found in report.baselines],
        "problem": None if report.problem is None else {"kind": report.problem[0], "error": str(report.problem[1])},
        "cost": {key: cost[key] for key in ("calls", "tokens", "usd")},
    }


def _lines(name: str, report: Report, cost: dict[str, Any], metric: Metric) -> list[str]:
    from skillgit.cli.progress import points

    before = report.before
    errors = f", {report.errors} had no score" if report.errors else ""
    lines = [
        f"{name} at {before.commit[:12]}: val {points(metric.value(before.hard, before.soft))} {metric}; "
        f"{report.failed} of {report.attempts} train tasks failed{errors}"
    ]
    for found in report.baselines:
        lines.append(f"{line(found, metric)}, {_SAID[found.decision]}: {found.reason}")
        test = ""
        if found.test is not None:
            test = f"; test {points(metric.value(found.test.hard, found.test.soft))} ({found.test.tasks} tasks)"
        count = f"{found.edits} edit{'' if found.edits == 1 else 's'}"
        lines.append(f"{found.kind}: {count}, {found.tokens} tokens, document {found.document[:12]}{test}")
    lines.append(f"{counted(cost['calls'], 'call')}, {counted(cost['tokens'], 'token')}")
    return lines
