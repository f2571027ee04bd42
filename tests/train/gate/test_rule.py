"""The gate's decisions, against cases, values worked out by hand, and an oracle that tries every completion."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.config import EvaluationSettings
from skillgit.errors import ConfigError, MeasurementError
from skillgit.train.gate import GateSettings, Rule, Scores, Verdict, canonical_order, decide, gate_settings, race
from skillgit.train.gate import verdict as verdict_of

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "gate.yaml").read_text(encoding="utf-8"))
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
    if chosen.mode == "paired" and len(pairs) < 2:
        return "indecisive"
    if chosen.no_regression and any(new < old for old, new in pairs):
        return "reject"
    differences = [new - old for old, new in pairs]
    mean = Fraction(sum(differences), len(pairs))
    if chosen.mode == "paired":
        error = statistics.variance(differences) / len(pairs)
        return "accept" if mean > 0 and mean**2 > Fraction(chosen.z) ** 2 * error else "reject"
    return "accept" if mean > (Fraction(str(chosen.epsilon)) if chosen.mode == "margin" else 0) else "reject"


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
FLOORS = st.sampled_from([0.0, 0.5, 0.6, 0.8, 0.9, 1.0])
plain = st.one_of(
    st.builds(GateSettings, no_regression=st.booleans(), min_coverage=FLOORS),
    st.builds(
        GateSettings,
        st.just("margin"),
        no_regression=st.booleans(),
        min_coverage=FLOORS,
        epsilon=st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]),
    ),
)
paired = st.builds(
    GateSettings,
    st.just("paired"),
    no_regression=st.booleans(),
    min_coverage=FLOORS,
    z=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)


@settings(max_examples=1000, deadline=None)
@given(small, plain)
def test_the_shortest_prefix_that_decides(scores: tuple[list[Any], list[Any]], chosen: GateSettings) -> None:
    ids = [f"t{n}" for n in range(len(scores[0]))]
    current, candidate = (dict(zip(ids, side, strict=True)) for side in scores)
    order = sorted(ids, key=lambda task: (current[task] == 1, task))
    found = oracle([current[t] for t in order], [candidate[t] for t in order], chosen)
    verdict = decide(current, candidate, chosen)
    assert (verdict.decision, verdict.prefix) == found[:2]
    if verdict.decision == "reject":
        assert verdict.maximum == found[2]
    # Looked at as a whole, the same verdict has the numbers of all tasks.
    whole = decide(current, candidate, chosen, whole=True)
    assert (whole.maximum, whole.prefix) == (None, len(ids))
    assert whole.decision in (verdict.decision, "indecisive")


trials = st.one_of(st.sampled_from(VALUES), st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
measurements = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.lists(trials, min_size=n, max_size=n) for _ in range(2)))
)


def record(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.decision, verdict.prefix, verdict.maximum, verdict.score, verdict.gained, verdict.lost


@settings(max_examples=1000, deadline=None)
@given(measurements, st.one_of(plain, paired), st.integers(1, 12), st.randoms(use_true_random=False))
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
@given(small, paired)
def test_a_paired_gate_ends_early_only_where_nothing_would_be_accepted(
    scores: tuple[list[Any], list[Any]], chosen: GateSettings
) -> None:
    """Whatever the rest scores; how early, tests/train/gate/test_bounds.py asks."""
    ids = [f"t{n}" for n in range(len(scores[0]))]
    current, candidate = (dict(zip(ids, side, strict=True)) for side in scores)
    order = canonical_order(current)
    verdict = decide(current, candidate, chosen)
    old, new = [current[t] for t in order], [candidate[t] for t in order]
    if verdict.prefix == len(order):
        assert verdict.decision == naive(old, new, chosen)
        return
    ways = itertools.product(VALUES, repeat=len(order) - verdict.prefix)
    outcomes = {naive(old, [*new[: verdict.prefix], *way], chosen) for way in ways}
    assert "accept" not in outcomes
    assert verdict.decision == ("indecisive" if outcomes == {"indecisive"} else "reject")


def test_paired_gives_up_by_hand() -> None:
    """Twelve tasks, eight solved. n = 12, z = 2: gains k of the open four need k^2 (11 + 4) > 4 * 12 k, so all four.

    With one that was not gained three are left, which need 9 * 15 > 4 * 12 * 3: no. An errored task among the solved
    (the floor of 0.9 allows one) helps little: 9 * 14 > 4 * 11 * 3 is no either.
    """
    tasks = [f"t{n:02d}" for n in range(12)]
    current = {task: int(n >= 4) for n, task in enumerate(tasks)}
    for lost in range(4):
        measured = {task: int(n != lost) for n, task in enumerate(tasks[: lost + 1])}
        verdict = race(current, measured, {"mode": "paired"})
        assert verdict is not None
        assert (verdict.decision, verdict.prefix, verdict.maximum) == ("reject", lost + 1, Fraction(11, 12))
        assert verdict.reason.startswith(
            f"after {lost + 1} of 12 val tasks it can no longer lead by more than 2 standard errors ("
        )
    assert race(current, dict.fromkeys(tasks[:11], 1), {"mode": "paired"}) is None
    verdict = decide(current, dict.fromkeys(tasks, 1), {"mode": "paired"})
    # Mean 1/3, variance (4 - 16/12) / 11 = 8/33, standard error sqrt(8/33/12) = 0.1421.
    assert verdict.reason == (
        "+0.3333 on 12 val tasks = +2.35 standard errors, more than 2 standard errors "
        "(4 better: t00, t01, t02, t03, 0 worse)"
    )


def test_margin_gives_up_by_hand() -> None:
    """Ten tasks, eight solved, epsilon 0.1: two gains are more, one is not. An errored task does not help enough:
    1 / 9 > 0.1 does, so with a floor of 0.9 the gate has to wait for the solved tasks; with 1.0 it need not."""
    tasks = [f"t{n}" for n in range(10)]
    current = {task: int(n >= 2) for n, task in enumerate(tasks)}
    measured = {"t0": 0, "t1": 1}
    sure = race(current, measured, {"mode": "margin", "epsilon": 0.1, "min_coverage": 1.0})
    assert sure is not None
    assert (sure.decision, sure.prefix, sure.maximum) == ("reject", 1, Fraction(9, 10))
    assert sure.reason == "after 1 of 10 val tasks it can no longer lead by more than 0.1 (0 better, 0 worse)"
    assert race(current, measured, {"mode": "margin", "epsilon": 0.1}) is None
    errored = {**dict.fromkeys(tasks, 1), "t0": 0, "t9": None}
    assert decide(current, errored, {"mode": "margin", "epsilon": 0.1}).decision == "accept"


def test_margin_takes_medians_and_the_others_means() -> None:
    """Medians 0 and 1, means 1/3 and 1/3."""
    current, candidate = {"a": [0, 0, 1], "b": [0, 0, 0]}, {"a": [0, 0, 1], "b": [1, 1, 0]}
    verdict = decide(current, candidate, {"mode": "margin", "epsilon": 0.49})
    assert (verdict.decision, verdict.before, verdict.score) == ("accept", 0, HALF)
    strict = decide(current, candidate, {})
    assert (strict.decision, strict.before, strict.score) == ("accept", Fraction(1, 6), HALF)
    assert strict.reason == "+0.3333 on 2 val tasks, better than the incumbent (1 better: b +0.6667, 0 worse)"


def test_the_sentence_names_tasks_and_by_how_much() -> None:
    current = {"t-1": 0, "t-2": HALF, "t-3": 1, "t-4": 0.25}
    verdict = decide(current, {"t-1": 1, "t-2": 0.75, "t-3": 0, "t-4": 0.5}, {})
    assert verdict.reason == (
        "+0.1250 on 4 val tasks, better than the incumbent (3 better: t-1, t-2 +0.25, t-4 +0.25, 1 worse: t-3)"
    )
    many = decide({f"t{n}": 0 for n in range(9)}, {f"t{n}": 1 for n in range(9)}, {})
    assert many.reason.endswith("(9 better: t0, t1, t2, t3, t4 and 4 more, 0 worse)")


def test_settings_of_a_skill() -> None:
    chosen = EvaluationSettings(gate_mode="paired", z=1.5, epsilon=0.25, no_regression=True, min_coverage=0.75)
    assert gate_settings(chosen) == GateSettings("paired", True, 0.75, 1.5, 0.25)
    with pytest.raises(ConfigError, match="did you mean 'paired'"):
        gate_settings(EvaluationSettings(gate_mode="pairde"))


def rule_of(decision: Any, seen: list[Any]) -> Rule:
    def rule(current: Scores, candidate: Scores, chosen: GateSettings) -> Verdict:
        seen.append((dict(current), dict(candidate)))
        return replace(verdict_of(decision, "as I like\nit", current, candidate), score=Fraction(1), prefix=1)

    return rule


def test_a_plugin_judges_whole_measurements() -> None:
    """Decision and reason are its own, the numbers are the gate's."""
    seen: list[Any] = []
    chosen = GateSettings("mine", rule=rule_of("accept", seen))
    current, candidate = {"a": 0, "b": [1, 0.5]}, {"a": None, "b": [0, 0]}
    assert race({"a": 0, "b": 1}, {"a": 0}, chosen) is None
    assert seen == []
    verdict = decide(current, candidate, replace(chosen, min_coverage=0.5))
    assert seen == [({"a": [0], "b": [1, HALF]}, {"a": [None], "b": [0, 0]})]
    assert (verdict.decision, verdict.prefix, verdict.missing, verdict.score) == ("accept", 2, 1, 0)
    assert (verdict.before, verdict.lost) == (Fraction(3, 4), ("b",))
    assert verdict.reason == "as I like it (0 better, 1 worse: b -0.75)"


def test_a_plugin_is_asked_only_where_coverage_and_regressions_allow_it() -> None:
    seen: list[Any] = []
    chosen = GateSettings("mine", no_regression=True, rule=rule_of("accept", seen))
    assert decide({"a": 0, "b": 0}, {"a": 1, "b": None}, chosen).decision == "indecisive"
    assert decide({"a": 1, "b": 0}, {"a": 0, "b": 1}, chosen).decision == "reject"
    assert seen == []


@pytest.mark.parametrize("said", [None, True, "accept", rule_of("maybe", [])({"a": 0}, {"a": 0}, GateSettings())])
def test_a_plugin_that_returns_no_verdict(said: Any) -> None:
    with pytest.raises(ConfigError, match=r"gate_mode: the plugin 'mine' returned .*; return a skillgit"):
        decide({"a": 0}, {"a": 1}, GateSettings("mine", rule=lambda *_: said))


def test_what_a_plugin_changes_does_not_reach_the_record() -> None:
    """The verdict's numbers are those of the scores that it was handed, whatever it leaves of them."""
    current, candidate = {"a": [0, 0], "b": [1, 1]}, {"a": [1, 0], "b": [0, 0]}
    as_they_are = decide(current, candidate, GateSettings("mine", rule=rule_of("accept", [])))

    def rude(before: Any, after: Any, chosen: GateSettings) -> Verdict:
        said = verdict_of("accept", "as I like it", before, after)
        after["a"][:] = [1, 1]
        after["b"] = [1, 1]
        before.clear()
        return said

    assert decide(current, candidate, GateSettings("mine", rule=rude)) == as_they_are
    assert (as_they_are.score, as_they_are.before, as_they_are.lost) == (Fraction(1, 4), HALF, ("b",))


def test_a_reason_that_cannot_be_written_is_made_so() -> None:
    def rule(before: Scores, after: Scores, chosen: GateSettings) -> Verdict:
        return verdict_of("accept", "half \ud800 of it\n", before, after)

    assert decide({"a": 0}, {"a": 1}, GateSettings("mine", rule=rule)).reason.startswith("half \ufffd of it (1 better")


def test_a_plugin_that_raises_is_named() -> None:
    def rule(current: Scores, candidate: Scores, chosen: GateSettings) -> Verdict:
        raise KeyError("b")

    with pytest.raises(ConfigError, match="gate_mode: the plugin 'mine': KeyError: 'b'"):
        decide({"a": 0}, {"a": 1}, GateSettings("mine", rule=rule))


def test_a_plugin_needs_a_name_of_its_own() -> None:
    for wrong in ({"mode": "strict", "rule": rule_of("accept", [])}, {"mode": "mine", "rule": 3}):
        with pytest.raises(ConfigError, match="gate_mode"):
            GateSettings(**wrong)
