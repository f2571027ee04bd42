"""Transcripts that a run kept, where they are here: each attempt's score against the journal's, and scored again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from skillgit.envs.contract import Environment, Task
from skillgit.envs.declarative import DeclarativeEnvironment
from skillgit.envs.digests import val_digest
from skillgit.errors import EnvironmentFailedError, RefusedError, RepositoryError
from skillgit.models.base import Reply
from skillgit.redact import redact
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import RunInfo
from skillgit.train.repair.audit.report import Difference
from skillgit.train.repair.reading import Link, blob_at, measurement, rows, trial_number
from skillgit.train.schedule import chosen
from skillgit.train.scoring.scores import Measurement, Trial

DETERMINISTIC = ("exact", "f1", "numeric", "checks")
"""Scorers that give the same score for the same reply, and run nobody's code."""
_MOST_TRIALS = 10_000

Attempts = Mapping[tuple[str, str, int], list[Trial | None]]
"""(document, task, trial) -> its scores; None where it failed. More than one where a step was taken again."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A reply that can be scored again."""

    where: str
    task: str
    reply: str
    calls: tuple[str, ...]
    trial: Trial
    val: str
    info: RunInfo


@dataclass(slots=True)
class Evidence:
    """What the evidence of some entries says.

    Args:
        compared: attempts of which journal and evidence have a score. missing: entries whose evidence is not here.
    """

    differences: list[Difference] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    compared: int = 0
    missing: int = 0


def compare(repo: Repository, refs: SkillRefs, run: str, link: Link, into: Evidence, *, keep: bool) -> None:
    """Compare one entry's scores with its evidence.

    Args:
        keep: whether replies are kept for `score_again`.
    """
    commit = next((row[2] for row in link.record.refs if len(row) == 3 and row[0] == refs.evidence(run)), None)
    if commit is None:
        return
    try:
        found = list(_rows(repo, commit, "val.jsonl"))
        batch = list(_rows(repo, commit, "rollouts.jsonl"))
    except RepositoryError:
        into.missing += 1
        return
    where = f"evidence {commit[:12]}"
    attempts = _attempts(found)
    known = {document for document, _, _ in attempts}
    for document, measured in _measured(link).items():
        if document in known:
            into.differences += _compared(where, document, measured, attempts, into)
    tried = {("", task, trial): scores for (_, task, trial), scores in _attempts(batch).items()}
    if link.record.kind == "step" and tried:
        try:
            into.differences += _compared(where, "", measurement(link.record.batch, "batch"), tried, into)
        except RefusedError as error:
            into.differences.append(Difference(f"journal {link.commit[:12]}", "batch", "unreadable", error.message))
    if keep:
        into.transcripts += _transcripts(found, where, link)


def _rows(repo: Repository, commit: str, path: str) -> Iterator[dict[str, Any]]:
    blob = blob_at(repo, commit, path)
    if blob is not None:
        yield from (row for row in rows(repo.objects.read_blob(blob)) if row is not None)


def _attempts(found: list[dict[str, Any]]) -> dict[tuple[str, str, int], list[Trial | None]]:
    attempts: dict[tuple[str, str, int], list[Trial | None]] = {}
    for row in found:
        document, task, trial = row.get("document"), row.get("task"), row.get("trial")
        if isinstance(document, str) and isinstance(task, str) and type(trial) is int:
            attempts.setdefault((document, task, trial), []).append(_trial(row))
    return attempts


def _trial(row: Mapping[str, Any]) -> Trial | None:
    hard, soft = trial_number(row.get("hard")), trial_number(row.get("soft"))
    return Trial(hard, soft) if hard is not None and soft is not None else None


def _measured(link: Link) -> dict[str, Measurement]:
    """Val scores by document that the entry brought; what it keeps of others has no attempts in its evidence."""
    found = dict(link.scores)
    for one in (link.record, *link.others):
        try:
            found |= {one.document: measurement(one.scores, "scores")} if one.scores else {}
        except RefusedError:
            continue  # said of the verdict
    return found


def _compared(
    where: str, document: str, measured: Measurement, attempts: Attempts, into: Evidence
) -> Iterator[Difference]:
    for task, trials in measured.items():
        for number, trial in enumerate(trials[:_MOST_TRIALS]):
            seen = attempts.get((document, redact(task), number))
            into.compared += seen is not None
            if seen is None or trial not in seen:
                what = f"{document[:12]} {task}".strip() + (f" trial {number}" if number else "")
                said = _text(seen[-1]) if seen else "no attempt"
                yield Difference(where, what, f"{_text(trial)} in the journal", said)


def _text(trial: Trial | None) -> str:
    return "no score" if trial is None else f"hard {trial.hard} soft {trial.soft}"


def _transcripts(found: list[dict[str, Any]], where: str, link: Link) -> Iterator[Transcript]:
    for row in found:
        task, reply, calls, trial = row.get("task"), row.get("reply"), row.get("calls"), _trial(row)
        usable = isinstance(task, str) and isinstance(reply, str) and isinstance(calls, list) and trial is not None
        if usable and "[redacted:" not in f"{reply}":
            names = tuple(str(name) for name in calls or ())
            yield Transcript(
                where, str(task), str(reply), names, trial or Trial(_ZERO, _ZERO), link.state.val, link.info
            )


_ZERO = Fraction(0)


async def score_again(environment: Environment, found: list[Transcript]) -> tuple[int, list[Difference], str]:
    """Score replies with the environment's own scorer: no model is asked.

    Returns: how many were scored, those whose score is another, and why others were not; empty where all were.
    """
    if type(environment) is not DeclarativeEnvironment or environment.scorer not in DETERMINISTIC:
        return 0, [], f"the scorer {environment.scorer} may give another score for the same reply"
    scored, differences, left = 0, list[Difference](), ""
    same: dict[tuple[str, int], bool] = {}
    tasks = {redact(task.id): task for task in environment.tasks("val")}
    for one in found:
        key = one.val, id(one.info)
        if key not in same:
            same[key] = one.val == _digest(environment, one.info)
        task = tasks.get(one.task)
        if not same[key] or task is None:
            left = "val tasks or scoring changed since they were measured"
            continue
        differences += await _again(environment, task, one)
        scored += 1
    return scored, differences, left


async def _again(environment: DeclarativeEnvironment, task: Task, one: Transcript) -> list[Difference]:
    try:
        _, score = await environment.judge(Reply(one.reply), task, one.calls)
    except EnvironmentFailedError as error:
        return [Difference(one.where, f"reply to {one.task}", _text(one.trial), error.message)]
    again = Trial(score.hard, score.soft)
    return [] if again == one.trial else [Difference(one.where, f"reply to {one.task}", _text(one.trial), _text(again))]


def _digest(environment: Environment, info: RunInfo) -> str:
    """What a run's val tasks would be measured on today; empty where its settings cannot be read."""
    try:
        seed, size = info.settings["train"]["seed"], info.settings["evaluation"]["sel_env_num"]
        repeats = info.settings["evaluation"]["repeats"]
        tasks = chosen(environment.tasks("val"), size, f"{seed}/val")
        return val_digest(environment, repeats=repeats, tasks=tasks)
    except (KeyError, TypeError, ValueError):
        return ""
