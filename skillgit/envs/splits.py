"""Which split a task belongs to, decided by its id alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction

from skillgit.envs.contract import SPLITS, Split

DEFAULT_RATIO: tuple[int | float, ...] = (6, 2, 2)
DEFAULT_SEED = 42

_POINTS = 2**64


def check_ratio(ratio: Sequence[int | float]) -> None:
    """Whether a ratio of train, val and test can be used.

    Raises:
        ValueError: with the rule in words.
    """
    finite = all(math.isfinite(part) and part >= 0 for part in ratio)
    if len(ratio) != len(SPLITS) or not finite or not (ratio[0] > 0 and ratio[1] > 0):
        raise ValueError("three numbers for train, val and test, of which only the last may be 0")


def split_of(task_id: str, ratio: Sequence[int | float] = DEFAULT_RATIO, seed: int = DEFAULT_SEED) -> Split:
    """The split of one task.

    The first 8 bytes of sha256 over `<seed>` LF `<id>` (UTF-8), read as a big-endian number and divided by 2**64,
    are the task's place in 0..1; the ratio cuts 0..1 into three parts, in the order train, val, test. So a task
    stays where it is when others come or go, on every machine; and it stays in train when train's share grows.
    Shares are met on average, not exactly.

    Args:
        ratio: what `check_ratio` accepts; shares of the whole, whatever they add up to.
    """
    point = int.from_bytes(hashlib.sha256(f"{seed}\n{task_id}".encode()).digest()[:8], "big")
    shares = [Fraction(str(part)) for part in ratio]
    place = Fraction(point, _POINTS) * sum(shares)
    end = Fraction(0)
    for split, share in zip(SPLITS, shares, strict=True):
        end += share
        if place < end:
            return split
    raise AssertionError("a place lies below the sum of the shares")
