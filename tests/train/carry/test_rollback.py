"""An earlier document comes back by a commit on top."""

from __future__ import annotations

import pytest
from support.carrying import Hand
from support.training import BEST_REF, BRANCH, DOCUMENT, trailer
from support.truth import share


def test_the_document_is_that_of_the_revision_and_the_branch_is_not_rewound(hand: Hand) -> None:
    step, tip = hand.accepted[0], hand.git("rev-parse", BRANCH)
    hand.call("rollback", "topics", "--to", step.commits[-1], "-m", "simpler")
    now = hand.git("rev-parse", BRANCH)
    assert hand.text() == hand.text(step.commits[-1])
    assert hand.git("rev-parse", f"{now}^") == tip
    assert hand.git("rev-parse", BEST_REF) == now
    assert trailer(hand.root, now, "Skill-Kind") == "revert"
    assert "simpler" in hand.git("log", "-1", "--format=%b", now)


def test_the_next_training_goes_on_from_it_with_its_true_score(hand: Hand) -> None:
    hand.call("rollback", "topics", "--to", hand.accepted[0].commits[-1])
    back = hand.text()
    hand.again("train.seed=5")
    score = share(hand.world, back)
    assert hand.steps[0].score == f"{score.numerator}/{score.denominator}"
    first = next(record for record in hand.steps if record.kind == "step")
    assert first.document_before == hand.git("rev-parse", f"{hand.accepted[0].commits[0]}^:{DOCUMENT}")


def test_a_release_is_named_by_its_number(hand: Hand) -> None:
    hand.git("tag", "-a", "-m", "one", "skill/topics/v1", hand.accepted[0].commits[-1])
    hand.call("rollback", "topics", "--to", "v1")
    assert hand.text() == hand.text("skill/topics/v1")


@pytest.mark.parametrize("rev", ["v9", "nothing", "-x", "skill/topics"])
def test_what_cannot_be_gone_back_to_is_one_clear_line(hand: Hand, rev: str) -> None:
    refs = hand.refs()
    done = hand.call("rollback", "topics", f"--to={rev}", code=2)
    assert "error" in done.last
    assert hand.refs() == refs


def test_a_dry_run_moves_nothing(hand: Hand) -> None:
    refs = hand.refs()
    facts = hand.json("rollback", "topics", "--to", hand.accepted[0].commits[-1], "--dry-run")
    assert facts["changes"]
    assert hand.refs() == refs
