"""Which edit fixed or broke a task, against the world's own rule."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.carrying import Hand
from support.training import BRANCH, DOCUMENT
from support.truth import passed

from skillgit.train.trace.bisect import Point, flips, wanted


def truth(hand: Hand, task: str, split: str = "val") -> list[tuple[str, str]]:
    """(change, commit) along the branch, by the world's rule for each commit's document."""
    commits = hand.git("rev-list", "--first-parent", "--reverse", BRANCH).split()
    values = [(commit, passed(hand.world, hand.text(commit), split)[task]) for commit in commits]
    return [
        ("fixed" if after > before else "broken", commit)
        for (_, before), (commit, after) in pairwise(values)
        if after != before
    ]


def found(hand: Hand, task: str, *more: str) -> list[tuple[str, str]]:
    return [(f["change"], f["after"]["commit"]) for f in hand.json("bisect", "topics", "--task", task, *more)["flips"]]


def test_every_val_task_s_flips_are_those_of_the_world(hand: Hand) -> None:
    changes = {row["id"]: truth(hand, row["id"]) for row in hand.world.tasks["val"]}
    assert sum(map(len, changes.values())) == 4  # 25 % of 16 tasks, all of them fixed once
    for task, expected in changes.items():
        assert found(hand, task) == expected


def test_the_edit_within_a_candidate_is_found_by_measuring_only_that_task(hand: Hand) -> None:
    task = hand.accepted[0].gained[0]
    calls = len(hand.server.calls)
    facts = hand.json("bisect", "topics", "--task", task)
    (flip,) = facts["flips"]
    assert flip["subject"].startswith("skill(topics): ")
    assert (flip["step"], flip["before"]["score"], flip["after"]["score"]) == (2, 0.0, 1.0)
    # Between the two measured ends of a candidate of three edits there are two documents: at most two calls.
    assert 1 <= len(hand.server.calls) - calls <= 2
    calls = len(hand.server.calls)
    assert hand.json("bisect", "topics", "--task", task)["flips"] == facts["flips"]
    assert len(hand.server.calls) == calls  # from the cache


def test_without_measuring_the_candidate_s_last_commit_is_named(hand: Hand) -> None:
    calls = len(hand.server.calls)
    step = hand.accepted[0]
    assert found(hand, step.gained[0], "--no-measure") == [("fixed", step.commits[-1])]
    assert len(hand.server.calls) == calls


def test_a_task_of_another_split_is_measured_at_the_ends_and_by_halves(hand: Hand) -> None:
    for split in ("train", "test"):
        for row in hand.world.tasks[split]:
            assert found(hand, row["id"]) == truth(hand, row["id"], split)


def test_a_person_s_commit_can_be_the_one(hand: Hand) -> None:
    edit = hand.edits()[2]
    commit = hand.commit_on("skill/topics", {DOCUMENT: hand.text().replace(f"{edit.row['content']}\n", "")}, "Oops")
    task = hand.accepted[0].gained[0]
    (_, broken) = hand.json("bisect", "topics", "--task", task)["flips"]
    assert (broken["change"], broken["after"]["commit"], broken["step"]) == ("broken", commit, None)
    assert broken["author"] == "Test Person <test@example.com>"
    said = hand.call("bisect", "topics", "--task", task).out
    assert f"broken by {commit[:12]} (Test Person <test@example.com>): 100.0% -> 0.0%  Oops" in said


def test_a_stretch_is_looked_at_alone(hand: Hand) -> None:
    first, second = hand.accepted
    task = first.gained[0]
    assert found(hand, task, "--from", first.commits[-1]) == []
    assert found(hand, task, "--to", f"{first.commits[0]}^") == []
    assert len(found(hand, task, "--to", second.commits[-1])) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--task", "val-0000"), "did you mean 'val-000'?"),
        (("--task", "val-000", "--from", "nope"), "nope"),
        (("--task", "val-000", "--from", "skill/topics", "--to", "main"), "is not on the way to"),
    ],
)
def test_mistakes_are_one_clear_line(hand: Hand, arguments: tuple[str, ...], said: str) -> None:
    assert said in hand.call("bisect", "topics", *arguments, code=2).last


def test_an_untrained_skill_is_said(hand: Hand) -> None:
    hand.git("update-ref", "-d", BRANCH)
    assert hand.call("bisect", "topics", "--task", "val-000")  # its journal is here
    for ref in hand.refs("refs/skillgit/runs"):
        hand.git("update-ref", "-d", ref)
    assert "was not trained yet" in hand.call("bisect", "topics", "--task", "val-000", code=2).last


def test_other_tasks_or_another_target_count_for_nothing(hand: Hand) -> None:
    task = hand.accepted[0].gained[0]
    config = hand.root / "skillgit.yaml"
    config.write_text(config.read_text().replace("target: openai/sim", "target: openai/other"))
    facts = hand.json("bisect", "topics", "--task", task, "--no-measure")
    assert facts["first"] is None
    assert facts["flips"] == []


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.data())
def test_one_change_is_always_found_with_few_measurements(values: list[bool], data: st.DataObject) -> None:
    change = data.draw(st.integers(0, len(values)))
    real = [Fraction(index >= change) for index in range(len(values))]
    line = [Point(str(n), str(n), real[n] if known else None) for n, known in enumerate(values)]
    asked = 0
    while (index := wanted(line)) is not None:
        assert line[index].value is None
        line[index].value = real[index]
        asked += 1
    expected = [change] if 0 < change < len(values) else []
    assert [int(flip.after.commit) for flip in flips(line)] == expected
    assert asked <= 2 + len(values).bit_length()
