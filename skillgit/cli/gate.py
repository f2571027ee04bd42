"""`skillgit gate --calibrate`: the noise floor of val, and what the gate makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skillgit.cli.output import one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.gate.calibrate import Report


@click.command("gate")
@click.option("--calibrate", "name", metavar="NAME", required=True, help="The skill whose val noise is measured.")
@click.option(
    "--trials",
    type=click.IntRange(2, 64),
    default=4,
    show_default=True,
    help="Measurements of the one document, each with attempts of its own.",
)
@click.option("--rev", metavar="REV", help="The revision to measure; the training branch or the base unless given.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON, with those of each task.")
def command(name: str, trials: int, rev: str | None, yes: bool, as_json: bool) -> None:
    """Measure one document several times on val, as if it were its own candidate.

    Says how far scores move by noise alone, how often each gate mode would accept a document against itself, and the
    smallest difference that val can show. The result is kept in refs/notes/skillgit; `train` warns below it.
    """
    from skillgit.cli import opened
    from skillgit.train.gate.calibrate import calibrate, remember, resolve, warning
    from skillgit.train.session import Session

    async def run(session: Session) -> tuple[Report, str, str | None]:
        session.repo.identity()  # the note needs one
        report = await calibrate(session, resolve(session, rev), trials=trials)
        remember(session, report)
        chosen = session.settings.evaluation
        return report, chosen.gate_mode, warning(report.calibration, chosen)

    with opened.project() as project:
        report, mode, warned = opened.run(opened.with_session(project, name, run, yes=yes))
    if as_json:
        print_json(_facts(name, report, mode, warned))
        return
    for line in _lines(name, report, mode):
        print(one_line(line))
    if warned and not report.calibration.blind:  # that was said in full
        print(one_line(f"warning: {warned}"))


def _facts(name: str, report: Report, mode: str, warned: str | None) -> dict[str, Any]:
    found, noise = report.calibration, report.noise
    return {
        "skill": name,
        "commit": report.commit,
        "blob": report.blob,
        "val": found.val,
        "target": found.target["name"],
        "metric": found.metric,
        "tasks": found.tasks,
        "trials": found.trials,
        "repeats": report.repeats,
        "errors": report.errors,
        "mean": _rounded(found.mean),
        "deviation": _rounded(found.deviation),
        "error": _rounded(found.error),
        "floor": _rounded(found.floor),
        "flips": {task: _rounded(share) for task, share in noise.flips.items()},
        "gate_mode": mode,
        "modes": {
            key: {
                "pairs": against.pairs,
                "accepted": against.accepted,
                "indecisive": against.indecisive,
                "share": _rounded(against.share),
                "least": _rounded(against.least),
                "detectable": None if found.blind else _rounded(against.detectable),
            }
            for key, against in noise.modes.items()
        },
        "warning": warned,
    }


def _rounded(number: Any) -> float | None:
    return None if number is None else round(float(number), 6)


def _lines(name: str, report: Report, mode: str) -> list[str]:
    from skillgit.train.gate.calibrate import unseen

    found, noise = report.calibration, report.noise
    lines = [
        f"{name} at {report.commit[:12]}: {_points(found.mean)}% {found.metric} "
        f"in {found.trials} trials of {found.tasks} val tasks with {found.target['name']}",
    ]
    if report.errors:
        lines.append(f"{report.errors} attempts failed and count as missing")
    if noise.flips:
        noisiest = sorted(noise.flips, key=lambda task: (-noise.flips[task], task))[:5]
        named = ", ".join(f"{task} {float(noise.flips[task]):.0%}" for task in noisiest)
        more = f" and {len(noise.flips) - 5} more" if len(noise.flips) > 5 else ""
        lines += [
            f"noise: the score of {len(noise.flips)} of {found.tasks} tasks changes between trials: {named}{more}",
            f"the val score moves by {_points(found.deviation)} points from trial to trial (standard deviation); noise "
            f"alone makes a lead of {_points(found.floor)} in one of twenty comparisons",
        ]
    elif found.blind:
        lines.append(unseen(found))
    else:
        lines.append("noise: none, no task's score changed between trials")
    lines.append("by mode: accepts the document against itself; needs at least; smallest lead that is no noise")
    for key, against in noise.modes.items():
        mark = " (configured)" if key == mode else ""
        seen = f"{against.share:.1%} ({against.accepted} of {against.pairs} pairs)"
        shown = against.least, None if found.blind else against.detectable
        least, most = ("-" if n is None else f"{_points(n)} points" for n in shown)
        lines.append(f"{key}{mark}: {seen}; {least}; {most}")
    return lines


def _points(share: Any) -> str:
    return f"{float(share) * 100:.1f}"
