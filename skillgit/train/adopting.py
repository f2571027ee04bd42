"""A run meets what others did: people's commits on the branch, and entries of the journal that are no step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skillgit.models.usage import Ledger
from skillgit.store.notes import add_note
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import RunState, StepRecord, exact_text
from skillgit.train.archive.record import Moves
from skillgit.train.events import Note
from skillgit.train.meeting import owed
from skillgit.train.run import Run
from skillgit.train.scoring import scores

COMMITTED = "somebody committed on the branch"
"""The reason of an entry that a person's commit made."""


async def rebase(run: Run) -> bool:
    """`adopt_tip` in the middle of a step: what the step has spent and seen so far stays its own.

    Returns: False where the branch was not what moved.
    """
    spent, run.session.ledger = run.session.ledger, Ledger()
    seen, run.evidence = run.evidence, {}
    if not await adopt_tip(run):
        return False
    run.session.ledger, run.evidence = spent, seen
    return True


async def adopt_tip(run: Run) -> bool:
    """People's commits on the branch: theirs becomes the incumbent, even when it scores lower; best stays.

    Returns: whether the branch had been moved, or was gone.

    Raises:
        RefMovedError: a ref moved meanwhile; nothing was recorded.
    """
    session = run.session
    repo, branch = session.repo, session.refs.branch
    tip = repo.read_ref(branch)
    moves = Moves()
    if tip == run.state.tip:
        return False
    if tip is None:
        session.tell(Note(f"{branch} was gone; it is set back to {run.state.tip[:12]}"))
        moves.add(branch, None, run.state.tip)
        await record_event(run, "human", "the branch was gone", run.state.tip, run.document(), moves)
        return True
    placed = documents.read_editable(repo, tip, run.info.document)
    session.tell(Note(f"{branch} was moved to {tip[:12]} by somebody; its document is the incumbent now"))
    await run.measure(placed, "human")
    await record_event(run, "human", COMMITTED, tip, placed, moves)
    note_person(run, exact_text(run.score(placed.blob)))
    return True


def note_person(run: Run, score: str | None) -> None:
    """Note the score of a person's commit on it, as the journal's last entry has it. A fact that is there is not
    repeated, so a run that goes on from such an entry does it again: one that was killed may have left it out."""
    fact: dict[str, Any] = {
        "kind": "human",
        "run": run.info.run,
        "step": run.state.step,
        "split": "val",
        str(run.session.metric): score,
        "digest": run.state.val,
        "target": str(run.state.target.get("name", "")),
    }
    add_note(run.session.repo, run.state.tip, fact)


def keep_status(run: Run, before: RunState, state: RunState) -> None:
    """Whether the run is over in a state that no step led to: one that was over stays so, whatever was measured."""
    if before.status == "finished":
        state.status, state.reason = before.status, before.reason
        return
    state.reason = run.end_reason(state) or ""
    state.status = "finished" if state.reason else "running"


async def record_event(run: Run, kind: str, reason: str, tip: str, placed: Placed, moves: Moves) -> None:
    """A journal entry that is no step: the incumbent becomes the document at `tip`."""
    before = run.state
    best, best_commit = before.best, before.best_commit
    mine, bar = run.score(placed.blob), run.score(best)
    # After measuring anew, best is the higher of tip and best, and a tie goes to the tip.
    tie_wins = kind in ("baseline", "remeasure")
    if mine is not None and (bar is None or mine > bar or (tie_wins and mine == bar)):
        best, best_commit = placed.blob, tip
    state = replace(before, tip=tip, incumbent=placed.blob, best=best, best_commit=best_commit)
    if tip != before.tip or kind == "baseline":
        state.rejoin = list(dict.fromkeys([*before.rejoin, *owed(run.session.repo, run.info.skill, tip)]))
    if state.pool and placed.blob != before.incumbent:
        state.pool = [placed.blob]  # older parents lack what the person wrote
    measurement = run.measured[placed.blob]
    record = StepRecord(
        kind=kind,
        step=before.step,
        epoch=before.epoch,
        decision=kind,
        reason=reason,
        document=placed.blob,
        document_before=before.incumbent,
        score=exact_text(mine),
        score_hard=exact_text(scores.mean(measurement, scores.HARD)),
        score_soft=exact_text(scores.mean(measurement, scores.SOFT)),
        prefix=len(measurement),
        val_tasks=len(measurement),
        scores=scores.encode(measurement),
    )
    keep_status(run, before, state)
    best_ref = run.session.refs.best
    moves.add(best_ref, run.session.repo.read_ref(best_ref), best_commit)
    await run.write(state, record, [tip], moves)
