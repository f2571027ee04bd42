"""Failed tasks with their answers become lines of the document."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import environments
from support.optimizer import Bench

from skillgit.document import Edit, apply_edits
from skillgit.envs.contract import Attempt, Environment, Score
from skillgit.models.base import Usage
from skillgit.train.propose.compact import MOST_CONTENT
from skillgit.train.propose.examples import Examples, examples, fill
from skillgit.train.propose.proposals import Proposal
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import HARD

DOCUMENT = "---\nname: x\n---\n\n# Rules\n\n- first\n"


def failed(ident: str, task: str, answer: str | None, hard: int = 0) -> Rollout:
    score = Score(Fraction(hard), Fraction(hard), "the scorer's reason")
    given_task = environments.task(answer, id=ident, input=task)
    return Rollout(given_task, 0, Attempt("wrong", "wrong", score), None, Usage())


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Bench(tmp_path_factory.mktemp("env")).environment


def lines(found: Examples) -> list[tuple[str, int]]:
    return [(p.edit.content, p.support) for p in found.proposals]


def test_failures_alone_become_lines_in_the_order_of_their_ids(environment: Environment) -> None:
    rollouts = [
        failed("b", "stop\n  it", "ops stop"),
        failed("a", "go", "ops go"),
        failed("c", "fine already", "x", hard=1),
        Rollout(environments.task("y", id="d"), 0, None, "busy", Usage()),
    ]
    found = examples(rollouts, DOCUMENT, environment, 4, HARD)
    assert lines(found) == [("- go -> ops go", 1), ("- stop it -> ops stop", 1)]
    assert [p.rank for p in found.proposals] == [0, 1]
    assert found.said == ()
    after = apply_edits(DOCUMENT, [p.edit for p in found.proposals])
    assert after.document == DOCUMENT + "- go -> ops go\n- stop it -> ops stop\n"


@given(st.permutations(range(6)))
def test_the_order_of_arrival_does_not_matter(environment: Environment, order: list[int]) -> None:
    rollouts = [failed(f"t{n}", f"task number {n % 4} of these", f"answer {n % 3}") for n in range(6)]
    assert examples([rollouts[n] for n in order], DOCUMENT, environment, 9, HARD) == examples(
        rollouts, DOCUMENT, environment, 9, HARD
    )


def test_near_identical_inputs_with_one_answer_are_support(environment: Environment) -> None:
    rollouts = [
        failed("a", "please restart the billing service now", "ops restart billing"),
        failed("b", "Please restart the billing service  NOW", "ops restart billing"),
        failed("c", "now restart the billing service", "ops restart billing"),  # 5 of 6 words
        failed("d", "please restart the mail service now", "ops restart mail"),
        failed("e", "bounce billing", "ops restart billing"),
    ]
    found = examples(rollouts, DOCUMENT, environment, 9, HARD)
    assert lines(found) == [
        ("- please restart the billing service now -> ops restart billing", 3),
        ("- please restart the mail service now -> ops restart mail", 1),
        ("- bounce billing -> ops restart billing", 1),
    ]


def test_the_budget_takes_the_best_supported(environment: Environment) -> None:
    rollouts = [failed("a", "one", "1"), failed("b", "two", "2"), failed("c", "TWO", "2")]
    assert lines(examples(rollouts, DOCUMENT, environment, 1, HARD)) == [("- two -> 2", 2)]


def test_what_the_document_shows_is_left_out_and_said(environment: Environment) -> None:
    document = DOCUMENT + "- go -> ops go\n- stop everything -> ops stopall\n"
    found = examples([failed("a", "go", "ops go"), failed("b", "stop", "ops stop")], document, environment, 4, HARD)
    assert lines(found) == [("- stop -> ops stop", 1)]  # not shown: only as a part of longer words and texts
    assert found.said == ("1 failed task gave no example: the document shows it already",)


def test_a_line_with_another_answer_is_replaced(environment: Environment) -> None:
    document = DOCUMENT + "- go -> ops stop\n- wait -> ops wait\n"
    found = examples([failed("a", "go", "ops go")], document, environment, 4, HARD)
    after = apply_edits(document, [p.edit for p in found.proposals])
    assert after.document == DOCUMENT + "- go -> ops go\n- wait -> ops wait\n"


def test_a_task_with_two_answers_teaches_one(environment: Environment) -> None:
    found = examples([failed("a", "go", "left"), failed("b", "go", "right")], DOCUMENT, environment, 4, HARD)
    assert lines(found) == [("- go -> left", 1)]


def test_what_no_line_can_hold_is_left_out_and_said(environment: Environment) -> None:
    most = MOST_CONTENT - len("- x") - len(" -> y") + 1
    rollouts = [
        failed("a", "x" * most, "y"),
        failed("b", "x" * (most + 1), "y2"),
        failed("c", "a <!-- comment -->", "y3"),
    ]
    found = examples(rollouts, DOCUMENT, environment, 4, HARD)
    assert [len(content) for content, _ in lines(found)] == [MOST_CONTENT]
    assert found.said == ("2 failed tasks gave no example: too long for a line, or text that no edit may bring",)


@pytest.mark.parametrize("reveal", ["reason", "nothing"])
def test_a_hidden_answer_gives_nothing_and_says_why(tmp_path: Path, reveal: str) -> None:
    environment = Bench(tmp_path, reveal=reveal).environment
    found = examples([failed("a", "go", "ops go"), failed("b", "no", "ops")], DOCUMENT, environment, 4, HARD)
    assert found.proposals == ()
    assert found.said == ("2 failed tasks gave no example: the environment shows no answer (see reveal in env.yaml)",)


def test_a_task_without_an_answer_gives_nothing(environment: Environment) -> None:
    found = examples([failed("a", "go", None)], DOCUMENT, environment, 4, HARD)
    assert found.proposals == ()
    assert len(found.said) == 1


def test_both_fills_what_the_budget_leaves() -> None:
    def proposal(text: str) -> Proposal:
        return Proposal(Edit("append", content=text), 1, "failure", 0)

    model = [proposal("rule"), proposal("- go  -> ops go")]
    more = [proposal("- go -> ops go"), proposal("- a -> b"), proposal("- c -> d")]
    assert fill(model, more, 3) == [*model, more[1]]
    assert fill(model, more, 2) == fill(model, more, 1) == model
    assert fill([], more, 2) == more[:2]
