"""A task's split depends on its id and the seed alone."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skillgit.envs.contract import SPLITS
from skillgit.envs.splits import check_ratio, split_of

EXPECTED = ["val", "test", "val", "train", "train", "test", "test", "train", "train", "train", "train", "train"]
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
PART = st.integers(0, 100) | st.floats(0, 100, allow_nan=False)
RATIO = st.tuples(PART, PART, PART).filter(lambda ratio: ratio[0] > 0 and ratio[1] > 0)


def test_the_written_algorithm_gives_these_splits() -> None:
    # Changing them moves everybody's tasks from one split to another.
    found = [split_of(f"t-{n}", (6, 2, 2), 42) for n in range(12)]
    assert found == [split_of(f"t-{n}") for n in range(12)]
    assert found == EXPECTED


@given(IDS, RATIO, st.integers())
def test_one_of_the_splits(task_id, ratio, seed) -> None:
    assert split_of(task_id, ratio, seed) in SPLITS


@given(IDS, RATIO, st.integers(), st.sampled_from([2, 4, 8]))
def test_only_shares_count(task_id, ratio, seed, factor) -> None:
    assume(all(part == 0 or part > 1e-300 for part in ratio))
    whole = tuple(round(part) for part in ratio)
    assume(whole[0] > 0 and whole[1] > 0)
    assert split_of(task_id, whole, seed) == split_of(task_id, tuple(part * factor for part in whole), seed)


@given(IDS, st.integers(1, 50), st.integers(1, 50), st.integers())
def test_a_train_task_stays_in_train_when_its_share_grows(task_id, train, more, seed) -> None:
    if split_of(task_id, (train, 20, 20), seed) == "train":
        assert split_of(task_id, (train + more, 20, 20), seed) == "train"


@given(IDS, st.integers())
def test_a_share_of_nothing_gets_nothing(task_id, seed) -> None:
    assert split_of(task_id, (1, 1, 0), seed) != "test"


def test_shares_are_met_on_average_and_seeds_differ() -> None:
    ids = [f"task {n}" for n in range(4000)]
    found = [split_of(task_id, (6, 2, 2), 7) for task_id in ids]
    assert abs(found.count("train") / 4000 - 0.6) < 0.03
    assert abs(found.count("val") / 4000 - 0.2) < 0.03
    assert found != [split_of(task_id, (6, 2, 2), 8) for task_id in ids]


@pytest.mark.parametrize(
    "ratio", [(6, 2), (6, 2, 2, 1), (0, 1, 1), (1, 0, 1), (1, 1, -1), (1, 1, float("nan")), (float("inf"), 1, 1), ()]
)
def test_unusable_ratios(ratio) -> None:
    with pytest.raises(ValueError, match="three numbers"):
        check_ratio(ratio)


@pytest.mark.parametrize("ratio", [(6, 2, 2), (0.6, 0.2, 0.2), (1, 1, 0)])
def test_usable_ratios(ratio) -> None:
    check_ratio(ratio)
