"""One step: rollout, reflect, aggregate, select, update, gate, and its record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from skillgit.document.structure import body
from skillgit.envs.contract import Task
from skillgit.errors import MeasurementError, ModelError, RefMovedError
from skillgit.models.usage import Ledger
from skillgit.redact import redact, redact_json
from skillgit.train import candidate as update
from skillgit.train import scores
from skillgit.train.candidate import Candidate
from skillgit.train.documents import Placed
from skillgit.train.events import Note, StageStarted
from skillgit.train.gate import GateSettings, decide
from skillgit.train.journal import RunState, StepRecord, exact_number, exact_text
from skillgit.train.measure import Gated, measure_against, trials_of
from skillgit.train.messages import verdict_trailers
from skillgit.train.optimizer_calls import MOST_UNUSABLE
from skillgit.train.prompts import data
from skillgit.train.proposals import Dropped, Proposal, aggregate, select
from skillgit.train.record import PATTERNS, Moves, rollout_evidence, write_candidate
from skillgit.train.reflect import Memory, Reflection, Reflector, failed, minibatches
from skillgit.train.rollout import Rollout
from skillgit.train.run import Run
from skillgit.train.schedule import epoch_batches, learning_rate
from skillgit.train.scores import Measurement, by_metric

MOST_INDECISIVE = 3
"""Verdicts in a row without enough scores after which a run stops (exit code 3)."""
MOST_REMEMBERED = 12


@dataclass(slots=True)
class Step:
    """A step in the making."""

    run: Run
    number: int
    epoch: int
    budget: int
    rollouts: list[Rollout] = field(default_factory=list)
    chosen: list[Proposal] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    patterns: tuple[str, ...] = ()
    unusable: int = 0
    reason: str = ""


def next_step(run: Run) -> Step:
    """The step after the last one in the journal."""
    number = run.state.step + 1
    epoch = (number - 1) // run.steps_per_epoch + 1
    chosen = run.session.settings.optimizer
    budget = learning_rate(
        chosen.lr_scheduler, chosen.learning_rate, chosen.min_learning_rate, number, run.info.total_steps
    )
    return Step(run, number, epoch, budget)


async def take(step: Step, reflector: Reflector) -> None:
    """Take one step, to its entry in the journal.

    Raises:
        ModelError, MeasurementError: models or environment are broken; what was answered is in the cache.
    """
    run = step.run
    await _rollout(step)
    if any(failed(r, run.session.settings.evaluation.gate_metric) for r in step.rollouts):
        await _propose(step, reflector)
    else:
        step.reason = "nothing failed"
    while run.state.status == "running" and run.state.step < step.number:
        try:
            await _gate(step)
        except RefMovedError:
            # Somebody moved the branch: on their document the edits are applied and gated again. What this step has
            # spent and seen so far stays its own. A ref that is not the branch is not ours to settle.
            spent, run.session.ledger = run.session.ledger, Ledger()
            seen, run.evidence = run.evidence, {}
            if not await run.adopt_tip():
                raise
            run.session.ledger, run.evidence = spent, seen


def _batch(step: Step) -> list[Task]:
    session, run = step.run.session, step.run
    tasks = {task.id: task for task in session.environment.tasks("train")}
    chosen = session.settings.train
    batches = epoch_batches(list(tasks), chosen.batch_size, chosen.seed, step.epoch)
    ids = batches[(step.number - 1) % run.steps_per_epoch % len(batches)]
    return [tasks[ident] for ident in sorted(ids)]


async def _rollout(step: Step) -> None:
    run, session = step.run, step.run.session
    tasks = _batch(step)
    document = run.document()
    session.tell(StageStarted(step.number, step.epoch, "rollout", len(tasks)))
    work = [(task, 0) for task in tasks]
    step.rollouts = await session.roller("rollout").batch(document.text, document.blob, work, session.tell)
    run.evidence["rollouts.jsonl"] = rollout_evidence(step.rollouts, document.blob)
    errors = [r.error for r in step.rollouts if r.error is not None]
    if len(errors) == len(step.rollouts):
        raise MeasurementError(
            f"all {len(errors)} attempts of step {step.number} failed; the last: {errors[-1]}",
            mend="mend it and run the same command again",
        )


async def _propose(step: Step, reflector: Reflector) -> None:
    """Reflect, aggregate, select."""
    run, session = step.run, step.run.session
    settings = session.settings
    batches = minibatches(
        step.rollouts,
        settings.gradient.minibatch_size,
        settings.evaluation.gate_metric,
        f"{settings.train.seed}/step/{step.number}",
        failure_only=settings.gradient.failure_only,
    )
    session.tell(StageStarted(step.number, step.epoch, "reflect", len(batches)))
    memory = _memory(run)
    text = run.document().text
    reflection = await reflector.reflect(step.number, text, batches, step.budget, memory, session.tell)
    run.evidence["optimizer.jsonl"] = reflection.log.entries
    step.patterns = tuple(redact(pattern) for pattern in reflection.patterns)
    run.evidence[PATTERNS] = [{"text": pattern} for pattern in step.patterns]
    _count_unusable(step, reflection)
    kept, conflicts = aggregate(reflection.proposals)
    step.chosen, outside = select(kept, step.budget)
    step.dropped = [*conflicts, *outside]
    if not step.chosen:
        step.reason = "no edit was proposed"


def _count_unusable(step: Step, reflection: Reflection) -> None:
    """Broken is never "no improvement": an optimizer that gives nothing usable stops the run."""
    log = reflection.log
    step.unusable = 0 if log.usable else step.run.state.unusable + log.unusable
    if log.unusable:
        step.run.session.tell(Note(f"{log.unusable} optimizer replies could not be used: {log.last_problem}"))
    if step.unusable >= MOST_UNUSABLE:
        name = step.run.session.model_names["optimizer"]
        raise ModelError(
            f"{name} gave no usable reply {step.unusable} times in a row; the last: {log.last_problem}",
            mend="choose another optimizer or mend the endpoint, then run the same command again",
        )


def _memory(run: Run) -> Memory:
    """Only what was rejected on this very document: on another, an edit may be tried again."""
    state = run.state
    here = [entry["text"] for entry in state.rejected if entry["document"] == state.incumbent]
    rejected = tuple(data("rejected_edit", text) for text in here[-MOST_REMEMBERED:])
    return Memory(rejected, tuple(data("pattern", text) for text in run.patterns[-MOST_REMEMBERED:]))


async def _gate(step: Step) -> None:
    """Update and gate on the incumbent as it is now, and record."""
    run, session = step.run, step.run.session
    before = run.document()
    built = update.build(before.text, step.chosen)
    blob = session.repo.objects.write_blob(built.document.encode())
    reason = _nothing_to_measure(step, built, before, blob)
    if reason is not None:
        record = _record(step, built, before, before.blob, "none", reason)
        _finish(step, record, replace(run.state), [], Moves())
        return
    settings = session.settings.evaluation
    session.tell(StageStarted(step.number, step.epoch, "gate", len(session.val) * settings.repeats))
    gated = await measure_against(
        session.roller("gate"),
        built.document,
        blob,
        session.val,
        run.measured[before.blob],
        settings=session.gate,
        metric=settings.gate_metric,
        repeats=settings.repeats,
        wave=max(1, session.target.in_flight // settings.repeats),
        racing=settings.racing,
        on_done=session.tell,
    )
    run.evidence["val.jsonl"] = rollout_evidence(gated.rollouts, blob)
    _settle(step, built, before, blob, gated)


def _nothing_to_measure(step: Step, built: Candidate, before: Placed, blob: str) -> str | None:
    if not step.chosen:
        return step.reason
    if not built.applied:
        return "none of the proposed edits could be applied"
    if not body(built.document).strip():
        return "the edits would empty the document"
    if blob == before.blob:
        return "the candidate equals the incumbent"
    if blob in step.run.state.tried:
        return "the candidate was rejected earlier in this run"
    return None


def _settle(step: Step, built: Candidate, before: Placed, blob: str, gated: Gated) -> None:
    """Write the candidate's commits and move the refs that the verdict moves."""
    run, session = step.run, step.run.session
    repo, refs, verdict = session.repo, session.refs, gated.verdict
    decision: str = verdict.decision
    if decision == "accept" and _beats_best(run, before, gated.measurement):
        decision = "accept-best"
    record = _record(step, built, before, blob, decision, verdict.reason)
    record.score, record.maximum = exact_text(verdict.score), exact_text(verdict.maximum)
    record.before, record.prefix, record.val_tasks = exact_text(verdict.before), verdict.prefix, verdict.tasks
    record.gained, record.lost = list(verdict.gained), list(verdict.lost)
    if verdict.maximum is None:
        # Over the tasks that both documents have a score for, as the verdict's own score is.
        compared = scores.compared(gated.measurement, run.measured[before.blob])
        record.score_hard = exact_text(scores.mean(compared, "hard"))
        record.score_soft = exact_text(scores.mean(compared, "soft"))
    record.scores = scores.encode(gated.measurement)
    record.cost, record.models = session.cost(), session.model_names
    gate = session.gate_text(missing=verdict.missing)
    trailers = verdict_trailers(record, gate=gate, val=session.val_digest)
    place = run.place(step.number, step.epoch)
    record.commits = write_candidate(repo, run.info.document, run.state.tip, before, built.applied, place, trailers)
    state, moves, last = replace(run.state), Moves(), record.commits[-1]
    state.indecisive = state.indecisive + 1 if decision == "indecisive" else 0
    if verdict.decision == "accept":
        moves.add(refs.branch, state.tip, last)
        state.tip, state.incumbent, state.accepted_count = last, blob, state.accepted_count + 1
        run.measured[blob] = gated.measurement
        if decision == "accept-best":
            moves.add(refs.best, repo.read_ref(refs.best), last)
            state.best, state.best_commit = blob, last
    elif verdict.decision == "reject":
        moves.add(refs.rejected(run.info.run, step.number, 1), None, last)
        state.tried = [*state.tried, blob]
        state.rejected = [*state.rejected, _remembered(built, before, record)]
        state.rejected_count += 1
    _finish(step, record, state, [last], moves)
    if state.indecisive >= MOST_INDECISIVE:
        raise MeasurementError(
            f"{state.indecisive} verdicts in a row had too few scores: {verdict.reason}",
            mend="mend what fails and run the same command again",
        )


def _beats_best(run: Run, before: Placed, measurement: Measurement) -> bool:
    """Whether an accepted document is better than the best one too, on the tasks that both have a score for."""
    if run.state.best == before.blob:
        return True
    metric = run.session.settings.evaluation.gate_metric
    best = by_metric(run.measured[run.state.best], metric)
    settings = GateSettings("strict", min_coverage=run.session.settings.evaluation.min_coverage)
    return decide(best, by_metric(measurement, metric), settings).decision == "accept"


def _finish(step: Step, record: StepRecord, state: RunState, keeps: Sequence[str], moves: Moves) -> None:
    """Bring the state forward and write the step; the epoch's last step brings its tag."""
    run = step.run
    metric = run.session.settings.evaluation.gate_metric
    state.step, state.unusable = step.number, step.unusable
    state.idle = 0 if any(failed(r, metric) for r in step.rollouts) else state.idle + 1
    state.reason = run.end_reason(state) or ""
    state.status = "finished" if state.reason else "running"
    if state.reason or step.number % run.steps_per_epoch == 0:
        run.tag(moves, record, state)
        state.epoch = step.epoch + (not state.reason)
    run.write(state, record, keeps, moves)
    run.patterns = [*run.patterns, *step.patterns] if state.epoch == step.epoch else []


def _record(step: Step, built: Candidate, before: Placed, blob: str, decision: str, reason: str) -> StepRecord:
    return StepRecord(
        kind="step",
        step=step.number,
        epoch=step.epoch,
        decision=decision,
        reason=reason,
        document=blob,
        document_before=before.blob,
        learning_rate=step.budget,
        edits=redact_json([_edit(outcome) for outcome in built.outcomes]),
        dropped=redact_json([{**asdict(d.proposal.edit), "why": d.reason} for d in step.dropped]),
        batch=scores.encode(trials_of(step.rollouts)),
    )


def _edit(outcome: update.EditOutcome) -> dict[str, Any]:
    found = {key: value for key, value in asdict(outcome).items() if key not in ("edit", "document", "reason")}
    return {**asdict(outcome.edit), **found, "why": outcome.reason}


def _remembered(built: Candidate, before: Placed, record: StepRecord) -> dict[str, str]:
    """What reflection is told of a rejected candidate."""
    lines = [f"{o.edit.op}: {o.edit.content or o.edit.target}" for o in built.applied]
    reached = "at best " if record.maximum is not None else ""
    number = scores.decimal(exact_number(record.maximum or record.score))
    text = "\n".join(
        [*lines, f"(scored {reached}{number}, the incumbent {scores.decimal(exact_number(record.before))})"]
    )
    return {"document": before.blob, "text": redact(text)}
