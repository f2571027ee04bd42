"""Training: from where a run stands to its end, step by step."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from skillgit.errors import ConfigError
from skillgit.store.locks import SkillLock
from skillgit.train.drafting import Drafter
from skillgit.train.epoch_end import close_epoch
from skillgit.train.events import Note, RunFinished
from skillgit.train.gating import MOST_INDECISIVE
from skillgit.train.history import records
from skillgit.train.journal import exact_number
from skillgit.train.optimizer_calls import OptimizerCalls
from skillgit.train.run import Run
from skillgit.train.session import Session
from skillgit.train.start import begin
from skillgit.train.step import next_step, take

SMALL_VAL = 20
"""Below this many val tasks one task is more than five points, and a note says so."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended. Scores are the gate metric of the best document, before and after the run."""

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
        return {**found, "improved": self.improved}


async def train(session: Session, lock: SkillLock, *, fresh: bool = False) -> Outcome:
    """Train one skill to the end of its run. The lock is held by the caller.

    Raises:
        UsageError: refused. OutsideError: models or environment failed; the run can be resumed.
    """
    if session.optimizer is None:
        raise ConfigError("training needs an optimizer model", mend="set models.optimizer")
    session.repo.identity()
    _say_what_limits(session)
    run = await begin(session, lock, fresh=fresh)
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
    try:
        while run.state.status == "running":
            await run.adopt_tip()
            if run.state.status == "running":
                await _next(run, drafter, calls)
    finally:
        await session.ahead.close()
    return _outcome(session, run)


async def _next(run: Run, drafter: Drafter, calls: OptimizerCalls) -> None:
    """The next entry of the journal: a step, or what ends the epoch."""
    if run.state.closing:
        await close_epoch(run, calls)
    else:
        await take(next_step(run), drafter)


def _outcome(session: Session, run: Run) -> Outcome:
    state = run.state
    session.tell(RunFinished(state.reason, state.step, state.accepted_count, state.rejected_count))
    first = records(session.repo, run.journal)[0] if run.journal else None
    return Outcome(
        skill=session.name,
        run=run.info.run,
        reason=state.reason,
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
