"""Training: from where a run stands to its end, step by step."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from skillgit.errors import ConfigError
from skillgit.store.locks import SkillLock
from skillgit.train.adopting import adopt_tip
from skillgit.train.archive import taken_back
from skillgit.train.archive.history import records
from skillgit.train.archive.journal import exact_number
from skillgit.train.carry.rejoin import rejoin
from skillgit.train.checks import check_settings
from skillgit.train.epoch.epoch_end import close_epoch
from skillgit.train.events import Note, RunFinished
from skillgit.train.gate import calibrate
from skillgit.train.gate.noise import small_val_note
from skillgit.train.gate.settling import MOST_INDECISIVE
from skillgit.train.propose.drafting import Drafter
from skillgit.train.propose.optimizer_calls import OptimizerCalls
from skillgit.train.run import Run
from skillgit.train.scoring.testing import score_test
from skillgit.train.session import Session
from skillgit.train.spend.budget import BudgetSpent
from skillgit.train.spend.stopping import Interrupts
from skillgit.train.start import begin, keep_settings, unfinished
from skillgit.train.step import next_step, take

SMALL_VAL = 20
"""Below this many val tasks one task is more than five points, and a note says so."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended. Scores are the gate metric of the best document, before and after the run.

    Args:
        run: empty where the budget ended before the first document was measured.
        finished: False where the same command goes on: a budget was used up.
        test: scores on test of the first and the best document, with `eval_test`.
    """

    skill: str
    run: str
    reason: str
    before: Fraction | None
    after: Fraction | None
    steps: int
    accepted: int
    rejected: int
    best_commit: str
    best_blob: str
    finished: bool = True
    test: tuple[Fraction, Fraction] | None = None

    @property
    def improved(self) -> bool:
        """Whether the best document scores higher than the one that the run began with."""
        return self.before is not None and self.after is not None and self.after > self.before

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        found = asdict(self)
        for key in ("before", "after"):
            score = getattr(self, key)
            found[key] = None if score is None else round(float(score), 6)
        test = None if self.test is None else {"before": float(self.test[0]), "after": float(self.test[1])}
        return {**found, "test": test, "improved": self.improved}


async def train(session: Session, lock: SkillLock, *, fresh: bool = False, stop: Interrupts | None = None) -> Outcome:
    """Train one skill to the end of its run, or of the budget. The lock is held by the caller.

    Args:
        stop: asks, between two steps, whether a person wants the command to end.

    Raises:
        UsageError: refused. OutsideError: models or environment failed; the run can be resumed.
        InterruptedRunError: a person wanted it.
    """
    if session.optimizer is None:
        raise ConfigError("training needs an optimizer model", mend="set models.optimizer")
    session.repo.identity()
    going_on = None if fresh else unfinished(session)
    if going_on is not None:
        keep_settings(session, going_on)
    check_settings(session)
    _say_what_limits(session)
    run: Run | None = None
    try:
        run = await begin(session, lock, fresh=fresh)
        run.taken_back = taken_back.read(session.repo, session.name, run.document().text)
        await rejoin(run)
        await _steps(run, stop)
        test = await score_test(run) if session.settings.evaluation.eval_test else None
    except BudgetSpent as spent:
        return _unfinished(session, run, spent.reason)
    except asyncio.CancelledError:
        await session.ahead.close(cancel=True)  # now means now: a call that hangs is not waited for
        raise
    finally:
        await session.ahead.close()
    return replace(_outcome(session, run), test=test)


async def _steps(run: Run, stop: Interrupts | None) -> None:
    """From entry to entry of the journal, to the run's end."""
    session = run.session
    if session.optimizer is None:
        raise AssertionError("the caller has looked")
    calls = OptimizerCalls(
        session.optimizer,
        session.cache,
        run.info.run,
        on_usage=session.spender("optimizer", "reflect"),
        meter=session.meter,
    )
    drafter = Drafter(run, calls)
    if run.state.indecisive >= MOST_INDECISIVE:
        run.state.indecisive = 0  # what had stopped the run was mended: it gets as many tries again
    while run.state.status == "running":
        if stop is not None:
            stop.check()
        if session.meter.reason is not None:
            raise BudgetSpent(session.meter.reason)
        await adopt_tip(run)
        if run.state.status != "running":
            return
        if run.state.closing:
            await close_epoch(run, calls)
        else:
            await take(next_step(run), drafter)


def _outcome(session: Session, run: Run) -> Outcome:
    state = run.state
    session.tell(RunFinished(state.reason, state.step, state.accepted_count, state.rejected_count))
    return _so_far(session, run, state.reason)


def _unfinished(session: Session, run: Run | None, reason: str) -> Outcome:
    if run is not None and run.state.status == "finished":
        session.tell(Note(f"{reason} before test was scored: `skillgit eval {session.name} --split test` does that"))
        return _outcome(session, run)
    session.tell(Note(f"{reason}; the same command goes on from here"))
    if run is None:
        return Outcome(session.name, "", reason, None, None, 0, 0, 0, "", "", finished=False)
    return replace(_so_far(session, run, reason), finished=False)


def _so_far(session: Session, run: Run, reason: str) -> Outcome:
    state = run.state
    first = records(session.repo, run.journal)[0] if run.journal else None
    return Outcome(
        skill=session.name,
        run=run.info.run,
        reason=reason,
        before=exact_number(first.best) if first else None,
        after=run.score(state.best),
        steps=state.step,
        accepted=state.accepted_count,
        rejected=state.rejected_count,
        best_commit=state.best_commit,
        best_blob=state.best,
    )


def _say_what_limits(session: Session) -> None:
    """What makes a gain hard to see is said before any call is made."""
    tasks = len(session.val)
    if tasks < SMALL_VAL:
        session.tell(Note(f"val has only {tasks} tasks: one task is {100 / tasks:.0f} points of the score"))
    least = small_val_note(tasks, session.settings.evaluation)
    if least is not None:
        session.tell(Note(least))
    calibration = calibrate.find(session)
    noise = calibrate.warning(calibration, session.settings.evaluation) if calibration is not None else None
    if noise is not None:
        session.tell(Note(noise))
    chosen = session.settings.optimizer
    ignored = [key for key in ("use_slow_update", "use_meta_skill") if key in chosen.model_fields_set]
    if session.form == "compact" and any(getattr(chosen, key) for key in ignored):
        session.tell(Note("the compact prompts have no slow update and no meta memory: gradient.prompts is compact"))
