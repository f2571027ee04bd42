"""What a bisection works on: the task, the branch's documents, what is known today, and a way to measure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fractions import Fraction

from skillgit.config import SkillSettings
from skillgit.envs.contract import SPLITS, Environment, Task
from skillgit.envs.digests import val_digest
from skillgit.errors import MeasurementError, RefusedError, UsageError
from skillgit.store.repository import Repository
from skillgit.train.archive import documents, history, revisions
from skillgit.train.events import StageStarted
from skillgit.train.project import Project
from skillgit.train.schedule import chosen
from skillgit.train.scoring.measure import measure_all
from skillgit.train.scoring.scores import metric_of
from skillgit.train.session import Session
from skillgit.train.trace import bisect
from skillgit.train.trace.bisect import Measure, Point


def task_of(environment: Environment, ident: str) -> Task:
    """The task of an id, of any split.

    Raises:
        UsageError: there is none; names the nearest.
    """
    known = {task.id: task for split in SPLITS for task in environment.tasks(split)}
    if ident in known:
        return known[ident]
    close = difflib.get_close_matches(ident, known, n=1)
    raise UsageError(f"no task {ident!r}", mend=f"did you mean {close[0]!r}?" if close else "see the task files")


def line_of(repo: Repository, name: str, settings: SkillSettings, start: str | None, end: str | None) -> list[Point]:
    """The documents from one revision to another along first parents, oldest first.

    Raises:
        RefusedError: nothing was trained, or the first is no ancestor of the last by first parents.
    """
    if end is None and history.tip_of(repo, name) is None:
        raise RefusedError(f"{name} was not trained yet", mend=f"run `skillgit train {name}` first")
    last = revisions.commit_of(repo, name, settings, end or revisions.TIP)
    first = revisions.commit_of(repo, name, settings, start) if start else None
    if first and not any(info.oid == first for info in repo.objects.first_parents(last, None)):
        raise RefusedError(
            f"{start} is not on the way to {end or f'skill/{name}'}", mend="name an earlier commit of it"
        )
    return bisect.points(repo, settings.document, last, first)


def fill(project: Project, name: str, line: Sequence[Point], task: str) -> None:
    """Put in what journals know of the task, as far as it compares with today's tasks and target."""
    settings, environment = project.config.skill(name), project.environment(name)
    evaluation = settings.evaluation
    val = chosen(environment.tasks("val"), evaluation.sel_env_num, f"{settings.train.seed}/val")
    today = val_digest(environment, repeats=evaluation.repeats, tasks=val), project.config.model(name, "target").model
    bisect.fill(project.repo, name, line, task, metric_of(evaluation), today)


def measuring(session: Session, task: Task) -> Measure:
    """Measures the task under a commit's document; a call that was made before comes from the cache."""

    async def measure(commit: str) -> Fraction:
        placed = documents.read(session.repo, commit, session.settings.document)
        repeats = session.settings.evaluation.repeats
        session.tell(StageStarted(0, 0, "bisect", repeats))
        found, rollouts = await measure_all(
            session.roller("bisect"), placed.text, placed.blob, [task], repeats, session.tell
        )
        value = bisect.value_of(found, task.id, session.metric)
        if value is None:
            raise MeasurementError(
                f"{task.id} with {commit[:12]}: {rollouts[-1].error}", mend="mend it and run the same command again"
            )
        return value

    return measure
