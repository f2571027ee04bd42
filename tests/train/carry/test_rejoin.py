"""What is owed after two trainings were joined: tried again, never lost, and never what people took out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from support import repos, training
from support.carrying import Hand, Two, another, two_clones
from support.killing import Killer
from support.training import BEST_REF, BRANCH, DOCUMENT
from support.truth import share

from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.journal import StepRecord
from skillgit.train.carry.change import Make, bring_in
from skillgit.train.run import Run

SHORT = ("train.seed=9", "train.num_epochs=1")


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    with two_clones(tmp_path, monkeypatch) as made:
        yield made


def right(hand: Hand) -> list[RecordedEdit]:
    """Accepted edits that carry points today."""
    text = hand.text()
    rules = {hand.world.rule(topic) for topic in hand.world.codes}
    return [edit for edit in hand.edits() if edit.row["content"] in rules and str(edit.row["content"]) in text]


def whole(hand: Hand, *others: Hand) -> None:
    """Sound, and true by the journals; `others` are clones whose journals are not here yet."""
    repos.fsck(hand.root)
    assert "all refs are where the journals say" in hand.call("doctor").out
    for other in others:
        missing = other.refs("refs/skillgit/runs").keys() - hand.refs("refs/skillgit/runs").keys()
        hand.git("fetch", "-q", str(other.root), *(f"{ref}:{ref}" for ref in sorted(missing)))
    hand.call("verify", "topics")


def test_what_was_taken_out_here_is_not_owed(two: Two) -> None:
    two.here.again("train.seed=7")
    edit = right(two.here)[0]
    two.there.again()
    assert str(edit.row["content"]) not in two.there.text()
    two.here.call("revert", "topics", edit.commit, "--no-gate")
    two.send()
    two.here.again(*SHORT)
    assert str(edit.row["content"]) not in two.here.text()
    retried = [row["content"] for record in two.here.steps if record.kind == "retry" for row in record.edits]
    assert retried
    assert edit.row["content"] not in retried
    whole(two.here, two.there)


def both_from_one(two: Two) -> None:
    """Here and there stand on one trained branch."""
    two.there.again("train.num_epochs=1")
    two.send()
    two.here.git("update-ref", BRANCH, "origin/skill/topics")
    two.here.again("train.seed=7", "train.num_epochs=1")
    two.there.again("train.seed=5", "train.num_epochs=1")


def test_what_was_taken_out_without_the_gate_is_taken_out_of_theirs_as_well(two: Two) -> None:
    two.there.again()
    two.send()
    for pattern in ("refs/skillgit/*", "refs/tags/*"):
        two.here.git("fetch", "-q", "origin", f"{pattern}:{pattern}")
    two.here.git("update-ref", BRANCH, "origin/skill/topics")
    edit = right(two.here)[0]
    two.there.again("train.seed=5", "train.num_epochs=1")
    two.here.call("revert", "topics", edit.commit, "--no-gate")
    two.here.git("push", "-q", "origin", ":refs/skillgit/best/topics")
    two.there.git("push", "-q", "origin", "skill/topics")
    two.here.git("fetch", "-q", "origin")
    assert str(edit.row["content"]) in two.here.text("origin/skill/topics")
    two.here.again(*SHORT)
    forced = next(record for record in two.here.steps if record.kind == "retry" and record.decision == "forced")
    score = share(two.here.world, two.here.git("cat-file", "blob", forced.document) + "\n")
    assert forced.score == f"{score.numerator}/{score.denominator}"
    assert str(edit.row["content"]) not in two.here.text()
    assert str(edit.row["content"]) not in two.here.text(BEST_REF)
    whole(two.here, two.there)


def test_a_kill_at_any_moment_loses_nothing_that_is_owed(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.send()
    owed = len([record for record in two.here.steps if record.accepted])
    mine = two.here.text()
    killer = Killer(two.here.root, two.here.server.env())
    train = ("train", "topics", "--set", "topics.train.num_epochs=1")
    for plan, after_s in (("committed 0 refs/heads/skill/", None), ("", 1.6), ("prepared 1 refs/skillgit/runs/", None)):
        killer.start("train", "topics", plan=plan, after_s=after_s)
    ended = killer.start("train", "topics")
    assert ended.code == 0, ended.err
    assert train
    retried = [r for journal in training.journals(two.here.root) for r in journal if r.kind == "retry"]
    told = ended.err.count("is not tried again")
    assert len(retried) + told >= owed
    assert len({tuple(row["content"] for row in r.edits) for r in retried}) == len(retried)
    world = two.here.world
    rules = {world.rule(t) for t in world.codes} & set(mine.splitlines())
    assert rules <= set(two.here.text().splitlines())
    killer.check_whole()
    whole(two.here, two.there)


def interrupt_behind_the_first(hand: Hand) -> None:
    """Training ends as soon as one of those that are owed is in the journal."""
    with mock.patch("skillgit.train.carry.rejoin.bring_in", _once), pytest.raises(KeyboardInterrupt):
        hand.again(*SHORT)
    assert len([record for record in hand.steps if record.kind == "retry"]) == 1


async def _once(run: Run, make: Make) -> StepRecord:
    await bring_in(run, make)
    raise KeyboardInterrupt


def test_a_person_who_moves_the_branch_in_between_loses_nothing(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.send()
    owed = len([record for record in two.here.steps if record.accepted])
    interrupt_behind_the_first(two.here)
    two.here.commit_on("skill/topics", {DOCUMENT: two.here.text().replace("# Tickets", "# Tickets of ours")})
    two.here.again()
    assert len([r for r in two.here.steps if r.kind == "retry"]) == owed
    assert "# Tickets of ours" in two.here.text()
    whole(two.here, two.there)


def test_a_fresh_run_still_tries_what_is_owed(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.send()
    owed = [record for record in two.here.steps if record.accepted]
    assert len(owed) > 1
    interrupt_behind_the_first(two.here)
    two.here.call("train", "topics", "--fresh")
    retried = [r for journal in training.journals(two.here.root) for r in journal if r.kind == "retry"]
    assert len(retried) == len(owed)


def test_two_clones_that_join_each_other_in_turn_and_a_third_end_with_all_rules(two: Two, tmp_path: Path) -> None:
    third = another(two.here, tmp_path, "third")
    world = two.here.world
    found: set[str] = set()
    for turn, hand in enumerate((two.here, two.there, third, two.here, two.there)):
        hand.git("fetch", "-q", "origin")
        hand.again(f"train.seed={turn + 3}", "train.num_epochs=1")
        right_now = {world.rule(topic) for topic in world.codes} & set(hand.text().splitlines())
        found |= right_now
        assert found <= set(hand.text().splitlines()), f"turn {turn} lost a rule"
        hand.git("push", "-q", "origin", "skill/topics")

    whole(two.there, two.here, third)


def test_trainings_that_nobody_fetched_in_between_end_with_all_rules(two: Two, tmp_path: Path) -> None:
    third = another(two.here, tmp_path, "third")
    world = two.here.world
    hands = (two.here, two.there, third)
    for turn, hand in enumerate(hands):
        hand.again(f"train.seed={turn + 3}", "train.num_epochs=1")
    every = {world.rule(t) for t in world.codes} & {line for hand in hands for line in hand.text().splitlines()}
    two.here.git("push", "-q", "origin", "skill/topics")
    for turn, hand in enumerate((two.there, third)):
        hand.git("fetch", "-q", "origin")
        hand.again(f"train.seed={turn + 20}", "train.num_epochs=1")
        hand.git("push", "-q", "origin", "skill/topics")
    assert every <= set(third.text().splitlines())
    whole(third, two.here, two.there)


def test_a_remote_branch_that_was_set_back_moves_nothing(two: Two) -> None:
    two.here.again("train.num_epochs=1")
    two.here.git("push", "-q", "origin", "skill/topics")
    tip = two.here.git("rev-parse", BRANCH)
    two.here.git("push", "-q", "--force", "origin", "main:skill/topics")
    two.here.git("fetch", "-q", "origin")
    two.here.again(*SHORT)
    assert two.here.git("merge-base", tip, BRANCH) == tip
    assert not [record for record in two.here.steps if record.kind == "retry"]


def test_an_unrelated_branch_of_the_same_name_is_one_clear_line(two: Two) -> None:
    two.here.again("train.num_epochs=1")
    root = two.here.git("commit-tree", "-m", "Alien", two.here.git("rev-parse", "main^{tree}"))
    two.here.git("push", "-q", "origin", f"{root}:refs/heads/skill/topics")
    two.here.git("fetch", "-q", "origin")
    refs = two.here.refs()
    done = two.here.call("train", "topics", code=2)
    assert "share no history" in done.last
    assert two.here.refs() == refs


def test_of_several_remotes_the_usual_one_counts(two: Two, tmp_path: Path) -> None:
    two.here.again("train.num_epochs=1")
    repos.git(tmp_path, "init", "-q", "--bare", "-b", "main", "fork")
    two.here.git("remote", "add", "fork", str(tmp_path / "fork"))
    two.there.again("train.seed=5", "train.num_epochs=1")
    two.there.git("push", "-q", str(tmp_path / "fork"), "skill/topics")
    two.here.git("fetch", "-q", "fork")
    two.here.again(*SHORT)
    assert two.here.git("rev-list", "--min-parents=2", BRANCH) == ""
