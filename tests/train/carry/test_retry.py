"""Rejected candidates are tried again on today's tip."""

from __future__ import annotations

from support.carrying import Hand
from support.training import BRANCH, trailer
from support.truth import share


def rejected(hand: Hand) -> str:
    record = next(record for record in hand.steps if record.decision == "reject")
    return f"{record.step}-{record.candidate:02d}"


def test_a_candidate_that_does_not_help_today_either_is_rejected_again_and_stays(hand: Hand) -> None:
    refs, tip = hand.refs("refs/skillgit/rejected"), hand.git("rev-parse", BRANCH)
    done = hand.call("rejected", "retry", "topics", rejected(hand), code=2)
    assert "it stays in the rejected buffer" in done.last
    assert refs.items() < hand.refs("refs/skillgit/rejected").items()
    record = hand.last
    assert (record.kind, record.decision) == ("retry", "reject")
    assert hand.git("rev-parse", f"{record.commits[0]}^") == tip
    assert hand.git("rev-parse", BRANCH) == tip


def test_a_candidate_that_helps_today_comes_in_with_all_its_edits(hand: Hand) -> None:
    # A right line is tried where its topic has a wrong one below it: rejected; without that one, it would help.
    line = next(hand.world.rule(t) for t in hand.world.codes if hand.world.rule(t) not in hand.text())
    edit = hand.edits()[2]  # the right line that is there
    hand.git("branch", "idea", "main")
    hand.call("revert", "topics", edit.commit, code=2)  # rejected, of course: it is right
    item = hand.json("rejected", "list", "topics")[0]
    assert item["record"]["kind"] == "revert"
    # The person goes back to where the edit was not there yet: the rejected revert cannot be done again there.
    hand.call("rollback", "topics", "--to", f"{edit.commit}^")
    assert str(edit.row["content"]) not in hand.text()
    assert line not in hand.text()
    before = hand.text()
    place = f"{edit.step}.{edit.number}"
    hand.call("cherry-pick", "topics", edit.commit)
    assert str(edit.row["content"]) in hand.text(), place
    assert share(hand.world, hand.text()) > share(hand.world, before)


def test_without_its_journal_a_candidate_is_taken_from_its_commits(hand: Hand) -> None:
    where = rejected(hand)
    known = hand.call("rejected", "retry", "topics", where, "--dry-run").out
    run = next(iter(hand.refs("refs/skillgit/runs"))).rpartition("/")[2]
    hand.git("update-ref", "-d", f"refs/skillgit/runs/topics/{run}")
    assert hand.call("rejected", "retry", "topics", where, "--dry-run").out == known
    assert known.count("\n+- ") == 2


def test_an_accepted_retry_is_noted_on_the_rejected_commit(hand: Hand) -> None:
    line = next(hand.world.rule(t) for t in hand.world.codes if hand.world.rule(t) not in hand.text())
    right = hand.edits()[2]
    hand.git("branch", "idea", "main")
    text = hand.text("main")
    commit = hand.commit_on(
        "idea", {"skills/topics/SKILL.md": text + f"\n{line}\n"}, "skill(topics): an idea\n\nSkill-Edit: 1/1 append"
    )
    ref = f"refs/skillgit/rejected/topics/{right.run}/00009-01"
    hand.git("update-ref", ref, commit)
    hand.call("rejected", "retry", "topics", "9-01")
    now = hand.git("rev-parse", BRANCH)
    assert trailer(hand.root, now, "Skill-Kind") == "retry"
    assert line in hand.text()
    assert [(f["kind"], f["as"]) for f in hand.notes(commit)] == [("retried", now)]
    assert hand.refs()[ref] == commit
