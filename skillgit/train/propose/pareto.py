"""Pareto parents: which accepted document of a run a step starts from, and which two are worth merging. Pure.

The rules are gepa's (`gepa_utils.py`, 0.1.4): the front of a val task are the documents that score best on it; a
document is dominated where every front that it stands in has another one that is not; what remains is drawn with the
number of its fronts as weight.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

Values = Mapping[str, Sequence[Fraction | None]]
"""Task id to its trials, as `scores.by_metric` gives them; None is an errored one."""

Pair = tuple[str, str]


def fronts(documents: Mapping[str, Values]) -> dict[str, frozenset[str]]:
    """For each val task, the documents that score best on it, dominated ones left out.

    Args:
        documents: by blob, what was measured of each. A task that a document has no score for cannot be led by it.
    """
    means = {blob: _means(values) for blob, values in documents.items()}
    found: dict[str, set[str]] = {}
    for task in sorted({task for values in means.values() for task in values}):
        best = max(values[task] for values in means.values() if task in values)
        found[task] = {blob for blob, values in means.items() if values.get(task) == best}
    kept = _undominated(found, means)
    return {task: frozenset(front & kept) for task, front in found.items()}


def parent(documents: Mapping[str, Values], seed: int, step: int) -> str | None:
    """The document that a step starts from, drawn by seed and step alone.

    Returns: its blob; None where no document has a score.
    """
    counts: dict[str, int] = {}
    for front in fronts(documents).values():
        for blob in front:
            counts[blob] = counts.get(blob, 0) + 1
    if not counts:
        return None
    blobs = sorted(counts)
    weights = [counts[blob] for blob in blobs]
    return random.Random(f"{seed}/pareto/{step}").choices(blobs, weights)[0]


def pair(documents: Mapping[str, Values], tried: Collection[Pair] = ()) -> Pair | None:
    """Two documents of the front that beat each other on different tasks: what a merge of them could win.

    The pair whose better score on each task, summed over all tasks that both have, gains most over the better of the
    two; on a tie the first by blob.

    Args:
        tried: pairs that were merged before, each in the order returned here.

    Returns: both blobs, sorted; None where there is no such pair.
    """
    means = {blob: _means(values) for blob, values in documents.items()}
    members = sorted({blob for front in fronts(documents).values() for blob in front})
    best: tuple[Fraction, Pair] | None = None
    for one, other in combinations(members, 2):
        gain = _gain(means[one], means[other])
        if (one, other) not in tried and gain > 0 and (best is None or gain > best[0]):
            best = gain, (one, other)
    return best[1] if best is not None else None


def _gain(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> Fraction:
    """What the best of both on each task is above the better of the two, summed; 0 where one is nowhere ahead."""
    shared = one.keys() & other.keys()
    together = sum((max(one[task], other[task]) for task in shared), Fraction(0))
    alone = max(sum((values[task] for task in shared), Fraction(0)) for values in (one, other))
    return together - alone


def _means(values: Values) -> dict[str, Fraction]:
    """Mean over the trials of each task that has a score."""
    scored = {task: [trial for trial in trials if trial is not None] for task, trials in values.items()}
    return {task: Fraction(sum(trials), len(trials)) for task, trials in scored.items() if trials}


def _undominated(front_of: Mapping[str, set[str]], means: Mapping[str, Mapping[str, Fraction]]) -> set[str]:
    """Leave dominated documents out, the lowest mean first, until none is left to leave out."""

    def mean(blob: str) -> tuple[Fraction, str]:
        values = means[blob].values()
        return Fraction(sum(values), len(values)), blob

    kept = {blob for front in front_of.values() for blob in front}
    for blob in sorted(kept, key=mean):  # one pass is enough: fewer documents never make another one dominated
        others = kept - {blob}
        if all(front & others for front in front_of.values() if blob in front):
            kept = others
    return kept
