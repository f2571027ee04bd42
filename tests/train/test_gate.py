"""The gate's decisions, against cases, values worked out by hand, and an oracle that tries every completion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.errors import ConfigError, MeasurementError
from skillgit.train.gate import GateSettings, Verdict, canonical_order, decide, race

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "gate.yaml").read_text(encoding="utf-8"))
THIRD, HALF = Fraction(1, 3), Fraction(1, 2)
VALUES = (None, Fraction(0), THIRD, HALF, Fraction(1))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises((ConfigError, MeasurementError)) as caught:
            decide(case["current"], case["candidate"], case["settings"])
        wrong_settings = case["id"] == "negative-epsilon"
        assert isinstance(caught.value, ConfigError if wrong_settings else MeasurementError)
        return
    verdict = decide(case["current"], case["candidate"], case["settings"])
    assert verdict.decision == case["decision"], verdict.reason
    assert case.get("mentions", "") in verdict.reason


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "greedy"},
        {"mode": "strict", "floor": 0.5},
        {"mode": "strict", "min_coverage": 1.5},
        {"mode": "strict", "min_coverage": -0.1},
        {"mode": "strict", "min_coverage": math.nan},
        {"mode": "strict", "min_coverage": True},
        {"mode": "strict", "min_coverage": "0.5"},
        {"mode": "paired", "z": -1},
        {"mode": "paired", "z": math.inf},
        {"mode": "margin", "epsilon": 1.5},
        {"mode": "margin", "epsilon": None},
    ],
    ids=str,
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        decide({"a": 0}, {"a": 1}, wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("score", [math.inf, -math.inf, math.nan, -0.01, 1.01, 2, "high", {}, [0, 85], [math.nan]])
@pytest.mark.parametrize("side", ["current", "candidate"])
def test_what_is_no_score(score: Any, side: str) -> None:
    """Wherever it stands: also past the prefix that decides."""
    good, bad = {"a": 0, "b": 1, "c": 1}, {"a": 0, "b": 0, "c": score}
    current, candidate = (bad, good) if side == "current" else (good, bad)
    with pytest.raises(MeasurementError):
        decide(current, candidate, {"mode": "strict"})


def test_no_tasks_is_no_measurement() -> None:
    with pytest.raises(MeasurementError):
        decide({}, {}, {})


def test_an_error_of_the_incumbent_is_missing_too() -> None:
    verdict = decide({"a": None, "b": 0, "c": 0, "d": 0, "e": 1}, dict.fromkeys("abcde", 1), {"min_coverage": 0.8})
    assert (verdict.decision, verdict.missing, verdict.before, verdict.score) == ("accept", 1, Fraction(1, 4), 1)


def test_coverage_exactly_at_the_floor_is_enough() -> None:
    current, candidate = dict.fromkeys("abcde", 0), {"a": 1, "b": None, "c": 1, "d": 1, "e": 1}
    assert decide(current, candidate, {"min_coverage": 0.8}).decision == "accept"
    assert decide(current, candidate, {"min_coverage": 0.81}).decision == "indecisive"


def test_a_trial_that_failed_leaves_the_others_of_its_task() -> None:
    verdict = decide({"a": [0, None, 1], "b": [0, 0, 0]}, {"a": [1, 1, None], "b": [None, 0, 0]}, {})
    assert (verdict.before, verdict.score, verdict.missing) == (Fraction(1, 4), HALF, 0)


def test_three_tenths_are_not_more_than_a_tenth_and_two() -> None:
    """In floats 0.1 + 0.2 > 0.3."""
    assert decide({"a": 0.3, "b": 0.0}, {"a": 0.1, "b": 0.2}, {}).decision == "reject"


@pytest.mark.parametrize(
    ("flipped", "decision"),
    # 8 tasks, k of them flip from 0 to 1: mean k/8, variance k(8-k)/56. With z = 2: k^2/64 > 4 k (8-k) / (56 * 8),
    # that is 7 k > 4 (8 - k), so from 3 flips on.
    [(0, "reject"), (1, "reject"), (2, "reject"), (3, "accept"), (8, "accept")],
)
def test_paired_by_hand(flipped: int, decision: str) -> None:
    tasks = [f"t{n}" for n in range(8)]
    candidate = {task: int(n < flipped) for n, task in enumerate(tasks)}
    assert decide(dict.fromkeys(tasks, 0), candidate, {"mode": "paired", "z": 2}).decision == decision


def test_paired_exactly_at_z_standard_errors_is_not_more() -> None:
    """Differences 1, 0: mean 1/2, sample variance 1/2, standard error 1/2."""
    assert decide({"a": 0, "b": 0}, {"a": 1, "b": 0}, {"mode": "paired", "z": 1}).decision == "reject"
    assert decide({"a": 0, "b": 0}, {"a": 1, "b": 0}, {"mode": "paired", "z": 0.999999}).decision == "accept"


def test_paired_much_worse_is_no_accept() -> None:
    """The squares alone would not tell."""
    assert decide({"a": 1, "b": 1, "c": 1}, {"a": 0, "b": 0, "c": 0}, {"mode": "paired"}).decision == "reject"


def test_margin_has_to_be_exceeded() -> None:
    current, candidate = {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0}, {"a": 1, "b": 0, "c": 0, "d": 0, "e": 0}
    assert decide(current, candidate, {"mode": "margin", "epsilon": 0.2}).decision == "reject"
    assert decide(current, candidate, {"mode": "margin", "epsilon": 0.19}).decision == "accept"


def test_no_pair_at_all_is_indecisive_at_any_floor() -> None:
    assert decide({"a": None, "b": 0}, {"a": 1, "b": None}, {"min_coverage": 0.0}).decision == "indecisive"


def test_numbers_of_a_whole_measurement() -> None:
    verdict = decide({"a": HALF, "b": 0, "c": 1}, {"a": 1, "b": THIRD, "c": 0.75}, {})
    assert verdict.score == Fraction(25, 36)  # (1 + 1/3 + 3/4) / 3
    assert verdict.before == HALF  # (1/2 + 0 + 1) / 3
    assert (verdict.maximum, verdict.prefix, verdict.tasks) == (None, 3, 3)
    assert (verdict.gained, verdict.lost) == (("a", "b"), ("c",))


def test_numbers_of_an_early_rejection() -> None:
    """b and d can still be won, a and c only held. b is lost first, then d leaves nothing to win."""
    current = {"a": 1, "b": HALF, "c": 1, "d": Fraction(3, 4)}
    verdict = decide(current, {"a": 0, "b": 0, "c": 0, "d": Fraction(3, 4)}, {})
    # After b: lead -1/2, at most +1/4 from d. It is decided at the first task.
    assert (verdict.decision, verdict.prefix, verdict.score) == ("reject", 1, None)
    assert verdict.maximum == Fraction(3, 4)  # b 0, and 1 each on a, c, d
    assert verdict.before == Fraction(13, 16)  # over all four
    assert (verdict.gained, verdict.lost) == ((), ("b",))


def test_canonical_order_is_failures_first_then_ids() -> None:
    assert canonical_order({"d": 1, "c": [1, 0], "b": None, "a": 1, "e": 0}) == ["b", "c", "e", "a", "d"]


def test_a_gap_ends_what_is_looked_at() -> None:
    current = dict.fromkeys("abcd", 1) | {"a": 0}
    measured = {"a": 0, "c": 0, "d": 0}
    verdict = race(current, measured, {})
    assert verdict is not None
    assert verdict.prefix == 1  # nothing can be won after a
    assert race(dict.fromkeys("abcd", 0), {"b": 0, "c": 0, "d": 0}, {}) is None


# The oracle: what a whole measurement says when nothing ends it early, and every completion of a prefix tried.


def naive(current: Sequence[Any], candidate: Sequence[Any], chosen: GateSettings) -> str:
    pairs = [(old, new) for old, new in zip(current, candidate, strict=True) if old is not None and new is not None]
    if not pairs or Fraction(len(pairs), len(current)) < Fraction(str(chosen.min_coverage)):
        return "indecisive"
    if chosen.no_regression and any(new < old for old, new in pairs):
        return "reject"
    return "accept" if sum(new for _, new in pairs) > sum(old for old, _ in pairs) else "reject"


def completions(prefix: Sequence[Any], length: int) -> list[tuple[Any, ...]]:
    return [(*prefix, *rest) for rest in itertools.product((None, Fraction(0), Fraction(1)), repeat=length)]


def mean_of_pairs(current: Sequence[Any], candidate: Sequence[Any]) -> Fraction:
    scores = [new for old, new in zip(current, candidate, strict=True) if old is not None and new is not None]
    return Fraction(sum(scores), len(scores)) if scores else Fraction(0)


def oracle(current: Sequence[Any], candidate: Sequence[Any], chosen: GateSettings) -> tuple[str, int, Fraction | None]:
    """Decision, prefix, maximum: the first prefix after which no completion would be accepted, or all tasks."""
    n = len(current)
    for k in range(1, n):
        ways = completions(candidate[:k], n - k)
        verdicts = [naive(current, way, chosen) for way in ways]
        if "accept" not in verdicts:
            decision = "indecisive" if set(verdicts) == {"indecisive"} else "reject"
            return decision, k, max(mean_of_pairs(current, way) for way in ways)
    return naive(current, candidate, chosen), n, None


small = st.integers(1, 5).flatmap(
    lambda n: st.tuples(*(st.lists(st.sampled_from(VALUES), min_size=n, max_size=n) for _ in range(2)))
)
gates = st.builds(
    GateSettings, no_regression=st.booleans(), min_coverage=st.sampled_from([0.0, 0.5, 0.6, 0.8, 0.9, 1.0])
)


@settings(max_examples=1000, deadline=None)
@given(small, gates)
def test_the_shortest_prefix_that_decides(scores: tuple[list[Any], list[Any]], chosen: GateSettings) -> None:
    ids = [f"t{n}" for n in range(len(scores[0]))]
    current, candidate = (dict(zip(ids, side, strict=True)) for side in scores)
    order = sorted(ids, key=lambda task: (current[task] == 1, task))
    found = oracle([current[t] for t in order], [candidate[t] for t in order], chosen)
    verdict = decide(current, candidate, chosen)
    assert (verdict.decision, verdict.prefix) == found[:2]
    if verdict.decision == "reject":
        assert verdict.maximum == found[2]


trials = st.one_of(st.sampled_from(VALUES), st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
measurements = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.lists(trials, min_size=n, max_size=n) for _ in range(2)))
)


def record(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.decision, verdict.prefix, verdict.maximum, verdict.score, verdict.gained, verdict.lost


@settings(max_examples=1000, deadline=None)
@given(measurements, gates, st.integers(1, 12), st.randoms(use_true_random=False))
def test_a_race_says_what_the_whole_measurement_says(
    scores: tuple[list[Any], list[Any]], chosen: GateSettings, wave: int, chance: Any
) -> None:
    """Looking after each wave, in canonical order or as results arrive, changes nothing of the record."""
    ids = [f"t{n:02d}" for n in range(len(scores[0]))]
    current, candidate = (dict(zip(ids, side, strict=True)) for side in scores)
    whole = decide(current, candidate, chosen)
    shuffled = list(ids)
    chance.shuffle(shuffled)
    for arrival in (canonical_order(current), shuffled):
        measured: dict[str, Any] = {}
        found = None
        for start in range(0, len(arrival), wave):
            measured |= {task: candidate[task] for task in arrival[start : start + wave]}
            found = race(current, measured, chosen)
            if found is not None:
                break
        assert found is not None
        assert record(found) == record(whole)
        assert (found.before, found.reason) == (whole.before, whole.reason)
        if found.decision == "accept":
            assert measured == candidate
            assert found.prefix == len(ids)


@settings(max_examples=300, deadline=None)
@given(measurements, st.sampled_from(["paired", "margin"]))
def test_other_modes_wait_for_all_tasks_to_accept(scores: tuple[list[Any], list[Any]], mode: Any) -> None:
    ids = [f"t{n:02d}" for n in range(len(scores[0]))]
    current, candidate = (dict(zip(ids, side, strict=True)) for side in scores)
    chosen = GateSettings(mode, min_coverage=0.5)
    order = canonical_order(current)
    seen = [race(current, {t: candidate[t] for t in order[:k]}, chosen) for k in range(1, len(order) + 1)]
    early = next(v for v in seen if v is not None)
    assert record(early) == record(decide(current, candidate, chosen))
    assert early.decision == "indecisive" or early.prefix == len(ids)
