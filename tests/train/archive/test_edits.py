"""Which accepted edits a person means by a name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import training
from support.carrying import Hand
from support.training import BRANCH, SKILL, Yard

from skillgit.errors import InterruptedRunError, UsageError
from skillgit.store.repository import Repository
from skillgit.train.archive import edits
from skillgit.train.archive.edits import RecordedEdit


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """Steps 2 and 4 were accepted, with three and two edits."""
    with training.trained_once(tmp_path_factory.mktemp("once") / "repo", training.mixed(), ()) as made:
        yield made


@pytest.fixture
def hand(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand.on(once, tmp_path / "repo", monkeypatch)


def named(hand: Hand, text: str) -> list[RecordedEdit]:
    repo = Repository.open(hand.root)
    try:
        return edits.named(repo, SKILL, text)
    finally:
        repo.close()


def test_a_step_is_all_of_its_edits_and_a_number_one_of_them(hand: Hand) -> None:
    two, four = hand.accepted
    run = hand.edits()[0].run
    for text, commits in (
        ("2", two.commits),
        ("002", two.commits),
        ("4.2", four.commits[1:]),
        (f"{run}/4", four.commits),
        (f"{run[:12]}/4.1", four.commits[:1]),
        (two.commits[1][:12], two.commits[1:2]),
        (BRANCH, four.commits[1:]),
    ):
        assert [edit.commit for edit in named(hand, text)] == commits, text


def test_each_edit_is_the_change_of_its_commit(hand: Hand) -> None:
    for edit in hand.edits():
        shown = hand.git("show", "--format=", "-U0", edit.commit).splitlines()
        assert f"+{edit.edit.content}" in shown
        assert edit.place == f"{edit.step}.{edit.number}"


NOTHING = ("1", "3", "2.4", "2.0", "nobody/2", "0", "", "main", "abc", "-x", "2.1.1", "²", "9" * 12)


@pytest.mark.parametrize("text", NOTHING)
def test_what_names_no_accepted_edit_is_one_clear_line(hand: Hand, text: str) -> None:
    with pytest.raises(UsageError, match="skillgit log topics"):
        named(hand, text)


def test_changes_by_hand_do_not_go_by_their_step_s_number(hand: Hand) -> None:
    """They stand in the journal beside the last step."""
    before = [edit.commit for edit in named(hand, "4")]
    hand.call("revert", SKILL, "4.2", "--no-gate")
    (taken,) = hand.last.commits
    assert [edit.commit for edit in named(hand, "4")] == before
    assert [edit.commit for edit in named(hand, "4.1")] == before[:1]
    assert [(edit.commit, edit.place) for edit in named(hand, taken)] == [(taken, "4-04")]


def test_where_the_step_brought_nothing_its_number_means_what_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with training.yard(tmp_path / "own", monkeypatch, training.mixed()) as own:
        with pytest.raises(InterruptedRunError):
            asyncio.run(own.train(entries=3))
        hand = Hand(own.root, own.world, own.server)
        assert (hand.last.step, hand.last.decision) == (3, "reject")
        hand.call("rollback", SKILL, "--to", "main")
        assert [edit.commit for edit in named(hand, "3")] == hand.last.commits


def test_a_record_whose_rows_are_not_its_commits_names_nothing(hand: Hand) -> None:
    (edit, *_) = hand.edits()
    edit.record.edits.append({**edit.row})
    assert edits.of_record(edit.run, edit.record) == []


def test_an_edit_is_found_by_its_commit_accepted_or_not(hand: Hand) -> None:
    repo = Repository.open(hand.root)
    try:
        for record in hand.steps:
            for number, commit in enumerate(record.commits, start=1):
                found = edits.by_commit(repo, SKILL, commit)
                assert found is not None
                assert (found.step, found.number) == (record.step, number)
        assert edits.by_commit(repo, SKILL, hand.git("rev-parse", "main")) is None
    finally:
        repo.close()
