"""A change by hand that is killed is whole or not there, and what it took out is remembered all the same."""

from __future__ import annotations

import random
import signal

import pytest
from support.carrying import Hand
from support.killing import Killer
from support.training import BEST_REF, BRANCH

from skillgit.train.archive.edits import RecordedEdit

KILLED = -signal.SIGKILL


@pytest.fixture
def killer(hand: Hand) -> Killer:
    return Killer(hand.root, hand.server.env())


def taken(hand: Hand, edit: RecordedEdit) -> list[str]:
    if "refs/notes/skillgit" not in hand.refs():
        return []
    listed = hand.git("notes", "--ref=skillgit", "list").split()
    facts = hand.notes(edit.commit) if edit.commit in listed else []
    return [fact["as"] for fact in facts if fact["kind"] == "taken-back"]


def check(hand: Hand, killer: Killer) -> None:
    killer.check_whole()
    hand.call("verify", "topics")
    assert "all refs are where the journals say" in hand.call("doctor").out
    assert hand.refs()[BEST_REF] == hand.refs()[BRANCH]


def test_a_kill_between_the_change_and_its_note_loses_neither(hand: Hand, killer: Killer) -> None:
    edit = hand.edits()[2]
    revert = ("revert", "topics", edit.commit, "--no-gate", "-m", "wrong")
    assert killer.start(*revert, plan="committed 0 refs/skillgit/runs/").code == KILLED
    commit = hand.git("rev-parse", BRANCH)
    assert str(edit.row["content"]) not in hand.text()
    assert taken(hand, edit) == []
    # The same command again has nothing to do, but whoever holds the lock mends.
    again = killer.start(*revert)
    assert again.code == 2
    assert "is not in the document any more" in again.err
    assert taken(hand, edit) == [commit]
    (fact,) = hand.notes(edit.commit)
    assert (fact["why"], fact["content"], fact["by"]) == (
        "wrong",
        edit.row["content"],
        "Test Person <test@example.com>",
    )
    check(hand, killer)


def test_training_mends_the_note_before_it_proposes(hand: Hand, killer: Killer) -> None:
    edit = hand.edits()[2]
    command = ("revert", "topics", edit.commit, "--no-gate")
    assert killer.start(*command, plan="committed 0 refs/skillgit/runs/").code == KILLED
    hand.again("train.seed=5")
    assert len(taken(hand, edit)) == 1
    assert str(edit.row["content"]) not in hand.text()


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_kill_within_the_transaction_is_completed_or_never_was(hand: Hand, killer: Killer, moved: int) -> None:
    edit, tip = hand.edits()[2], hand.git("rev-parse", BRANCH)
    revert = ("revert", "topics", edit.commit, "--no-gate")
    assert killer.start(*revert, plan=f"prepared {moved} refs/skillgit/runs/").code == KILLED
    again = killer.start(*revert)
    assert again.code == (2 if moved else 0), again.err
    assert "took over the lock" in again.err
    assert str(edit.row["content"]) not in hand.text()
    assert hand.git("rev-parse", f"{BRANCH}^") == tip
    assert taken(hand, edit) == [hand.git("rev-parse", BRANCH)]
    check(hand, killer)


@pytest.mark.parametrize("moved", [0, 1])
def test_a_kill_as_the_note_is_written_leaves_it_to_the_next(hand: Hand, killer: Killer, moved: int) -> None:
    edit = hand.edits()[2]
    revert = ("revert", "topics", edit.commit, "--no-gate")
    assert killer.start(*revert, plan=f"prepared {moved} refs/notes/skillgit").code == KILLED
    assert killer.start(*revert).code == 2
    assert taken(hand, edit) == [hand.git("rev-parse", BRANCH)]
    check(hand, killer)


def test_kills_at_any_moment_of_a_gated_change(hand: Hand, killer: Killer) -> None:
    hand.call("rollback", "topics", "--to", f"{hand.edits()[2].commit}^")
    edit, tip = hand.edits()[2], hand.git("rev-parse", BRANCH)
    assert str(edit.row["content"]) not in hand.text()
    chance = random.Random(1)
    pick = ("cherry-pick", "topics", edit.commit)
    for plan in ("", "prepared 1 refs/skillgit/runs/", "", "prepared 2 refs/skillgit/runs/", ""):
        ended = killer.start(*pick, plan=plan, after_s=None if plan else chance.uniform(0.3, 2.5))
        if ended.code != KILLED:
            break
    assert killer.start(*pick).code in (0, 2)
    assert str(edit.row["content"]) in hand.text()
    assert hand.git("rev-list", "--count", f"{tip}..{BRANCH}") == "1"
    assert [record.kind for record in hand.steps].count("cherry-pick") == 1
    check(hand, killer)
