"""The end of an epoch: the slow update and the meta memory, from the same tasks under two documents.

Source: SkillOpt's `optimizer/slow_update.py`, `optimizer/meta_skill.py` and `engine/trainer.py`. Ours gates the slow
update by default, as the paper says. A forced one is measured, so that the next candidate's bar is never the score of
another document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillgit.document import Edit
from skillgit.document.regions import guidance as written
from skillgit.envs.contract import Task
from skillgit.errors import RefMovedError
from skillgit.execute.pool import map_bounded
from skillgit.redact import redact
from skillgit.train.adopting import rebase
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import RunState, StepRecord
from skillgit.train.archive.layout import META, OPTIMIZER
from skillgit.train.archive.record import Moves, rollout_evidence
from skillgit.train.archive.taken_back import is_taken
from skillgit.train.epoch import longitudinal
from skillgit.train.epoch.longitudinal import Pair
from skillgit.train.epoch.meta_memory import update_memory
from skillgit.train.epoch.slow_update import document_with_guidance, propose_guidance
from skillgit.train.events import StageStarted
from skillgit.train.gate.settling import Bout, contender, measure, refuse_indecisive, settle
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.propose.optimizer_calls import CallLog, OptimizerCalls, StepOptimizer
from skillgit.train.run import Run
from skillgit.train.scoring.rollout import Rollout, refuse_all_failed
from skillgit.train.speculation import Guess

KIND = "slow-update"
CHANGED = "somebody changed the guidance while it was asked for"


def is_due(run: Run, state: RunState) -> bool:
    """Whether an epoch, whose steps are done, ends with a look back: from the second one on, where it changed the
    document. Small models follow neither guidance nor notes, so the compact form has none."""
    chosen, session = run.session.settings, run.session
    wanted = chosen.optimizer.use_slow_update or chosen.optimizer.use_meta_skill
    return (
        wanted and session.form == "full" and not chosen.train.one_shot and state.previous not in ("", state.incumbent)
    )


async def close_epoch(run: Run, calls: OptimizerCalls) -> None:
    """Take the epoch's last part, to its entry in the journal and the epoch's tag.

    Raises:
        ModelError, MeasurementError: models or environment are broken; what was answered is in the cache.
    """
    state, session = run.state, run.session
    log = CallLog()
    optimizer = StepOptimizer(calls, state.step, log, session.environment, run.memory)
    current = run.document()
    where = f"the document of epoch {state.epoch - 1}"
    previous = documents.read_blob(session.repo, state.previous, current.mode, where)
    run.plan_ahead(state.step + 1)
    pairs = await _compare(run, previous, current)
    guidance, memory, reason = await _ask(run, optimizer, previous, current, pairs)
    run.evidence[OPTIMIZER] = log.sorted()
    run.note_unusable(log)
    if memory is not None:
        run.evidence[META] = [{"text": redact(memory)}]
    if guidance and is_taken(run.taken_back, Edit(KIND, content=guidance)):
        guidance, reason = None, "a person took that guidance out of the document"
    while run.state.closing and run.state.status == "running":
        try:
            if guidance and written(run.document().text) != written(current.text):
                # It was made for other guidance; to put it in its place would undo what somebody wrote.
                guidance, reason = None, CHANGED
            await _gate(run, guidance, pairs, reason)
        except RefMovedError:
            if not await rebase(run):
                raise
    if memory is not None:
        run.memory = redact(memory)


async def _compare(run: Run, previous: Placed, current: Placed) -> list[Pair]:
    """The sampled train tasks under both documents, attempted beside each other."""
    session, state = run.session, run.state
    chosen = session.settings.optimizer
    tasks = {task.id: task for task in session.train}
    order = longitudinal.sample(
        tasks, _known(run, {previous.blob, current.blob}), len(tasks), session.settings.train.seed, state.epoch
    )
    wanted, found, tried = order[: chosen.slow_update_samples], list[Pair](), 0
    before: list[Rollout] = []
    after: list[Rollout] = []
    while wanted:
        old, new = await _attempt(run, previous, current, [tasks[ident] for ident in wanted])
        before, after, tried = [*before, *old], [*after, *new], tried + len(wanted)
        found = longitudinal.chosen(longitudinal.pairs(before, after, session.metric), chosen.longitudinal_pair_policy)
        wanted = longitudinal.missing(
            order, tried, len(found), chosen.slow_update_samples, chosen.longitudinal_pair_policy
        )
    run.evidence["rollouts.jsonl"] = [*rollout_evidence(before, previous.blob), *rollout_evidence(after, current.blob)]
    refuse_all_failed([*before, *after], f"at the end of epoch {state.epoch}")
    return found


async def _attempt(
    run: Run, previous: Placed, current: Placed, tasks: Sequence[Task]
) -> tuple[list[Rollout], list[Rollout]]:
    session, state = run.session, run.state
    session.tell(StageStarted(state.step, state.epoch, "compare", 2 * len(tasks), documents=2))
    roller = session.roller("slow_update")
    on = [roller.on(placed.text, placed.blob, session.tell) for placed in (previous, current)]
    work = [(side, task) for side in (0, 1) for task in tasks]

    async def one(item: tuple[int, Task]) -> Rollout:
        return await on[item[0]]((item[1], 0))

    rollouts = await map_bounded(work, one, limit=roller.in_flight)
    return rollouts[: len(tasks)], rollouts[len(tasks) :]


def _known(run: Run, blobs: set[str]) -> set[str]:
    """Tasks that the run's steps attempted under one of the documents, by its journal: they cost nothing again."""
    return {task for record in run.records() if record.came_from in blobs for task in record.batch}


async def _ask(
    run: Run, optimizer: StepOptimizer, previous: Placed, current: Placed, pairs: Sequence[Pair]
) -> tuple[str | None, str | None, str]:
    """Guidance and notes, asked for beside each other; and why there is no guidance.

    Where no compared task failed under the current document there is nothing to say, and nobody is asked."""
    chosen = run.session.settings.optimizer
    if not any(pair.change in ("regressed", "persistent") for pair in pairs):
        return None, None, "no compared task fails with this document"

    texts = previous.text, current.text

    async def guide() -> str | None:
        return await propose_guidance(optimizer, *texts, pairs) if chosen.use_slow_update else None

    async def note() -> str | None:
        return await update_memory(optimizer, *texts, pairs, run.memory) if chosen.use_meta_skill else None

    run.session.tell(StageStarted(run.state.step, run.state.epoch, KIND, 0))
    # Where one fails, the other does not outlive the stage.
    guidance, memory = await map_bounded((guide, note), lambda ask: ask(), limit=2)
    return guidance, memory, "" if guidance else "no new guidance was proposed"


async def _gate(run: Run, guidance: str | None, pairs: Sequence[Pair], reason: str) -> None:
    """The guidance on the document as it is now, gated as any candidate; or forced, and then measured all the same."""
    state, settings, before = run.state, run.session.settings, run.document()
    forced = not (settings.evaluation.slow_update_gate_with_selection and settings.evaluation.use_gate)
    bout = Bout(KIND, state.step, state.epoch, before, forced=forced, reason=reason)
    contenders = []
    if guidance:
        built, refused = _built(before, guidance, pairs, state.epoch)
        number = settings.optimizer.proposals + 1
        contenders = [contender(run, bout, number, built, before.blob, refused or "")]
    incumbent = Guess(before.text, before.blob)
    await measure(run, bout, contenders, spare=lambda free, ahead: None if ahead else run.guess(incumbent, free))
    settled = settle(run, bout, contenders)
    await _finish(run, settled.record, settled.state, settled.keeps, settled.moves)
    refuse_indecisive(run.state, settled.record)


def _built(before: Placed, guidance: str, pairs: Sequence[Pair], epoch: int) -> tuple[Candidate, str | None]:
    after, refused = document_with_guidance(before.text, guidance)
    counts = ", ".join(f"{number} {change}" for change, number in longitudinal.tally(pairs).items() if number)
    edit = Edit("guidance", content=redact(guidance), reason=f"The end of epoch {epoch}: {counts}.")
    status = "applied" if refused is None and after != before.text else "no_change"
    return Candidate(after, (EditOutcome(edit, len(pairs), "pair", status, refused or "", after),)), refused


async def _finish(run: Run, record: StepRecord, state: RunState, keeps: Sequence[str], moves: Moves) -> None:
    state = replace(state, unusable=run.unusable, answered=run.answered, closing=False)
    state.reason = run.end_reason(state) or ""
    state.status = "finished" if state.reason else "running"
    run.end_epoch(moves, record, state)
    await run.write(state, record, keeps, moves)
    run.patterns = []
