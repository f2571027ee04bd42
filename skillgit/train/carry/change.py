"""A change that a person asks for: tried on today's tip, gated like any candidate, and an entry of the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from skillgit.document import Edit
from skillgit.document.structure import Structure
from skillgit.errors import RefMovedError, RefusedError, UnfitChangeError
from skillgit.store.locks import SkillLock
from skillgit.train.adopting import adopt_tip, keep_status, rebase
from skillgit.train.archive import history, taken_back
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import ACCEPTED, StepRecord
from skillgit.train.archive.record import Joined
from skillgit.train.gate import GateSettings
from skillgit.train.gate.settling import Bout, Contender, contender, measure, settle
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.run import Run
from skillgit.train.session import Session
from skillgit.train.start import catch_up, keep_settings, new_run, prepare, reopened

Kind = Literal["revert", "cherry-pick", "retry", "merge"]
SOURCE = "person"
"""Who asked for an edit that no attempt did."""
FIRST = 3
"""Numbers of candidates after those of a step: its proposals, the slow update and the merge of two parents."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of the tip's document.

    Args:
        built: the candidate; each of its applied edits becomes a commit.
        rule: the gate, where it is not the skill's own.
        ties: where it is accepted, it need only be as good as the best document to become that.
        joined: what the last commit joins, in a merge.
        forced: accepted, and the best document, whatever its score: a person has said so.
        owed: the candidate that is tried again, which is not owed any more once this is decided.
    """

    kind: Kind
    built: Candidate
    rule: GateSettings | None = None
    ties: bool = False
    joined: Joined | None = None
    forced: bool = False
    owed: str = ""


Make = Callable[[Placed], Change]
"""Makes the change for the document at the tip; called again where somebody moved the branch meanwhile."""


def outcome(op: str, what: str, why: str, text: str, *, of: str = "") -> EditOutcome:
    """A change that is no edit of a few lines: a commit whose document is `text`.

    Args:
        op: `revert`, `pick` or `merge`. what: for the subject line. why: for the commit's body.
        of: the commit that it takes back.
    """
    return EditOutcome(Edit(op, of, what, why), 1, SOURCE, "applied", "", text)


async def open_run(session: Session, lock: SkillLock) -> Run:
    """The skill's newest run, brought to today's tip, tasks and target; measures what that takes.

    Raises:
        RefusedError: nothing was trained yet, or the branch cannot be moved. MeasurementError, ModelError: models or
            environment are broken.
    """
    session.repo.identity()
    last = prepare(session.repo, session.name, lock, session.tell)
    if last is None:
        raise RefusedError(f"{session.name} was not trained yet", mend=f"run `skillgit train {session.name}` first")
    own = history.is_own(session.repo, last)
    if own and last.state.status == "running":
        keep_settings(session, last)
    elif not own or last.info.document != session.settings.document:
        # The journal of another clone may go on there as well, and two that differ are one too many.
        return await new_run(session, lock, last, by_hand=True)
    run, current = reopened(session, lock, last)
    await catch_up(run, current=current)
    return run


async def bring_in(run: Run, make: Make) -> StepRecord:
    """Gate a change on the tip's document, and write what became of it: commits, refs and the journal's entry.

    Returns: the entry. A rejected change is kept under a ref like any rejected candidate.

    Raises:
        UnfitChangeError: there is nothing to measure; says why.
    """
    while True:
        await adopt_tip(run)
        try:
            record = await _settle(run, make(run.document()))
        except RefMovedError:
            if not await rebase(run):
                raise
        else:
            taken_back.keep(run.session.repo, run.info.skill, run.info.document, record)
            return record


async def _settle(run: Run, change: Change) -> StepRecord:
    before = run.document()
    bout = Bout(
        kind=change.kind,
        step=run.state.step,
        epoch=run.state.epoch,
        before=before,
        rule=change.rule,
        ties=change.ties,
        joined=change.joined,
        forced=change.forced,
        best=change.forced,
    )
    candidate = _contender(run, bout, change)
    await measure(run, bout, [candidate], spare=None)
    settled = settle(run, bout, [candidate])
    settled.state.indecisive = run.state.indecisive  # that counts what training itself could not decide
    if candidate.decision != "indecisive":
        settled.state.rejoin = [commit for commit in run.state.rejoin if commit != change.owed]
    if candidate.decision in ACCEPTED:
        keep_status(run, run.state, settled.state)
    await run.write(settled.state, settled.record, settled.keeps, settled.moves)
    return settled.record


def _contender(run: Run, bout: Bout, change: Change) -> Contender:
    problem = Structure(change.built.document).problem
    if problem:
        raise UnfitChangeError(f"{run.info.document}: no edit could apply any more: {problem}")
    refused = [o for o in change.built.outcomes if o.status != "applied"]
    if refused:
        raise UnfitChangeError(f"{refused[0].edit.op}: {refused[0].status}: {refused[0].reason}")
    found = contender(run, bout, number(run), change.built, bout.before.blob)
    if found.reason:
        raise UnfitChangeError(f"nothing was measured: {found.reason}")
    return found


def number(run: Run) -> int:
    """A candidate's number that nothing else of the step has, or had."""
    first = run.session.settings.optimizer.proposals + FIRST
    return history.free_number(run.session.repo, run.journal, run.state.step, first)
