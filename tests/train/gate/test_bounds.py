"""The bounds of racing: never too early (a search over completions), never later than they need to be."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from skillgit.train.gate.bounds import errors_in_reach, margin_in_reach

VALUES = [Fraction(n, 4) for n in range(-4, 5)]


def drawn(chance: random.Random) -> tuple[list[Fraction], list[Fraction], int]:
    """Known differences, open gains, how many may stay open."""
    done = [chance.choice(VALUES) for _ in range(chance.randrange(5))]
    gains = [chance.choice(VALUES[4:]) for _ in range(chance.randrange(5))]
    return done, gains, chance.randrange(len(gains) + 2)


def subsets(gains: Sequence[Fraction], spare: int) -> list[tuple[Fraction, ...]]:
    """The open tasks that get a score after all."""
    least = max(0, len(gains) - spare)
    return [kept for size in range(least, len(gains) + 1) for kept in itertools.combinations(gains, size)]


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 5), Fraction(1, 2)])
def test_margin_is_exact(epsilon: Fraction) -> None:
    """The best completion has every open task either gained wholly or missing."""
    chance = random.Random(f"margin/{epsilon}")
    seen = set()
    for _ in range(400):
        done, gains, spare = drawn(chance)
        best = [[*done, *kept] for kept in subsets(gains, spare)]
        wanted = any(d and Fraction(sum(d), len(d)) > epsilon for d in best)
        assert margin_in_reach(done, gains, spare, epsilon) is wanted
        seen.add(wanted)
    assert seen == {True, False}


def ratio(differences: Sequence[float], z: float) -> float:
    """How far above `z` standard errors the mean is: the statistic by its definition, above 1 where it is more."""
    n = len(differences)
    if n < 2 or sum(differences) <= 0:
        return 0.0
    mean = sum(differences) / n
    error = math.sqrt(sum((d - mean) ** 2 for d in differences) / (n - 1) / n)
    return mean / (z * error) if error > 1e-12 else math.inf


@pytest.mark.parametrize("z", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_errors_against_a_search(z: Fraction) -> None:
    """Random completions find nothing better, and a fine search along equal gains finds what is said to be there."""
    chance = random.Random(f"paired/{z}")
    seen = set()
    for _ in range(300):
        done, gains, spare = drawn(chance)
        reachable = errors_in_reach(done, gains, spare, z)
        seen.add(reachable)
        best = 0.0
        for kept in subsets(gains, spare):
            levels = [chance.random() for _ in range(20)] if not reachable else [n / 300 for n in range(301)]
            equal = [[min(float(g), level) for g in kept] for level in levels]
            loose = [[chance.uniform(-1, float(g)) for g in kept] for _ in range(20)]
            best = max(best, *(ratio([*map(float, done), *way], float(z)) for way in [*equal, *loose]))
        if reachable:
            assert best > 0.999, (done, gains, spare)
        else:
            assert best <= 1 + 1e-9, (done, gains, spare)
    assert seen == {True, False}


def test_no_standard_errors_asked_for_is_any_lead() -> None:
    assert errors_in_reach([Fraction(-1), Fraction(1)], [Fraction(1, 4)], 0, Fraction(0))
    assert not errors_in_reach([Fraction(-1), Fraction(1)], [Fraction(0)], 0, Fraction(0))


def test_equal_gains_have_no_variance() -> None:
    """Nothing differs yet: every open task may gain the same little. With a known tie it may not."""
    assert errors_in_reach([], [Fraction(1), Fraction(1, 100)], 0, Fraction(100))
    assert not errors_in_reach([Fraction(0)], [Fraction(1), Fraction(1, 100)], 0, Fraction(100))


def test_one_task_is_no_pair_of_tasks() -> None:
    assert not errors_in_reach([], [Fraction(1)], 0, Fraction(1))
    assert not errors_in_reach([Fraction(1)], [], 0, Fraction(1))
