"""One step: rollout, propose, update, gate, and its record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillgit.errors import RefMovedError
from skillgit.train.adopting import rebase
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import RunState, StepRecord
from skillgit.train.archive.record import Moves, rollout_evidence
from skillgit.train.epoch.epoch_end import is_due
from skillgit.train.events import StageStarted
from skillgit.train.gate.settling import Bout, Contender, contender, measure, refuse_indecisive, settle
from skillgit.train.propose.attempts import is_failure
from skillgit.train.propose.drafting import Drafter, Drafts
from skillgit.train.propose.parents import merged, parent_of
from skillgit.train.run import ALL_DONE, Run
from skillgit.train.schedule import learning_rate
from skillgit.train.scoring.measure import Spare, attempt_all, trials_of
from skillgit.train.scoring.rollout import Rollout, refuse_all_failed
from skillgit.train.speculation import Guess, unseen

DOUBTFUL = 2
"""Steps in a row without an accepted candidate from which on the next one is guessed to be rejected as well."""


@dataclass(slots=True)
class Step:
    """A step in the making.

    Args:
        budget: the most edits that it may apply; None for no limit.
        parent: the document that it starts from: the incumbent, unless `train.parent` says otherwise.
    """

    run: Run
    number: int
    epoch: int
    budget: int | None
    parent: Placed
    rollouts: list[Rollout] = field(default_factory=list)
    proposed: Drafts = field(default_factory=Drafts)
    reason: str = ""


def next_step(run: Run) -> Step:
    """The step after the last one in the journal."""
    number = run.state.step + 1
    return Step(run, number, run.epoch_of(number), _budget(run, number), parent_of(run, number))


def _budget(run: Run, number: int) -> int | None:
    chosen = run.session.settings.optimizer
    if chosen.rate_control == "none":
        return None
    kind = "cosine" if chosen.lr_scheduler == "autonomous" else chosen.lr_scheduler
    return learning_rate(kind, chosen.learning_rate, chosen.min_learning_rate, number, run.info.total_steps)


async def take(step: Step, drafter: Drafter) -> None:
    """Take one step, to its entry in the journal.

    Raises:
        ModelError, MeasurementError: models or environment are broken; what was answered is in the cache.
    """
    run = step.run
    await _rollout(step)
    attempts = [*step.rollouts, *await _carried(step)]
    if any(is_failure(r, run.session.metric) for r in attempts):
        if run.state.barren >= DOUBTFUL:
            run.guess(Guess(step.parent.text, step.parent.blob))
        step.proposed = await drafter.draft(run, step.number, step.epoch, step.parent, attempts, step.budget)
        step.reason = step.proposed.reason
    else:
        step.reason = "nothing failed"
    while run.state.status == "running" and run.state.step < step.number:
        try:
            await _gate(step, drafter)
        except RefMovedError:
            # Somebody moved the branch: on their document the edits are applied and gated again. A ref that is not the
            # branch is not ours to settle.
            if not await rebase(run):
                raise


async def _rollout(step: Step) -> None:
    run, session = step.run, step.run.session
    tasks = run.batch(step.number)
    session.tell(StageStarted(step.number, step.epoch, "rollout", len(tasks)))
    work = [(task, 0) for task in tasks]
    guess = Guess(step.parent.text, step.parent.blob)
    run.plan_ahead(step.number + 1)
    step.rollouts = await attempt_all(
        session.roller("rollout"),
        step.parent.text,
        step.parent.blob,
        work,
        session.tell,
        # Where nothing failed in the last step, nothing may fail in this one, and the next one starts from here too.
        spare=lambda free, _: run.guess(guess, free) if run.state.idle else None,
    )
    run.evidence["rollouts.jsonl"] = rollout_evidence(step.rollouts, step.parent.blob)
    refuse_all_failed(step.rollouts, f"of step {step.number}")


async def _carried(step: Step) -> list[Rollout]:
    """Failures of earlier steps on the same document, the newest first, as many as the last minibatch has room for.

    Where a candidate was rejected, what its step saw still holds: the document is the same, and so each attempt is in
    the cache. SkillOpt looks at the step's own mini-batch alone.
    """
    run, session = step.run, step.run.session
    if session.form == "compact" or session.settings.gradient.proposer == "examples":
        return []  # nobody is told there what was rejected: the same edits would come again, in place of new ones
    own = {rollout.task.id for rollout in step.rollouts}
    tasks = {task.id: task for task in session.train if task.id not in own}
    failures, size = sum(is_failure(r, session.metric) for r in step.rollouts), session.settings.gradient.minibatch_size
    room = -failures % size if failures else size
    wanted = [ident for ident in run.failed_before(step.parent.blob) if ident in tasks][:room]
    work = [(tasks[ident], 0) for ident in sorted(wanted)]
    return await session.roller("rollout").batch(step.parent.text, step.parent.blob, work, unseen)


async def _gate(step: Step, drafter: Drafter) -> None:
    """Update and gate on the incumbent as it is now, and record."""
    run = step.run
    before = run.document()
    bout = Bout(
        kind="step",
        step=step.number,
        epoch=step.epoch,
        before=before,
        forced=not run.session.settings.evaluation.use_gate,
        reason=step.reason,
        budget=step.proposed.budget if step.proposed.budget is not None else 0,
        dropped=step.proposed.dropped,
        batch=trials_of(step.rollouts),
    )
    # Where somebody moved the branch meanwhile, edits go on top of their document; a whole rewrite cannot.
    base = before if step.parent.blob == run.state.incumbent or step.parent.blob not in run.state.pool else step.parent
    contenders = []
    for number, draft in enumerate(step.proposed.drafts, start=1):
        built, reason = await drafter.update(run, step.number, base, draft)
        contenders.append(contender(run, bout, number, built, base.blob, reason))
    both = merged(run)
    if both is not None:
        contenders.append(contender(run, bout, run.session.settings.optimizer.proposals + 2, both[0], before.blob))
    await measure(run, bout, contenders, spare=_spare(run, bout, contenders))
    settled = settle(run, bout, contenders)
    if both is not None:
        settled.state.merged = [*settled.state.merged, "+".join(both[1])]
    await _finish(step, settled.record, settled.state, settled.keeps, settled.moves)
    refuse_indecisive(run.state, settled.record)


def _spare(run: Run, bout: Bout, contenders: Sequence[Contender]) -> Spare:
    """While the gate has slots to spare, the next step's tasks are attempted on the document it will start from."""
    waiting = [c for c in contenders if not c.reason]
    incumbent = Guess(bout.before.text, bout.before.blob)

    def spare(free: int, ahead: bool) -> None:
        if ahead and len(waiting) == 1:
            run.guess(Guess(waiting[0].built.document, waiting[0].blob), free)
        elif run.state.barren >= DOUBTFUL or not ahead:
            run.guess(incumbent, free)

    return spare


async def _finish(step: Step, record: StepRecord, state: RunState, keeps: Sequence[str], moves: Moves) -> None:
    """Bring the state forward and write the step; the epoch's last step brings its tag.

    Raises:
        ModelError: the run would be over, and its optimizer is broken.
    """
    run = step.run
    state.step, state.unusable, state.answered = step.number, run.unusable, run.answered
    if run.unheard and record.decision == "none":
        state.barren = run.state.barren  # broken is never "no improvement"
    state.idle = 0 if any(is_failure(r, run.session.metric) for r in step.rollouts) else state.idle + 1
    state.reason = run.end_reason(state) or ""
    run.refuse_unheard(state)
    whole = step.number % run.steps_per_epoch == 0
    over = state.reason not in ("", ALL_DONE)
    if whole and not over and is_due(run, state):
        state.closing, state.reason = True, ""
    state.status = "finished" if state.reason else "running"
    if state.reason or (whole and not state.closing):
        run.end_epoch(moves, record, state)
    await run.write(state, record, keeps, moves)
    patterns = step.proposed.patterns
    run.patterns = [*run.patterns, *patterns] if state.epoch == step.epoch else []
