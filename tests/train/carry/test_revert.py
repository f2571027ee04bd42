"""Edits are taken out of the tip's document: gated or not, remembered, and never more than them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from support import repos, training
from support.carrying import Hand
from support.training import BEST_REF, BRANCH, DOCUMENT, trailer
from support.truth import share
from support.world import Kinds, TopicWorld

from skillgit.train.archive.edits import RecordedEdit


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


def test_one_edit_is_taken_out_and_the_rest_stays_byte_for_byte(hand: Hand) -> None:
    before = hand.text()
    second = hand.edits()[1]
    hand.call("revert", "topics", second.commit, "--no-gate")
    gone = str(second.row["content"])
    assert hand.text() == "".join(line for line in before.splitlines(keepends=True) if line.rstrip() != gone)
    assert lines(before) != lines(hand.text())
    repos.fsck(hand.root)


@pytest.mark.parametrize("number", range(5))
def test_every_edit_can_be_taken_out_alone_whatever_came_beside_it(hand: Hand, number: int) -> None:
    before, edit = hand.text(), hand.edits()[number]
    hand.call("revert", "topics", edit.commit, "--no-gate")
    assert lines(hand.text()) == [line for line in lines(before) if line != edit.row["content"]]


def test_without_the_gate_no_model_is_asked_and_the_document_is_the_best(hand: Hand) -> None:
    tip, calls = hand.git("rev-parse", BRANCH), len(hand.server.calls)
    done = hand.call("revert", "topics", "2.1", "--no-gate", "-m", "nobody wants it")
    assert len(hand.server.calls) == calls
    commit = hand.git("rev-parse", BRANCH)
    assert hand.git("rev-parse", f"{commit}^") == tip
    assert hand.git("rev-parse", BEST_REF) == commit
    assert "forced, not measured" in done.out
    assert trailer(hand.root, commit, "Skill-Kind") == "revert"
    assert trailer(hand.root, commit, "Skill-Edit") == "1/1 revert"
    assert trailer(hand.root, commit, "Skill-Decision") == "forced"
    assert trailer(hand.root, commit, "Skill-Score") == ""
    assert "nobody wants it" in hand.git("log", "-1", "--format=%b", commit)
    assert hand.last.kind == "revert"
    assert hand.last.score is None
    assert hand.last.commits == [commit]


def test_the_next_training_measures_first_and_does_not_bring_the_edit_back(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("revert", "topics", edit.commit, "--no-gate")
    without = hand.text()
    hand.again("train.seed=5")
    baseline = hand.steps[0]
    assert baseline.kind == "baseline"
    assert baseline.score == f"{(score := share(hand.world, without)).numerator}/{score.denominator}"
    assert str(edit.row["content"]) not in hand.text()
    proposed = [row["content"] for record in hand.steps for row in record.edits]
    assert edit.row["content"] not in proposed


def test_a_taken_out_edit_would_have_come_back_if_it_were_not_remembered(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("revert", "topics", edit.commit, "--no-gate")
    hand.git("update-ref", "-d", "refs/notes/skillgit")
    hand.again("train.seed=5")
    assert str(edit.row["content"]) in "".join(
        str(row["content"]) for record in hand.steps for row in (*record.edits, *record.dropped)
    )


def test_what_was_taken_out_is_told_to_the_optimizer_and_dropped_if_it_proposes_it(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("revert", "topics", edit.commit, "--no-gate")
    start = len(hand.server.calls)
    hand.again("train.seed=5")
    prompts = [text for call in hand.server.calls[start:] for _, text in call.turns if "<attempt" in text]
    assert prompts
    assert all(str(edit.row["content"]) in text and "A person took this out" in text for text in prompts)
    dropped = [row for record in hand.steps for row in record.dropped if row["content"] == edit.row["content"]]
    assert {row["why"] for row in dropped} == {"a person took it out of the document"}


def test_a_gated_revert_that_costs_points_is_kept_as_a_rejected_candidate(hand: Hand) -> None:
    tip, before = hand.git("rev-parse", BRANCH), hand.text()
    edit = hand.edits()[2]
    done = hand.call("revert", "topics", edit.commit, code=2)
    assert hand.git("rev-parse", BRANCH) == tip
    record = hand.last
    assert (record.kind, record.decision) == ("revert", "reject")
    ref = f"refs/skillgit/rejected/topics/{edit.run}/{record.step:05d}-{record.candidate:02d}"
    assert hand.refs()[ref] == record.commits[-1]
    assert hand.git("rev-parse", f"{ref}^") == tip
    assert ref in done.last
    assert "--no-gate" in done.last
    assert str(edit.row["content"]) not in hand.text(ref)
    assert share(hand.world, hand.text(ref)) < share(hand.world, before)
    notes = hand.git("for-each-ref", "refs/notes/skillgit")
    assert "taken-back" not in (hand.git("grep", "taken-back", "refs/notes/skillgit", "--", ".") if notes else "")


def test_a_gated_revert_that_helps_is_accepted_with_its_true_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A topic gets a new code, which a person writes above the line with the old one: the last line counts.
    with training.yard(tmp_path / "own", monkeypatch, training.mixed()) as own:
        asyncio.run(own.train())
        hand = Hand(own.root, own.world, own.server)
        edit = hand.edits()[2]
        topic = str(edit.row["content"]).removeprefix("- ").partition(":")[0]
        for rows in hand.world.tasks.values():
            for row in rows:
                row["answer"] = "K123" if row["answer"] == hand.world.codes[topic] else row["answer"]
        hand.world.codes[topic] = "K123"
        hand.world.write_env(hand.root / "envs/topics")
        before = hand.text().replace("Answer with the code.\n\n", f"Answer with the code.\n\n- {topic}: K123\n")
        hand.commit_on("skill/topics", {DOCUMENT: before})
        after = before.replace(f"{edit.row['content']}\n", "")
        assert share(hand.world, after) > share(hand.world, before)
        helps(hand, edit, before, after)


def helps(hand: Hand, edit: RecordedEdit, before: str, after: str) -> None:
    found = hand.json("revert", "topics", edit.commit)
    assert found["decision"] in ("accept", "accept-best")
    assert hand.text() == after
    assert found["score"] == round(float(share(hand.world, after)), 6)
    assert found["before"] == round(float(share(hand.world, before)), 6)
    commit = hand.git("rev-parse", BRANCH)
    assert trailer(hand.root, commit, "Skill-Score") == f"{float(share(hand.world, after)):.6f}"
    assert trailer(hand.root, commit, "Skill-Blob") == hand.git("rev-parse", f"{commit}:{DOCUMENT}")
    assert [f["kind"] for f in hand.notes(edit.commit)] == ["taken-back"]


def test_all_edits_of_a_step_and_several_names_are_one_candidate(hand: Hand) -> None:
    before = lines(hand.text())
    hand.call("revert", "topics", "4.2", "2.1", "4.2", "--no-gate")
    four, two = hand.edits()[4], hand.edits()[0]
    assert lines(hand.text()) == [line for line in before if line not in (four.row["content"], two.row["content"])]
    commits = hand.last.commits
    assert len(commits) == 2
    assert [trailer(hand.root, commit, "Skill-Edit") for commit in commits] == ["1/2 revert", "2/2 revert"]
    # The newest is taken out first, a whole document each.
    assert str(four.row["content"]) not in hand.text(commits[0])
    assert str(two.row["content"]) in hand.text(commits[0])


def test_a_dry_run_shows_the_change_and_moves_nothing(hand: Hand) -> None:
    refs, calls = hand.refs(), len(hand.server.calls)
    edit = hand.edits()[0]
    done = hand.call("revert", "topics", edit.commit, "--dry-run")
    assert f"-{edit.row['content']}" in done.out.splitlines()
    assert hand.refs() == refs
    assert len(hand.server.calls) == calls
    facts = hand.json("revert", "topics", edit.commit, "--dry-run")
    assert facts["changes"] is True
    assert f"-{edit.row['content']}\n" in facts["diff"]


def test_an_edit_that_is_out_already_is_refused(hand: Hand) -> None:
    hand.call("revert", "topics", "2.1", "--no-gate")
    done = hand.call("revert", "topics", hand.edits()[0].commit, "--no-gate", code=2)
    assert "is not in the document any more" in done.last


def test_lines_that_people_changed_since_conflict_and_both_sides_are_known(hand: Hand) -> None:
    edit = hand.edits()[1]
    line = str(edit.row["content"])
    hand.commit_on("skill/topics", {DOCUMENT: hand.text().replace(line, f"{line} (since May)")})
    refs = hand.refs()
    done = hand.call("revert", "topics", edit.commit, "--no-gate", code=2)
    assert "later edits changed the same lines" in done.last
    assert hand.refs() == refs
    assert hand.text().count(f"{line} (since May)") == 1


@pytest.mark.parametrize("name", ["99", "2.9", "no-such", "HEAD", "0"])
def test_what_is_no_accepted_edit_is_one_clear_line(hand: Hand, name: str) -> None:
    done = hand.call("revert", "topics", name, "--no-gate", code=2)
    assert name in done.last
    assert "skillgit log topics" in done.last


def test_a_branch_that_is_checked_out_is_refused(hand: Hand) -> None:
    hand.git("switch", "-q", "skill/topics")
    done = hand.call("revert", "topics", "2.1", "--no-gate", code=2)
    assert "checked out" in done.last


def test_the_note_says_who_and_why_and_has_the_edit(hand: Hand) -> None:
    edit = hand.edits()[0]
    hand.call("revert", "topics", edit.commit, "--no-gate", "-m", "off topic")
    (fact,) = [f for f in hand.notes(edit.commit) if f["kind"] == "taken-back"]
    assert fact["by"] == "Test Person <test@example.com>"
    assert (fact["why"], fact["content"], fact["op"]) == ("off topic", edit.row["content"], edit.row["op"])
    assert (fact["skill"], fact["run"], fact["step"], fact["edit"]) == ("topics", edit.run, edit.step, edit.number)


def test_the_entry_is_printed_as_json(hand: Hand) -> None:
    found = hand.json("revert", "topics", "2.1", "--no-gate")
    assert (found["skill"], found["kind"], found["decision"], found["score"]) == ("topics", "revert", "forced", None)
    assert json.dumps(found)


def test_a_change_is_made_on_top_of_what_people_committed(hand: Hand) -> None:
    person = hand.commit_on("skill/topics", {DOCUMENT: hand.text() + "\nBe kind.\n"})
    hand.call("revert", "topics", "2.1", "--no-gate")
    assert hand.git("rev-parse", f"{BRANCH}^") == person
    assert "Be kind." in hand.text()


def test_a_run_whose_proposals_were_all_taken_out_ends_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = TopicWorld(2, 1, kinds=Kinds(100, 0))  # only right lines are proposed, one for each topic
    config = training.configuration(train="{num_epochs: 2, batch_size: 4}")
    with training.yard(tmp_path / "own", monkeypatch, world, config=config) as own:
        asyncio.run(own.train())
        hand = Hand(own.root, own.world, own.server)
        assert share(world, hand.text()) == 1
        hand.call("revert", "topics", *(edit.commit for edit in hand.edits()), "--no-gate")
        before = hand.text()
        done = asyncio.run(hand.train("train.seed=5"))
        steps = [record for record in hand.steps if record.kind == "step"]
        assert done.finished
        assert [record.decision for record in steps] == ["none"] * len(steps)
        assert {record.reason for record in steps} == {"people took out of the document what was proposed"}
        assert hand.text() == before
