"""What a half-measured candidate can still reach: exact bounds that let a measurement end early, only to reject.

A candidate's open tasks may still get any score in 0..1, or none (an errored rollout) as long as coverage allows.
Where no such completion would be accepted, more measuring cannot change the verdict. Each completion of a longer
prefix is one of the shorter prefix too, so what is out of reach stays out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate


def margin_in_reach(done: Sequence[Fraction], gains: Sequence[Fraction], spare: int, epsilon: Fraction) -> bool:
    """Whether the mean difference can still be above `epsilon` (0 for `strict`).

    Args:
        done: differences of the tasks that both documents have a score for.
        gains: what each open task can still add: 1 less the incumbent's score.
        spare: how many open tasks may stay without a score before coverage is below its floor.
    """
    # sum / n > epsilon is sum(d - epsilon) > 0: only open tasks that cannot gain epsilon are better missing.
    scale, known, rising = _whole_numbers(done, gains, epsilon.denominator)
    least = epsilon.numerator * (scale // epsilon.denominator)
    missing = sum(1 for gain in rising[: max(0, spare)] if gain < least)
    return sum(known) + sum(rising[missing:]) > least * (len(known) + len(rising) - missing)


def errors_in_reach(done: Sequence[Fraction], gains: Sequence[Fraction], spare: int, z: Fraction) -> bool:
    """Whether the mean difference can still be above `z` standard errors over at least 2 tasks (`paired`).

    With the sum S of n differences and Q of their squares, mean > z * standard error is S > 0 and
    S^2 (n - 1 + z^2) > z^2 n Q. For the largest S^2 / Q each open task adds min(its gain, c) with one common c: below
    c = Q / S adding lifts the ratio, above it lowers it.
    """
    _, known, rising = _whole_numbers(done, gains)  # scaling leaves S^2 / Q as it is
    total, squares = sum(known), sum(d * d for d in known)
    totals = [total, *(total + s for s in accumulate(rising))]
    quadratic = [squares, *(squares + s for s in accumulate(g * g for g in rising))]
    p, q = z.numerator, z.denominator
    if totals[-1] <= 0:
        return False
    # Missing tasks are best those that could gain least.
    for dropped in range(min(spare, len(rising)) + 1):
        n = len(done) + len(rising) - dropped
        if n < 2:
            break
        sums = [s - (totals[dropped] - total) for s in totals[dropped:]]
        over, under = _best_ratio(
            sums, [s - (quadratic[dropped] - squares) for s in quadratic[dropped:]], rising[dropped:]
        )
        if over * ((n - 1) * q * q + p * p) > p * p * n * under:
            return True
    return False


def _whole_numbers(
    done: Sequence[Fraction], gains: Sequence[Fraction], factor: int = 1
) -> tuple[int, list[int], list[int]]:
    """A common multiple of all denominators and `factor`, and both lists times it; the gains rise."""
    scale = math.lcm(factor, *{x.denominator for x in (*done, *gains)})
    known = [d.numerator * (scale // d.denominator) for d in done]
    return scale, known, sorted(g.numerator * (scale // g.denominator) for g in gains)


def _best_ratio(sums: list[int], squares: list[int], rising: list[int]) -> tuple[int, int]:
    """The largest S^2 / Q with S > 0, as numerator and denominator; (0, 1) where S cannot be above 0.

    Args:
        sums, squares: S and Q when the first 0, 1, 2 ... of the rising gains are taken wholly and the rest not at all.
    """
    most = len(rising)
    for taken, (s, q) in enumerate(zip(sums, squares, strict=True)):
        if s > 0 and (taken == most or q <= rising[taken] * s):
            # The other open tasks add c = q / s each: S = s + (most - taken) c, Q = q + (most - taken) c^2.
            return s * s + (most - taken) * q, q
        if s == q == 0 and taken < most and rising[taken] > 0:
            return most - taken, 1  # nothing differs yet: any c above 0 gives all open tasks the same difference
    return 0, 1
