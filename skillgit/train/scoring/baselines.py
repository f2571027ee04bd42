"""Baselines that a training has to beat: what one pass over train brings without the loop, gated and remembered.

`examples` are all failed train tasks with their answers, without a model (DSPy's bootstrapped few-shot, on a
document); `one_shot` is a single rewrite by the optimizer. Both are made from the document that training begins with,
measured on the same val, and judged by the same gate; no branch moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillgit.document.length import length
from skillgit.errors import ConfigError, MeasurementError, ModelError, OutsideError, RepositoryError, SkillgitError
from skillgit.train.archive import documents, history
from skillgit.train.archive.documents import Placed
from skillgit.train.events import Note, StageStarted
from skillgit.train.gate import decide
from skillgit.train.propose.attempts import is_failure
from skillgit.train.propose.candidate import Candidate, build
from skillgit.train.propose.examples import examples
from skillgit.train.propose.optimizer_calls import CallLog, OptimizerCalls, StepOptimizer
from skillgit.train.propose.rewrite import as_candidate, one_shot
from skillgit.train.propose.rules import Rules
from skillgit.train.scoring.baseline_notes import KIND, NOTHING_FAILED, Baseline, Kind, Tested, first_entry
from skillgit.train.scoring.evaluate import Evaluation, evaluate_document
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import by_metric
from skillgit.train.session import Session
from skillgit.train.start import base_of


@dataclass(frozen=True, slots=True)
class Report:
    """Baselines with what they started from.

    Args:
        before: the base document on val.
        attempts, failed, errors: train attempts; those that left something to win; those without a score.
        problem: why a kind is missing among the baselines.
    """

    before: Evaluation
    attempts: int
    failed: int
    errors: int
    baselines: tuple[Baseline, ...]
    problem: tuple[Kind, SkillgitError] | None = None


@dataclass(frozen=True, slots=True)
class _Made:
    """A candidate, or why there is none, as one clause."""

    built: Candidate
    reason: str = ""


def start(session: Session, rev: str | None) -> tuple[str, Placed]:
    """The base document and its commit: at `rev`, else the one that the newest run with steps began with, else the
    newest run, else the base branch's.

    Raises:
        RepositoryError: there is no such commit. DocumentError: it has no document that edits can apply to.
    """
    repo, path = session.repo, session.settings.document
    runs = history.runs(repo, session.name)
    if rev is not None:
        commit = repo.resolve(rev)
        if commit is None:
            raise RepositoryError(f"{rev}: no such revision", mend="name a commit, a branch or a tag")
    elif runs:
        # A run on a trained skill that has nothing left to do began with the trained document.
        worked = history.latest_with_steps(repo, session.name)
        first = first_entry(repo, worked.commit if worked is not None else runs[-1][1])
        commit, path = first.state.tip, first.info.document
    else:
        commit = base_of(repo, session.settings)
    return commit, documents.read_editable(repo, commit, path)


async def make(
    session: Session,
    commit: str,
    base: Placed,
    kinds: Sequence[Kind],
    *,
    test: bool = False,
    keep: Callable[[Baseline], None] | None = None,
) -> Report:
    """Make, measure and judge baselines of a document, each by itself: where one fails, the others are made.

    Args:
        commit: where the document stands.
        test: measure them on test as well.
        keep: is given each one as soon as it is judged.

    Raises:
        ConfigError: a split has no tasks, a one-shot rewrite has no optimizer; or, where no kind could be made, the
            environment shows no answers to make examples of. ModelError: the optimizer gave no usable rewrite, and
            there is no other kind. MeasurementError: too many attempts failed. What was answered is in the cache.
    """
    _check(session, kinds, test=test)
    rollouts = await _attempt(session, base)
    before: Evaluation | None = None
    found: list[Baseline] = []
    problems: list[tuple[Kind, SkillgitError]] = []
    for kind in dict.fromkeys(kinds):
        try:
            made = await _made(session, base, rollouts, kind)
        except (ConfigError, OutsideError) as error:
            problems.append((kind, error))
            continue
        if before is None:
            repeats = session.settings.evaluation.repeats
            before = await evaluate_document(session, base, commit, "val", repeats=repeats, tasks=session.val)
        try:
            one = await _judged(session, base, before, kind, made, test=test)
        except (ConfigError, OutsideError) as error:
            problems.append((kind, error))
            continue
        if keep is not None:
            keep(one)
        found.append(one)
    for other, problem in problems[:-1]:
        session.tell(Note(f"baseline {other}: {problem}"))
    if before is None or not found:
        raise problems[-1][1]
    return Report(
        before,
        len(rollouts),
        sum(is_failure(r, session.metric) for r in rollouts),
        sum(r.attempt is None for r in rollouts),
        tuple(found),
        problems[-1] if problems else None,
    )


def _check(session: Session, kinds: Sequence[Kind], *, test: bool) -> None:
    """What cannot work is said before any call is made."""
    splits = {"train": session.train, "val": session.val, **({"test": session.test} if test else {})}
    for split, tasks in splits.items():
        if not tasks:
            raise ConfigError(f"{session.settings.env}: the {split} split has no tasks", mend=f"add tasks to {split}")
    if "one_shot" in kinds and session.optimizer is None:
        raise ConfigError("a one-shot rewrite needs an optimizer model", mend="set models.optimizer")
    _ = session.gate  # a plugin that cannot be loaded


async def _attempt(session: Session, base: Placed) -> list[Rollout]:
    """All train tasks once, as the steps of a run attempt them."""
    tasks = sorted(session.train, key=lambda task: task.id)
    session.tell(StageStarted(0, 0, "rollout", len(tasks)))
    work = [(task, 0) for task in tasks]
    rollouts = await session.roller("rollout").batch(base.text, base.blob, work, session.tell)
    errors = [r.error for r in rollouts if r.error is not None]
    if len(errors) == len(rollouts):
        raise MeasurementError(
            f"all {len(errors)} attempts at train tasks failed; the last: {errors[-1]}",
            mend="mend it and run the same command again",
        )
    return rollouts


async def _made(session: Session, base: Placed, rollouts: Sequence[Rollout], kind: Kind) -> _Made:
    if not any(is_failure(r, session.metric) for r in rollouts):
        return _Made(Candidate(base.text, ()), NOTHING_FAILED)
    if kind == "examples":
        return _examples(session, base, rollouts)
    return await _one_shot(session, base, rollouts)


def _examples(session: Session, base: Placed, rollouts: Sequence[Rollout]) -> _Made:
    """All failed tasks that have an answer to show; no budget, of edits or of length, holds them."""
    found = examples(rollouts, base.text, session.environment, len(rollouts), session.metric)
    if not found.proposals and not any(_reveals(session, r) for r in rollouts if is_failure(r, session.metric)):
        raise ConfigError(
            f"{session.settings.env}: the environment shows no answers, so examples cannot be made of failed tasks",
            mend="set reveal: answer in env.yaml, or ask for --kind one_shot alone",
        )
    built = build(base.text, found.proposals)
    refused = sorted({outcome.reason for outcome in built.outcomes if outcome.status != "applied"})
    if not built.applied:
        return _Made(built, "; ".join([*found.said, *refused]))
    for said in (*found.said, *refused):
        session.tell(Note(f"examples: {said}"))
    return _Made(built)


def _reveals(session: Session, rollout: Rollout) -> bool:
    return rollout.attempt is not None and session.environment.explain(rollout.task, rollout.attempt).kind == "expected"


async def _one_shot(session: Session, base: Placed, rollouts: Sequence[Rollout]) -> _Made:
    """The rewrite that `train.one_shot` asks for: the same failed attempts, the same rules of length and density."""
    if session.optimizer is None:
        raise AssertionError("it was looked for before")
    rules = Rules(session.settings, base.text, length(base.text))
    # No run has this name, so the reply is kept for every later call on the same document and attempts.
    calls = OptimizerCalls(
        session.optimizer, session.cache, KIND, on_usage=session.spender("optimizer", "one-shot"), meter=session.meter
    )
    log = CallLog()
    optimizer = StepOptimizer(calls, 0, log, session.environment)
    seed = f"{session.settings.train.seed}/step/1"
    session.tell(StageStarted(0, 0, "reflect", 1))
    found = await one_shot(optimizer, base.text, rollouts, session.metric, seed, refuse=rules, said=rules.said)
    if found is None:
        raise ModelError(
            f"{session.optimizer.name} gave no usable rewrite: {log.last_problem}",
            mend="choose another optimizer, or ask for --kind examples alone",
        )
    built = as_candidate(base.text, found)
    return _Made(built, "" if built.applied else "the rewrite is the base document")


async def _judged(
    session: Session, base: Placed, before: Evaluation, kind: Kind, made: _Made, *, test: bool
) -> Baseline:
    """Measure a baseline wholly (a score to compare with has no early end), and ask the gate."""
    text, repeats = made.built.document, session.settings.evaluation.repeats
    placed = replace(base, text=text, blob=session.repo.objects.write_blob(text.encode()))
    current = by_metric(before.measurement, session.metric)
    decision, reason, gate, bar = "none", made.reason, "", session.metric.value(before.hard, before.soft)
    found = before
    if not made.reason:
        found = await evaluate_document(session, placed, "", "val", repeats=repeats, tasks=session.val)
        verdict = decide(current, by_metric(found.measurement, session.metric), session.gate)
        decision, reason, bar = verdict.decision, verdict.reason, verdict.before
        gate = session.gate_text(missing=verdict.missing)
    tested = None
    if test:
        scored = await evaluate_document(session, placed, "", "test", repeats=repeats, tasks=session.test)
        tested = Tested(scored.hard, scored.soft, scored.tasks, scored.digest)
    target: dict[str, Any] = session.target_identity
    return Baseline(
        kind=kind,
        val=found.digest,
        target=target,
        optimizer=session.model_names["optimizer"] if kind == "one_shot" else "",
        hard=found.hard,
        soft=found.soft,
        tasks=found.tasks,
        errors=found.errors,
        decision=decision,
        reason=reason,
        gate=gate,
        before=bar,
        document=placed.blob,
        tokens=length(text),
        edits=len(made.built.applied),
        test=tested,
    )
