"""Score a revision on a split, and remember it in the notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from skillgit.envs.contract import Split, Task
from skillgit.envs.digests import tasks_digest
from skillgit.errors import ConfigError, MeasurementError, RepositoryError
from skillgit.store.notes import add_note, read_notes
from skillgit.train.archive import documents, revisions
from skillgit.train.archive.documents import Placed
from skillgit.train.events import StageStarted
from skillgit.train.scoring import scores
from skillgit.train.scoring.measure import measure_all
from skillgit.train.scoring.scores import Measurement
from skillgit.train.session import Session

_MEASURED = ("kind", "split", "digest", "target", "settings")
"""What a line of the notes is about; the rest is what was found, and when."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A document's scores on one split. `errors` counts attempts without a score. `settings` are the target's."""

    commit: str
    blob: str
    split: Split
    tasks: int
    errors: int
    hard: Fraction
    soft: Fraction
    digest: str
    target: str
    settings: Mapping[str, Any]
    measurement: Measurement

    def fact(self, run_at: datetime) -> dict[str, Any]:
        """One line of the notes on the document's blob."""
        return {
            "kind": "score",
            "split": self.split,
            "hard": f"{self.hard.numerator}/{self.hard.denominator}",
            "soft": f"{self.soft.numerator}/{self.soft.denominator}",
            "tasks": self.tasks,
            "errors": self.errors,
            "digest": self.digest,
            "target": self.target,
            "settings": dict(self.settings),
            "scores": scores.encode(self.measurement),
            "at": run_at.isoformat(timespec="seconds"),
        }


def resolve(session: Session, rev: str | None) -> str:
    """The revision to score: as given, else best, else the training branch, else the base.

    Raises:
        RepositoryError: there is no such commit. DocumentError: it has no document.
    """
    if rev:
        return revisions.commit_of(session.repo, session.name, session.settings, rev)
    candidates = [session.refs.best, session.refs.branch, session.settings.merge.into or "HEAD"]
    for candidate in candidates:
        commit = session.repo.resolve(candidate)
        if commit is not None:
            return commit
    raise RepositoryError(f"{candidates[-1]}: no such revision", mend="name a commit, a branch or a tag")


async def evaluate(session: Session, commit: str, split: Split, *, repeats: int = 1) -> Evaluation:
    """Measure the document of a commit.

    Raises:
        ConfigError: the split has no tasks. MeasurementError: too many attempts failed.
    """
    placed = documents.read(session.repo, commit, session.settings.document)
    return await evaluate_document(session, placed, commit, split, repeats=repeats)


async def evaluate_document(
    session: Session,
    placed: Placed,
    commit: str,
    split: Split,
    *,
    repeats: int = 1,
    tasks: Sequence[Task] | None = None,
) -> Evaluation:
    """Measure a document that need not be in a commit.

    Args:
        tasks: those of the split to measure on; all of them where it is None.
    """
    tasks = session.environment.tasks(split) if tasks is None else tasks
    if not tasks:
        raise ConfigError(f"{session.settings.env}: the {split} split has no tasks", mend=f"add tasks to {split}")
    session.tell(StageStarted(0, 0, split, len(tasks) * repeats))
    measurement, rollouts = await measure_all(
        session.roller(split), placed.text, placed.blob, tasks, repeats, session.tell
    )
    errors = [rollout.error for rollout in rollouts if rollout.error is not None]
    hard, soft = scores.mean(measurement, scores.HARD), scores.mean(measurement, scores.SOFT)
    floor = session.settings.evaluation.min_coverage
    if hard is None or soft is None or scores.coverage(measurement) < Fraction(floor).limit_denominator(10**6):
        raise MeasurementError(
            f"{len(errors)} of {len(rollouts)} attempts failed; the last: {errors[-1]}",
            mend="mend it and run the same command again",
        )
    return Evaluation(
        commit=commit,
        blob=placed.blob,
        split=split,
        tasks=len(tasks),
        errors=len(errors),
        hard=hard,
        soft=soft,
        digest=tasks_digest(session.environment, split, repeats=repeats, tasks=tasks),
        target=session.target.name,
        settings=session.target_identity["settings"],
        measurement=measurement,
    )


def remember(session: Session, evaluation: Evaluation) -> None:
    """Add the score to the notes on the document's blob (DESIGN, section 2: facts learned later).

    What the newest line of the same tasks and target says already is not repeated: only its time would be another.
    """
    fact = evaluation.fact(datetime.now(UTC))
    same = [old for old in read_notes(session.repo, evaluation.blob) if all(old.get(k) == fact[k] for k in _MEASURED)]
    if not same or {**same[-1], "at": fact["at"]} != fact:
        add_note(session.repo, evaluation.blob, fact)
