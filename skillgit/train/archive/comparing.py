"""Two documents beside each other: scores that compare, and the tasks that flipped between them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from skillgit.envs.contract import Split, Task
from skillgit.store.repository import Repository
from skillgit.train.archive import documents
from skillgit.train.archive.known import Knowledge, Known, decimal
from skillgit.train.archive.revisions import Revision
from skillgit.train.scoring.scores import Measurement, Metric, mean

if TYPE_CHECKING:
    from skillgit.train.session import Session

_MODE = 0o100644


@dataclass(frozen=True, slots=True)
class Paired:
    """What a second document does on the tasks that both have a score for.

    Args:
        tasks: how many those are. difference: the mean of the tasks' differences. error: its standard error (sample
            variance over tasks), None below two tasks. gained, lost: tasks that rose or fell, and by how much.
    """

    tasks: int
    difference: Fraction
    error: float | None
    gained: tuple[tuple[str, Fraction], ...]
    lost: tuple[tuple[str, Fraction], ...]

    def to_json(self) -> dict[str, Any]:
        """Stable keys; numbers as decimals."""
        return {
            "tasks": self.tasks,
            "difference": decimal(self.difference),
            "error": None if self.error is None else round(self.error, 6),
            "gained": [{"task": task, "by": decimal(by)} for task, by in self.gained],
            "lost": [{"task": task, "by": decimal(by)} for task, by in self.lost],
        }


def paired(before: Measurement, after: Measurement, metric: Metric) -> Paired | None:
    """Compare two measurements of the same tasks, task by task; None where no task has a score in both. Pure."""
    differences = {}
    for task in sorted(before.keys() & after.keys()):
        old, new = (mean({task: side[task]}, metric) for side in (before, after))
        if old is not None and new is not None:
            differences[task] = new - old
    n = len(differences)
    if n == 0:
        return None
    middle = sum(differences.values(), Fraction(0)) / n
    error = None
    if n > 1:
        variance = sum(((d - middle) ** 2 for d in differences.values()), Fraction(0)) / (n - 1)
        error = math.sqrt(variance / n)
    gained = tuple((task, by) for task, by in differences.items() if by > 0)
    lost = tuple((task, by) for task, by in differences.items() if by < 0)
    return Paired(n, middle, error, gained, lost)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two documents with what is known of them on one split.

    Args:
        known: their scores, None where one was not measured. comparable: whether the two scores compare.
        paired: task by task, where they compare and the scores of each task are known.
    """

    known: tuple[Known | None, Known | None]
    comparable: bool
    paired: Paired | None

    @property
    def missing(self) -> tuple[bool, bool]:
        """Which of the two has no score at all."""
        return self.known[0] is None, self.known[1] is None


def compare(
    repo: Repository, name: str, blobs: tuple[str, str], metric: Metric, split: Split, target: str | None = None
) -> Compared:
    """The scores of two documents: those that compare where there are such, else the newest of each.

    Args:
        target: a target's name; any where it is None.
    """
    knowledge = Knowledge(repo, name, blobs)
    found = knowledge.pair(*blobs, split, target)
    if found is None:
        newest = (knowledge.newest(blobs[0], split, target), knowledge.newest(blobs[1], split, target))
        return Compared(newest, False, None)
    sides = found[0].measurement, found[1].measurement
    by_task = None if sides[0] is None or sides[1] is None else paired(sides[0], sides[1], metric)
    return Compared(found, True, by_task)


async def measure(session: Session, revisions: Iterable[Revision], split: Split) -> list[str]:
    """Measure the documents that have no score on today's tasks with the session's target, and remember it in the
    notes.

    Returns: the blobs that were measured.

    Raises:
        ConfigError: the split has no tasks. DocumentError: no usable document. MeasurementError: too many attempts
            failed; what was measured before stays.
    """
    from skillgit.envs.digests import tasks_digest
    from skillgit.train.scoring.evaluate import evaluate_document, remember

    repo, repeats = session.repo, session.settings.evaluation.repeats
    tasks = tasks_of(session, split)
    asked = {revision.blob: revision for revision in revisions}
    digest = tasks_digest(session.environment, split, repeats=repeats, tasks=tasks)
    knowledge = Knowledge(repo, session.name, asked)
    done = []
    for blob, revision in asked.items():
        known = knowledge.of(blob) if split == "val" else knowledge.noted(blob)
        if any(_is_today(one, session, split, digest) for one in known):
            continue
        placed = documents.read_blob(repo, blob, _MODE, f"{session.settings.document} at {revision.named}")
        found = await evaluate_document(session, placed, revision.commit or "", split, repeats=repeats, tasks=tasks)
        remember(session, found)
        done.append(blob)
    return done


def tasks_of(session: Session, split: Split) -> tuple[Task, ...]:
    """The tasks that a split's scores are of: on val those that the gate takes, so that journals compare."""
    return session.val if split == "val" else tuple(session.environment.tasks(split))


def _is_today(one: Known, session: Session, split: Split, digest: str) -> bool:
    identity = {"name": one.target, "settings": one.settings}
    same = one.split == split and one.digest == digest and identity == session.target_identity
    return same and one.measurement is not None
