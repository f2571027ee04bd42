"""Learning rates worked out by hand, and batches that depend on seed and epoch alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.train.schedule import epoch_batches, learning_rate, seeded_shuffle, steps_per_epoch

IDS = [f"t{n:02d}" for n in range(20)]


@pytest.mark.parametrize(
    ("kind", "highest", "lowest", "rates"),
    [
        ("constant", 4, 2, [4, 4, 4, 4]),
        # 8 - 6 * step/4: 6.5, 5, 3.5, 2; halves to the even number.
        ("linear", 8, 2, [6, 5, 4, 2]),
        # 8 - 6 * (1 - cos(pi * step/4)) / 2: 7.12, 5, 2.88, 2
        ("cosine", 8, 2, [7, 5, 3, 2]),
        # 4 - 2 * step/6: 3.67, 3.33, 3, 2.67, 2.33, 2
        ("linear", 4, 2, [4, 3, 3, 3, 2, 2]),
        # 4 - 2 * (1 - cos(pi * step/6)) / 2: 3.87, 3.5, 3, 2.5, 2.13, 2; 3.5 to 4, 2.5 to 2
        ("cosine", 4, 2, [4, 4, 3, 2, 2, 2]),
        ("cosine", 1, 1, [1, 1, 1]),
        ("linear", 2, 5, [2, 2, 2]),  # a lowest above the highest counts as the highest
        ("cosine", 4, 2, [4]),  # one step: nothing to fall to
    ],
)
def test_by_hand(kind: Any, highest: int, lowest: int, rates: list[int]) -> None:
    total = len(rates)
    assert [learning_rate(kind, highest, lowest, step, total) for step in range(1, total + 1)] == rates


@given(st.sampled_from(["constant", "linear", "cosine"]), st.integers(1, 20), st.integers(1, 20), st.integers(1, 50))
def test_it_never_rises_and_stays_within(kind: Any, highest: int, lowest: int, total: int) -> None:
    rates = [learning_rate(kind, highest, lowest, step, total) for step in range(1, total + 1)]
    assert rates == sorted(rates, reverse=True)
    assert min(lowest, highest) <= rates[-1]
    assert rates[0] <= highest
    if kind != "constant" and total > 1:
        assert rates[-1] == min(lowest, highest)


@pytest.mark.parametrize(("tasks", "size", "steps"), [(1, 40, 1), (40, 40, 1), (41, 40, 2), (16, 8, 2)])
def test_steps_per_epoch(tasks: int, size: int, steps: int) -> None:
    assert steps_per_epoch(tasks, size) == steps
    assert len(epoch_batches([f"t{n}" for n in range(tasks)], size, 1, 1)) == steps


@given(st.sets(st.text(min_size=1, max_size=5), min_size=1, max_size=30), st.integers(1, 12), st.integers(), st.data())
def test_each_task_once_per_epoch_whatever_the_file_order(
    ids: set[str], size: int, seed: int, data: st.DataObject
) -> None:
    batches = epoch_batches(sorted(ids), size, seed, 1)
    assert Counter(task for batch in batches for task in batch) == Counter(ids)
    assert all(len(batch) == size for batch in batches[:-1])
    assert epoch_batches(data.draw(st.permutations(sorted(ids))), size, seed, 1) == batches


def test_epochs_and_seeds_differ() -> None:
    found = {(seed, epoch): str(epoch_batches(IDS, 5, seed, epoch)) for seed in (1, 2, 11) for epoch in (1, 2, 11)}
    assert len(set(found.values())) == 9


def test_the_order_is_fixed_for_ever() -> None:
    """Another Python or another skillgit must not change the batches of a run that is resumed."""
    assert epoch_batches(IDS[:6], 4, 42, 1) == [["t00", "t01", "t05", "t04"], ["t03", "t02"]]


def test_shuffling_leaves_what_it_was_given() -> None:
    items = [3, 1, 2]
    assert sorted(seeded_shuffle(items, "s")) == [1, 2, 3]
    assert items == [3, 1, 2]
