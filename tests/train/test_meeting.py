"""Two clones train one skill: the branches are joined, and what was accepted here is gated again on theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from support import repos, training
from support.carrying import Hand, Two, two_clones
from support.training import BEST_REF, BRANCH, DOCUMENT, trailer
from support.truth import share

from skillgit.errors import InterruptedRunError
from skillgit.train.archive.journal import StepRecord
from skillgit.train.carry.change import Make, bring_in
from skillgit.train.run import Run


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    with two_clones(tmp_path, monkeypatch) as made:
        yield made


def rules(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith("- ")}


@pytest.mark.parametrize("journals", [True, False])
def test_a_branch_that_is_behind_goes_on_from_theirs(two: Two, journals: bool) -> None:
    two.there.again()
    two.send()
    if journals:
        two.here.git("fetch", "-q", "origin", "refs/skillgit/*:refs/skillgit/*")
    theirs = two.there.git("rev-parse", BRANCH)
    two.here.git("update-ref", BRANCH, two.there.accepted[0].commits[-1])
    two.here.again("train.seed=5", "train.num_epochs=1")
    assert any(f"goes on from origin/skill/topics at {theirs[:12]}" in note for note in two.here.watcher.notes)
    assert two.here.git("merge-base", theirs, BRANCH) == theirs
    score = share(two.here.world, two.there.text())
    assert two.here.steps[0].score == f"{score.numerator}/{score.denominator}"


def test_without_a_journal_branches_that_went_apart_are_for_people_to_merge(two: Two) -> None:
    two.there.again()
    two.send()
    two.here.git("update-ref", BRANCH, "main")
    two.here.commit_on("skill/topics", {DOCUMENT: two.here.text("main") + "\nOurs.\n"})
    refs = two.here.refs()
    assert "merge origin/skill/topics into skill/topics by hand" in two.here.call("train", "topics", code=2).last
    assert two.here.refs() == refs


def run_of(hand: Hand) -> str:
    return max(hand.refs("refs/skillgit/runs")).rpartition("/")[2]


def test_branches_that_went_on_by_themselves_are_joined_and_both_sides_rules_are_kept(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.send()
    ours, theirs = two.here.git("rev-parse", BRANCH), two.there.git("rev-parse", BRANCH)
    mine, other = two.here.text(), two.there.text()
    two.here.again("train.seed=9", "train.num_epochs=1")
    join = two.here.git("rev-list", "--min-parents=2", "--max-count=1", BRANCH)
    assert two.here.git("log", "-1", "--format=%P", join) == f"{ours} {theirs}"
    assert two.here.text(join) == other
    assert trailer(two.here.root, join, "Skill-Kind") == "merge"
    assert trailer(two.here.root, join, "Skill-Rejoin") == ours
    retried = [record for record in two.here.steps if record.kind == "retry"]
    assert len(retried) == len([r for r in training.journals(two.here.root)[-2] if r.accepted])
    for record in retried:
        measured = share(two.here.world, two.here.git("cat-file", "blob", record.document) + "\n")
        if record.maximum is None:
            assert record.score == f"{measured.numerator}/{measured.denominator}"
    now = rules(two.here.text())
    right = {two.here.world.rule(topic) for topic in two.here.world.codes}
    assert (rules(mine) | rules(other)) & right <= now
    assert share(two.here.world, two.here.text()) >= max(share(two.here.world, mine), share(two.here.world, other))
    # The remote can be moved forward to it.
    two.here.git("push", "-q", "origin", "skill/topics")
    repos.fsck(two.here.root)


def test_the_best_document_is_the_joined_one_where_it_is_as_good(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.send()
    two.here.again("train.seed=9", "train.num_epochs=1")
    best = two.here.git("rev-parse", BEST_REF)
    join = two.here.git("rev-list", "--min-parents=2", "--max-count=1", BRANCH)
    assert two.here.git("merge-base", join, best) == join
    two.here.again("train.seed=11", "train.num_epochs=1")
    assert not any("bring back" in line for line in two.here.git("log", "--format=%s", BRANCH).splitlines())


def test_an_interrupted_run_goes_on_with_what_is_still_owed(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.send()
    owed = len([r for r in training.journals(two.here.root)[-1] if r.accepted])
    assert owed > 1
    interrupted = mock.patch("skillgit.train.carry.rejoin.bring_in", once_then_interrupt(1))
    with interrupted, pytest.raises(KeyboardInterrupt):
        two.here.again("train.seed=9", "train.num_epochs=1")
    assert len([r for r in two.here.steps if r.kind == "retry"]) == 1
    two.here.again()
    assert len([r for r in two.here.steps if r.kind == "retry"]) == owed


def once_then_interrupt(times: int) -> Callable[..., Awaitable[StepRecord]]:
    """`bring_in`, after which the process ends."""
    left = times

    async def bring(run: Run, make: Make) -> StepRecord:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return await bring_in(run, make)

    return bring


def test_people_s_own_commits_are_kept_without_a_gate(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.here.commit_on("skill/topics", {DOCUMENT: two.here.text().replace("# Tickets", "# Tickets of the house")})
    two.send()
    two.here.again("train.seed=9", "train.num_epochs=1")
    join = two.here.git("rev-list", "--min-parents=2", "--max-count=1", BRANCH)
    assert two.here.text(join) == two.there.text().replace("# Tickets", "# Tickets of the house")
    assert "# Tickets of the house" in two.here.text()


def test_people_s_commits_in_the_same_lines_are_a_conflict_and_nothing_moves(two: Two) -> None:
    two.here.again("train.seed=7")
    two.there.again()
    two.here.commit_on("skill/topics", {DOCUMENT: two.here.text().replace("# Tickets", "# Ours")})
    two.there.commit_on("skill/topics", {DOCUMENT: two.there.text().replace("# Tickets", "# Theirs")})
    two.send()
    refs = two.here.refs()
    done = two.here.call("train", "topics", code=2)
    assert "origin/skill/topics changed the lines that" in done.last
    assert two.here.refs() == refs


def test_an_unfinished_run_is_its_clone_s(two: Two) -> None:
    async def part(hand: Hand) -> None:
        with pytest.raises(InterruptedRunError):
            await hand.train(entries=1)

    asyncio.run(part(two.here))
    own = run_of(two.here)
    asyncio.run(part(two.there))
    two.send()
    two.here.git("fetch", "-q", "origin", "refs/skillgit/runs/*:refs/skillgit/runs/*")
    assert run_of(two.here) != own  # theirs is newer, and unfinished as well
    foreign = two.here.refs("refs/skillgit/runs")[f"refs/skillgit/runs/topics/{run_of(two.here)}"]
    two.here.again()
    refs = two.here.refs("refs/skillgit/runs")
    assert refs[f"refs/skillgit/runs/topics/{run_of(two.here)}"] == foreign
    assert two.here.git("log", "-1", "--format=%s", f"refs/skillgit/runs/topics/{own}").startswith("skillgit journal")


def follow(two: Two) -> dict[str, str]:
    """This clone gets all of the other's refs, by plain git, and gives the journals."""
    two.send()
    for pattern in ("refs/skillgit/*", "refs/tags/*"):
        two.here.git("fetch", "-q", "origin", f"{pattern}:{pattern}")
    two.here.git("update-ref", BRANCH, "origin/skill/topics")
    return two.here.refs("refs/skillgit/runs")


def test_nobody_appends_to_an_unfinished_run_of_another_clone(two: Two) -> None:
    async def part(hand: Hand) -> None:
        with pytest.raises(InterruptedRunError):
            await hand.train(entries=1)

    asyncio.run(part(two.there))
    theirs = follow(two)
    two.here.again()
    assert any("is another clone's" in note for note in two.here.watcher.notes)
    assert theirs.items() < two.here.refs("refs/skillgit/runs").items()
    # Their journal's scores are used: the baseline costs no call.
    assert two.here.steps[0].cost["calls"] == 0
    assert two.here.call("verify", "topics").code == 0


@pytest.mark.parametrize("gated", [True, False])
def test_a_change_by_hand_on_another_clone_s_run_begins_a_run_of_its_own(two: Two, gated: bool) -> None:
    two.there.again()
    theirs = follow(two)
    edit, before = two.here.edits()[2], two.here.text()
    two.here.call("revert", "topics", edit.commit, *([] if gated else ["--no-gate"]), code=2 if gated else 0)
    after = two.here.refs("refs/skillgit/runs")
    assert theirs.items() < after.items()
    assert len(after) == 2
    first, change = two.here.steps
    score = share(two.here.world, before)
    assert (first.kind, first.score) == ("baseline", f"{score.numerator}/{score.denominator}")
    assert (change.kind, change.decision) == ("revert", "reject" if gated else "forced")
    assert two.here.call("verify", "topics").code == 0
    # Both can be pushed, and the other clone goes on with it.
    two.here.call("push")
    two.there.call("fetch")
    two.there.again("train.seed=5", "train.num_epochs=1")
    two.there.call("push")
    assert two.there.call("verify", "topics").code == 0


def test_the_other_clone_s_best_document_is_compared_where_trainings_are_joined(two: Two) -> None:
    two.there.again()
    better = two.there.text()
    # A person there makes it worse: their best is not their tip, and ours is worse than their best.
    two.there.commit_on("skill/topics", {DOCUMENT: two.there.text("main")})
    two.here.again("train.seed=7", "optimizer.learning_rate=1", "train.num_epochs=1")
    theirs, ours = share(two.here.world, better), share(two.here.world, two.here.text(BEST_REF))
    assert ours < theirs
    two.there.call("push")
    two.here.call("fetch")
    two.here.again("train.seed=9", "train.num_epochs=1")
    assert two.here.steps[0].best == f"{theirs.numerator}/{theirs.denominator}"
    assert share(two.here.world, two.here.text(BEST_REF)) >= theirs
    assert two.here.call("verify", "topics").code == 0


def test_after_clone_and_fetch_doctor_is_content_and_a_change_can_be_looked_at(two: Two) -> None:
    two.there.again()
    edit = two.there.edits()[2]
    two.there.call("push")
    two.here.call("fetch")
    assert BRANCH not in two.here.refs()
    assert "`skillgit train topics` starts from it" in two.here.call("doctor", "--offline").out
    shown = two.here.call("revert", "topics", edit.commit, "--no-gate", "--dry-run").out
    assert f"-{edit.row['content']}" in shown.splitlines()
    assert two.here.call("bisect", "topics", "--task", two.there.accepted[0].gained[0], "--no-measure").code == 0


def test_the_history_ends_with_the_run_that_went_on_last_whatever_its_id(two: Two) -> None:
    async def part(hand: Hand) -> None:
        with pytest.raises(InterruptedRunError):
            await hand.train("train.seed=7", entries=1)

    asyncio.run(part(two.here))
    two.there.again()
    two.there.call("push")
    two.here.call("fetch")
    two.here.again()
    assert run_of(two.here) == run_of(two.there)  # theirs has the newer id, ours went on from it
    status = two.here.json("status", "topics")[0]
    assert status["run"] != run_of(two.here)
    assert status["unmeasured_commits"] == 0
    assert two.here.call("doctor", "--offline").code == 0
    assert two.here.call("verify", "topics").code == 0


def test_changes_by_hand_are_named_by_their_candidate_s_number(two: Two) -> None:
    two.here.again()
    first, second = (two.here.edits()[number] for number in (0, 2))
    for edit in (first, second):
        two.here.call("revert", "topics", edit.commit, "--no-gate")
    numbers = [record.candidate for record in two.here.steps if record.kind == "revert"]
    assert len(set(numbers)) == 2
    step = two.here.last.step
    place = f"{step}-{numbers[0]:02d}"
    shown = two.here.call("revert", "topics", place, "--no-gate", "--dry-run").out
    assert [line for line in shown.splitlines() if line[:1] == "+"][1:] == [f"+{first.row['content']}"]
