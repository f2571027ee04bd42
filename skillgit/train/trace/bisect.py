"""Which edit broke or fixed a task: what the journals know first, the rest by halving."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from skillgit.store.repository import Repository
from skillgit.train.archive import documents, story
from skillgit.train.archive.known import Knowledge
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Measurement, Metric

Source = Literal["journal", "measured"]
Measure = Callable[[str], Awaitable[Fraction]]
"""The task's score under the document of a commit."""


@dataclass(slots=True)
class Point:
    """A document of the branch: where it came, and how the task did with it, once that is known."""

    commit: str
    blob: str
    value: Fraction | None = None
    source: Source = "journal"


@dataclass(frozen=True, slots=True)
class Flip:
    """A commit with which the task's score changed."""

    before: Point
    after: Point

    @property
    def fixed(self) -> bool:
        """Whether it rose."""
        return (self.after.value or Fraction(0)) > (self.before.value or Fraction(0))


def points(repo: Repository, path: str, tip: str, base: str | None) -> list[Point]:
    """The documents along the branch's first parents, oldest first, one for each change.

    Args:
        base: the commit to begin with; where the document begins, if None.
    """
    found: list[Point] = []
    for info in repo.objects.first_parents(tip, None):
        blob = documents.blob_at(repo, info.oid, path)
        if blob is None:
            break
        if found and found[-1].blob == blob:
            found[-1].commit = info.oid  # the commit that brought it is the oldest one that has it
        else:
            found.append(Point(info.oid, blob))
        if info.oid == base:
            break
    return found[::-1]


def fill(repo: Repository, name: str, line: Sequence[Point], task: str, metric: Metric, today: tuple[str, str]) -> None:
    """Put in what journals know of the task.

    Args:
        today: the digest of the val tasks and the target's name: values of others do not compare.
    """
    by_blob: dict[str, Fraction] = {}
    knowledge = Knowledge(repo, name, [point.blob for point in line])
    for point in line:
        for known in knowledge.of(point.blob):
            if known.split == "val" and (known.digest, known.target) == today and known.measurement:
                value = value_of(known.measurement, task, metric)
                if value is not None:
                    by_blob.setdefault(point.blob, value)
    for blob, value in _rolled_out(repo, name, task, metric, today).items():
        by_blob.setdefault(blob, value)
    for point in line:
        point.value = by_blob.get(point.blob)


def value_of(measurement: Measurement, task: str, metric: Metric) -> Fraction | None:
    """A task's score: the mean of its trials; None where it has none."""
    return scores.mean({task: measurement[task]}, metric) if task in measurement else None


def _rolled_out(repo: Repository, name: str, task: str, metric: Metric, today: tuple[str, str]) -> dict[str, Fraction]:
    """Scores of a train task in the mini-batches of steps, by the document that they were attempted with."""
    found: dict[str, Fraction] = {}
    for entry in story.steps(repo, name):
        record = entry.record
        if task in record.batch and record.models.get("target") == today[1]:
            value = value_of(scores.decode({task: record.batch[task]}), task, metric)
            if value is not None:
                found.setdefault(record.came_from, value)
    return found


def wanted(line: Sequence[Point]) -> int | None:
    """The next document to measure: the ends, then the middle of a stretch whose ends differ; None: all is known."""
    if not line:
        return None
    for index in (0, len(line) - 1):
        if line[index].value is None:
            return index
    known = [index for index, point in enumerate(line) if point.value is not None]
    for low, high in pairwise(known):
        if high - low > 1 and line[low].value != line[high].value:
            return (low + high) // 2
    return None


def flips(line: Sequence[Point]) -> list[Flip]:
    """Where the score changed, oldest first. Between two known documents with one score nothing is looked for."""
    known = [point for point in line if point.value is not None]
    return [Flip(a, b) for a, b in pairwise(known) if a.value != b.value]


async def bisect(line: Sequence[Point], measure: Measure) -> list[Flip]:
    """Measure what is wanted, and say where the score changed."""
    while (index := wanted(line)) is not None:
        line[index].value, line[index].source = await measure(line[index].commit), "measured"
    return flips(line)
