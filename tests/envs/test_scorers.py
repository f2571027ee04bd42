"""Scorers compare answers with what is accepted, and give no truth away in their reasons."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.environments import task

from skillgit.envs.scorers import AnswerScorer, TaskChecks, load_task_checks, score_exact, score_f1, score_numeric
from skillgit.errors import ConfigError

EXACT = {
    "case-and-punctuation": ("The Nile.", ["nile"], True, 1),
    "any-of-several": ("b", ["a", "b"], True, 1),
    "part-is-not-enough": ("14", ["4"], True, 0),
    "none-is-literal": ("ops restart api env stg", ["ops restart api --env stg"], False, 0),
    "none-trims": (" ops restart \n", ["ops restart"], False, 1),
    "none-keeps-case": ("Ops restart", ["ops restart"], False, 0),
    "none-keeps-inner-space": ("ops  restart", ["ops restart"], False, 0),
}


@pytest.mark.parametrize(("answer", "accepted", "normalize", "hard"), EXACT.values(), ids=EXACT)
def test_exact(answer, accepted, normalize, hard) -> None:
    found = score_exact(answer, accepted, normalize=normalize)
    assert (found.hard, found.soft) == (hard, hard)


def test_f1_takes_the_best_of_the_accepted_answers() -> None:
    found = score_f1("the red car", ["blue", "red car now"], normalize=True)
    assert (found.hard, found.soft) == (0, Fraction(4, 5))
    assert score_f1("Red, car", ["blue", "the red car"], normalize=True).hard == 1


def test_f1_without_normalising_compares_words_as_they_are() -> None:
    assert score_f1("the Red car", ["the red car"], normalize=False).soft == Fraction(2, 3)
    assert score_f1("the red car", ["the red  car"], normalize=False).hard == 1
    assert score_f1("x", ["y"], normalize=False).soft == 0


NUMERIC = {
    "same-in-another-form": ("1,000.0", ["1000"], "0", 1),
    "near-is-wrong": ("3.14", ["3.1416"], "0", 0),
    "within": ("3.14", ["3.1416"], "0.01", 1),
    "at-the-edge-exactly": ("0.3", ["0.1"], "0.2", 1),
    "beyond": ("0.31", ["0.1"], "0.2", 0),
    "any-of-several": ("2", ["1", "2"], "0", 1),
    "not-a-number": ("about 2", ["2"], "0", 0),
    "sign": ("-2", ["2"], "0", 0),
}


@pytest.mark.parametrize(("answer", "accepted", "tolerance", "hard"), NUMERIC.values(), ids=NUMERIC)
def test_numeric(answer, accepted, tolerance, hard) -> None:
    found = score_numeric(answer, accepted, tolerance=Fraction(tolerance))
    assert (found.hard, found.soft) == (hard, hard)


@given(st.text(), st.lists(st.text(), min_size=1, max_size=3), st.booleans())
def test_scores_are_in_range_and_hard_implies_soft(answer, accepted, normalize) -> None:
    for found in (score_exact(answer, accepted, normalize=normalize), score_f1(answer, accepted, normalize=normalize)):
        assert 0 <= found.hard <= found.soft <= 1
        assert found.hard == (found.soft == 1)


@pytest.mark.parametrize("name", ["exact", "f1", "numeric"])
async def test_the_reason_says_nothing_of_the_truth(name) -> None:
    own = AnswerScorer(name)
    wrong = task(["7041", "7042"])
    own.prepare(wrong)
    found = await own.score("99", wrong)
    await own.close()
    assert found.reason
    assert "704" not in found.reason
    assert own.name == name


UNSCORABLE = {
    "none": ("exact", {}, None, "answer: 't' has none"),
    "nothing-left": ("exact", {}, "The.", "nothing is left of 'The.'"),
    "nothing-left-f1": ("f1", {}, ["right", "a"], "nothing is left of 'a'"),
    "no-number": ("numeric", {}, ["1", "one"], "'one' is not a number"),
}


@pytest.mark.parametrize(("name", "settings", "answer", "said"), UNSCORABLE.values(), ids=UNSCORABLE)
def test_a_task_that_cannot_be_scored_is_refused_when_loaded(name, settings, answer, said) -> None:
    with pytest.raises(ConfigError, match=r"^tasks.jsonl:1: answer: ") as caught:
        AnswerScorer(name, **settings).prepare(task(answer))
    assert said in str(caught.value)


def test_what_normalising_would_empty_is_fine_without_it() -> None:
    AnswerScorer("exact", normalize=False).prepare(task("The."))


CONTAINS = [{"op": "contains", "arg": "alpha"}, {"op": "not_contains", "arg": "beta"}]


async def test_a_tasks_own_checks_come_before_the_answer() -> None:
    own = TaskChecks(AnswerScorer("exact"), tools=False)
    with_checks, plain = task("right", checks=CONTAINS), task("right")
    own.prepare(with_checks)
    own.prepare(plain)
    assert (await own.score("alpha", with_checks)).hard == 1
    assert (await own.score("right", with_checks)).hard == 0
    assert (await own.score("right", plain)).hard == 1
    assert own.name == "exact"
    await own.close()


async def test_the_environments_checks_are_for_tasks_without_their_own() -> None:
    own = TaskChecks(None, defaults=CONTAINS, tools=False)
    other = task(None, checks=[{"op": "contains", "arg": "gamma"}], id="other")
    assert (await own.score("alpha beta", task(None))).soft == Fraction(1, 2)
    assert (await own.score("gamma", other)).hard == 1
    assert own.name == "checks"


def test_a_task_without_any_checks_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^tasks.jsonl:1: checks: 't' has none"):
        TaskChecks(None, tools=False).prepare(task("right"))


@pytest.mark.parametrize("raw", [[], None, "contains", [{"op": "conatins", "arg": "x"}], [{"arg": "x"}], ["x"]])
def test_malformed_checks_are_refused_with_their_place(raw) -> None:
    with pytest.raises(ConfigError, match=r"^tasks.jsonl:1: checks"):
        TaskChecks(None, tools=False).prepare(task(None, checks=raw))


def test_a_check_that_could_never_pass_is_refused() -> None:
    own = task(None, checks=[{"op": "tool_called", "arg": "Bash"}])
    with pytest.raises(ConfigError, match="tool_called can never pass"):
        TaskChecks(None, tools=False).prepare(own)
    TaskChecks(None, tools=True).prepare(own)


async def test_tool_calls_reach_the_checks() -> None:
    own = task(None, checks=[{"op": "tool_called", "arg": "Bash"}])
    scorer = TaskChecks(None, tools=True)
    assert (await scorer.score("done", own, ("Bash",))).hard == 1
    assert (await scorer.score("done", own)).hard == 0


async def test_exact_checks_follow_the_environments_normalisation_unless_they_say_otherwise() -> None:
    one = task(None, checks=[{"op": "exact", "arg": "Nile"}])
    other = task(None, checks=[{"op": "exact", "arg": "Nile", "normalize": "text"}])
    literal = TaskChecks(None, normalize=False, tools=False)
    assert (await literal.score("nile", one)).hard == 0
    assert (await literal.score("nile", other)).hard == 1
    assert (await TaskChecks(None, tools=False).score("nile", one)).hard == 1


def test_load_task_checks_gives_checks() -> None:
    assert len(load_task_checks(CONTAINS, "x", normalize=True, tools=False)) == 2
