"""What each accepted edit carries: the document without it, measured on val against the document with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

from skillgit.document.structure import body
from skillgit.envs.contract import Task, exact
from skillgit.errors import ConflictError, MeasurementError, UnfitChangeError
from skillgit.store.notes import add_note
from skillgit.train.archive import edits
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.journal import exact_text
from skillgit.train.carry.change import Change, Make
from skillgit.train.carry.revert import reverted, without
from skillgit.train.events import StageStarted
from skillgit.train.gate import GateSettings, Scores, Verdict, verdict
from skillgit.train.run import Run
from skillgit.train.scoring import scores
from skillgit.train.scoring.measure import Stream, trials_of
from skillgit.train.scoring.scores import Measurement

Effect = Literal["carries", "nothing", "harms", "inseparable"]
NO_WORSE = "no-worse"
"""The gate of a deletion: what carries nothing goes, and a tie is enough."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What leaving one edit out does. Scores are the gate metric over the tasks that both documents have.

    Args:
        effect: `carries`: without it the score falls; `inseparable`: later edits changed its lines.
        without: the score without it; None where the measurement ended early. at_most: what it could still have been.
        lost, gained: tasks that fall or rise without it, among those that were measured.
    """

    edit: RecordedEdit
    effect: Effect
    with_it: Fraction | None = None
    without: Fraction | None = None
    at_most: Fraction | None = None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        edit = self.edit
        numbers = {"with": self.with_it, "without": self.without, "without_max": self.at_most}
        return {
            "run": edit.run,
            "step": edit.step,
            "edit": edit.number,
            "commit": edit.commit,
            "op": edit.row.get("op"),
            "effect": self.effect,
            **{key: None if value is None else round(float(value), 6) for key, value in numbers.items()},
            "lost": list(self.lost),
            "gained": list(self.gained),
        }


def present(run: Run, wanted: Sequence[RecordedEdit] | None) -> list[RecordedEdit]:
    """The accepted edits that the tip's document still has, newest first; or those of them that a person wants."""
    text, path, repo = run.document().text, run.info.document, run.session.repo
    chosen = list(wanted) if wanted is not None else list(edits.accepted(repo, run.info.skill))
    found, seen = [], {text}
    for edit in chosen:
        if edit.record.kind in ("revert", "merge"):
            continue  # they take out, or join, what other edits brought
        try:
            less = without(repo, path, text, edit)
        except ConflictError:
            found.append(edit)
            continue
        except UnfitChangeError:
            continue  # of an older file
        if less not in seen:  # what was brought in twice is weighed once
            seen.add(less)
            found.append(edit)
    return found


async def attribute(run: Run, edit: RecordedEdit, *, racing: bool) -> Attribution:
    """Leave one edit out and measure.

    Args:
        racing: end the measurement as soon as the document without it cannot do as well any more.

    Raises:
        MeasurementError: too many val tasks have no score.
    """
    session, before = run.session, run.document()
    try:
        text = without(session.repo, run.info.document, before.text, edit)
    except ConflictError:
        return Attribution(edit, "inseparable")
    if not body(text).strip():
        return Attribution(edit, "inseparable")
    current = run.measured[before.blob]
    tasks = _order(session.val, current, edit)
    repeats = session.settings.evaluation.repeats
    session.tell(StageStarted(run.state.step, run.state.epoch, "attribute", len(tasks) * repeats))
    blob = session.repo.objects.write_blob(text.encode())
    work = [(task, trial) for task in tasks for trial in range(repeats)]
    stream = Stream(session.roller("attribute"), text, blob, work, session.tell)
    have = {task: scores.mean({task: trials}, session.metric) for task, trials in current.items()}

    def measured() -> Measurement:
        return trials_of([stream.results[index] for index in sorted(stream.results)])

    order = [task.id for task in tasks]

    def lost_for_good() -> bool:
        return racing and decisive(have, order, _values(measured(), run, repeats)) > 0

    left = await stream.run(lambda _: True, lost_for_good, lambda _: None)
    session.ahead.keep(left)
    found = _values(measured(), run, repeats)
    enough = decisive(have, order, found) if racing else 0
    if not enough and _coverage(found) < exact(session.settings.evaluation.min_coverage):
        raise MeasurementError("too many val attempts failed", mend="mend it and run the same command again")
    # What came in beyond the deciding tasks is chance: the record does not depend on it.
    return weighed(edit, have, {task: found[task] for task in order[:enough]} if enough else found)


def _order(val: Sequence[Task], current: Measurement, edit: RecordedEdit) -> list[Task]:
    """The tasks that its step won first, then those that succeed: there, something can be lost."""
    won = set(edit.record.gained)
    fails = {task for task, trials in current.items() if all(t is None or t.hard == 0 for t in trials)}
    return sorted(val, key=lambda task: (task.id not in won, task.id in fails, task.id))


def _values(found: Measurement, run: Run, repeats: int) -> dict[str, Fraction | None]:
    """Scores of the tasks that are measured wholly; None where no trial has one."""
    metric = run.session.metric
    whole = {task: trials for task, trials in found.items() if len(trials) == repeats}
    return {task: scores.mean({task: trials}, metric) for task, trials in whole.items()}


def _coverage(found: Mapping[str, Fraction | None]) -> Fraction:
    return Fraction(sum(value is not None for value in found.values()), len(found)) if found else Fraction(0)


def decisive(have: Mapping[str, Fraction | None], order: Sequence[str], found: Mapping[str, Fraction | None]) -> int:
    """How many tasks, in their order, show that the document without the edit cannot do as well any more.

    Returns: the least number of them; 0 where what is measured does not show it.
    """
    most = sum((1 - value for value in have.values() if value is not None), Fraction(0))
    for number, task in enumerate(order, start=1):
        if task not in found:
            return 0
        value, new = have[task], found[task]
        if value is not None:
            most -= (1 - value) if new is None else 1 - new
        if most < 0:
            return number
    return 0


def weighed(
    edit: RecordedEdit, have: Mapping[str, Fraction | None], found: Mapping[str, Fraction | None]
) -> Attribution:
    """What scores with (all tasks) and without the edit say; of tasks that one of them has no score for, nothing.

    Where not all tasks were measured without it, those that were have to be decisive.
    """
    pairs = {t: (old, new) for t, new in found.items() if new is not None and (old := have[t]) is not None}
    lost = tuple(sorted(task for task, (old, new) in pairs.items() if new < old))
    gained = tuple(sorted(task for task, (old, new) in pairs.items() if new > old))
    compared = {t: v for t, v in have.items() if v is not None and (t not in found or found[t] is not None)}
    if not compared:
        raise MeasurementError("no val task has a score both with and without the edit")
    with_it = Fraction(sum(compared.values()), len(compared))
    without_it = Fraction(sum(pairs[t][1] if t in pairs else 1 for t in compared), len(compared))
    if len(found) < len(have):
        return Attribution(edit, "carries", with_it, None, without_it, lost, gained)
    effect: Effect = "carries" if without_it < with_it else "harms" if without_it > with_it else "nothing"
    return Attribution(edit, effect, with_it, without_it, None, lost, gained)


def remember(run: Run, found: Attribution, at: datetime) -> None:
    """Note on the edit's commit what it carried in this document."""
    if found.effect == "inseparable":
        return
    fact = {
        "kind": "attribution",
        "skill": run.info.skill,
        "effect": found.effect,
        "document": run.state.incumbent,
        "with": exact_text(found.with_it),
        "without": exact_text(found.without),
        "without_max": exact_text(found.at_most),
        "lost": list(found.lost),
        "gained": list(found.gained),
        "digest": run.state.val,
        "target": run.session.target.name,
        "at": at.isoformat(timespec="seconds"),
    }
    add_note(run.session.repo, found.edit.commit, fact)


def deletion(run: Run, useless: Sequence[RecordedEdit]) -> Make:
    """The change that takes out edits which carry nothing: gated together, and a tie is enough."""
    evaluation = run.session.settings.evaluation
    rule = GateSettings(
        NO_WORSE, no_regression=evaluation.no_regression, min_coverage=evaluation.min_coverage, rule=no_worse
    )
    repo, path = run.session.repo, run.info.document
    why = "Left out, the score on val does not fall."
    return lambda before: Change("revert", reverted(repo, path, before, useless, why), rule=rule, ties=True)


def no_worse(current: Scores, candidate: Scores, settings: GateSettings) -> Verdict:
    """The gate's rule for a deletion: accepted unless the mean falls."""
    found = verdict("accept", "", current, candidate)
    if found.score is None:
        raise AssertionError("a rule judges whole measurements")
    change = found.score - found.before
    word = "not worse" if change >= 0 else "worse"
    reason = f"{float(change):+.4f} on {found.tasks - found.missing} val tasks, {word} without it"
    return verdict("accept" if change >= 0 else "reject", f"{reason} ({settings.mode})", current, candidate)
