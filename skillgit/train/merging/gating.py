"""The gate of a merge into a base branch: the merged document against the one that stands there, both measured anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

from skillgit.train.archive import history
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import StepRecord, exact_text
from skillgit.train.archive.messages import verdict_trailers
from skillgit.train.gate import Verdict, decide
from skillgit.train.scoring import scores
from skillgit.train.scoring.evaluate import Evaluation, evaluate_document, remember
from skillgit.train.scoring.scores import by_metric
from skillgit.train.session import Session

T = TypeVar("T")


class WithSession(Protocol):
    """Runs a piece of work on a session that is opened only now."""

    def __call__(self, work: Callable[[Session], Awaitable[T]], *, optimizer: bool = False) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class Judged:
    """What the gate said of a merged document.

    Args:
        text: the document. theirs, merged: the measurements of the base's document and of this one.
        best: the best document's score, where the journal has one on the same tasks with the same target.
        trailers: verdict, scores and cost, as a commit has them.
        notes: writes both measurements down, once the merge has been made.
    """

    placed: Placed
    verdict: Verdict
    theirs: Evaluation
    merged: Evaluation
    best: Fraction | None
    trailers: list[tuple[str, str]]
    notes: Callable[[], None]

    @property
    def below_best(self) -> Fraction | None:
        """The best document's score, where this one has less."""
        score = self.verdict.score
        return self.best if self.best is not None and score is not None and score < self.best else None


async def judge(session: Session, merged: Placed, theirs: Placed, best: str) -> Judged:
    """Measure both documents on all val tasks, and ask the skill's gate.

    Args:
        best: the blob of the best document.

    Raises:
        MeasurementError, ModelError: models or environment are broken.
    """
    found = [await _measured(session, placed) for placed in (theirs, merged)]
    before, after = (by_metric(one.measurement, session.metric) for one in found)
    verdict = decide(before, after, session.gate)
    last = history.latest(session.repo, session.name)
    same = last is not None and last.state.val == session.val_digest and last.state.target == session.target_identity

    def notes() -> None:
        for one in found:
            remember(session, one)

    return Judged(
        placed=merged,
        verdict=verdict,
        theirs=found[0],
        merged=found[1],
        best=history.known_score(last, best, session.settings) if same else None,
        trailers=_trailers(session, merged.blob, verdict, found[0], found[1]),
        notes=notes,
    )


async def _measured(session: Session, placed: Placed) -> Evaluation:
    repeats = session.settings.evaluation.repeats
    return await evaluate_document(session, placed, "", "val", repeats=repeats, tasks=session.val)


def _trailers(
    session: Session, blob: str, verdict: Verdict, theirs: Evaluation, merged: Evaluation
) -> list[tuple[str, str]]:
    """Over the tasks that both documents have a score for, as the verdict's own score is."""
    compared = scores.compared(merged.measurement, theirs.measurement)
    record = StepRecord(
        kind="merge",
        step=0,
        epoch=0,
        decision=verdict.decision,
        reason=verdict.reason,
        document=blob,
        document_before=theirs.blob,
        score=exact_text(verdict.score),
        score_hard=exact_text(scores.mean(compared, scores.HARD)),
        score_soft=exact_text(scores.mean(compared, scores.SOFT)),
        before=exact_text(verdict.before),
        cost=session.cost(),
        models=session.model_names,
    )
    found = verdict_trailers(record, gate=session.gate_text(missing=verdict.missing), val=session.val_digest)
    return [(key, value) for key, value in found if value]
