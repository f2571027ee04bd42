"""The learning rate over the steps, and which tasks each step sees."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal, TypeVar

T = TypeVar("T")


def learning_rate(
    kind: Literal["constant", "linear", "cosine"], highest: int, lowest: int, step: int, total: int
) -> int:
    """The edit budget of a step.

    Args:
        highest: `learning_rate`. lowest: `min_learning_rate` (a higher one counts as `highest`).
        step: from 1. total: steps of the whole run.

    Returns: at least 1. `linear` and `cosine` fall from `highest` towards `lowest`, reached at the last step;
        rounding is half to even, as SkillOpt's scheduler does (`optimizer/scheduler.py`).
    """
    lowest = min(lowest, highest)
    if kind == "constant" or total <= 1:
        return highest
    share = min(step, total) / total
    if kind == "cosine":
        share = (1 - math.cos(math.pi * share)) / 2
    return max(lowest, round(highest + (lowest - highest) * share))


def steps_per_epoch(tasks: int, batch_size: int) -> int:
    """Mini-batches in one pass over train."""
    return math.ceil(tasks / batch_size)


def epoch_batches(ids: Sequence[str], batch_size: int, seed: int, epoch: int) -> list[list[str]]:
    """The mini-batches of an epoch (from 1): a seeded shuffle of the sorted ids, cut into batches.

    It depends on nothing but its arguments, so a resumed run sees the same batches.
    """
    shuffled = seeded_shuffle(sorted(ids), f"{seed}/epoch/{epoch}")
    return [shuffled[i : i + batch_size] for i in range(0, len(shuffled), batch_size)]


def seeded_shuffle(items: Sequence[T], seed: str) -> list[T]:
    """A copy in an order that depends on the seed and the order of `items` alone."""
    shuffled = list(items)
    random.Random(seed).shuffle(shuffled)
    return shuffled


def chosen(items: Sequence[T], most: int, seed: str) -> tuple[T, ...]:
    """A seeded choice of at most `most` items, in their order; all of them where `most` is 0."""
    if most == 0 or most >= len(items):
        return tuple(items)
    places = sorted(seeded_shuffle(range(len(items)), seed)[:most])
    return tuple(items[place] for place in places)
