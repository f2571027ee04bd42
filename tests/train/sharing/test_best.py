"""Which best came later, by journals written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos, sharing
from support.sharing import LATER, RUN, Hand

from skillgit.store.repository import Repository
from skillgit.train.sharing.best import superseded


@pytest.fixture
def made(tmp_path: Path) -> Hand:
    return Hand(repos.make_repo(tmp_path / "r", {"a": "1"}))


def later(made: Hand, old: str, new: str) -> bool:
    repo = Repository.open(made.root)
    try:
        return superseded(repo, made.name, repos.refs(made.root, "refs/skillgit/runs"), old, new)
    finally:
        repo.close()


def test_move_by_move_and_over_runs(made: Hand) -> None:
    a, b, c, d = (made.commit(text) for text in "abcd")
    best = made.refs.best
    made.entry(0, [(best, None, a)])
    made.entry(1, [(best, a, b)])
    made.entry(2)
    assert (later(made, a, b), later(made, b, a), later(made, a, a)) == (True, False, False)
    made.entry(0, [(best, b, c)], run=LATER)
    made.entry(1, [(best, c, d)], run=LATER)
    assert [later(made, old, d) for old in (a, b, c)] == [True, True, True]
    assert [later(made, d, new) for new in (a, b, c)] == [False, False, False]
    assert not later(made, a, b), "b is not the last one any more"
    assert not later(made, made.commit("unseen"), d)


def test_back_to_an_older_one(made: Hand) -> None:
    a, b = (made.commit(text) for text in "ab")
    best = made.refs.best
    made.entry(1, [(best, None, a)])
    made.entry(2, [(best, a, b)])
    made.entry(3, [(best, b, a)])
    assert (later(made, b, a), later(made, a, b)) == (True, False)


def test_two_machines_that_did_not_see_each_other(made: Hand) -> None:
    a, b, c = (made.commit(text) for text in "abc")
    best = made.refs.best
    made.entry(1, [(best, None, a)])
    made.entry(2, [(best, a, b)])
    made.entry(1, [(best, a, c)], run=LATER)
    assert (later(made, a, c), later(made, b, c), later(made, c, b)) == (True, False, False)


def test_other_refs_and_other_skills_do_not_count(made: Hand) -> None:
    a, b = (made.commit(text) for text in "ab")
    made.entry(1, [(made.refs.branch, a, b), ("refs/skillgit/best/other", a, b)])
    other = Hand(made.root, "other")
    other.entry(1, [(made.refs.best, a, b)])
    assert not later(made, a, b)
    assert not later(Hand(made.root, "nobody"), a, b)


def test_a_journal_that_cannot_be_read_is_no_proof(made: Hand) -> None:
    a, b = (made.commit(text) for text in "ab")
    made.entry(1, [(made.refs.best, a, b)])
    tree = made.git("mktree", input="")
    made.set(
        made.refs.journal(RUN),
        made.git("commit-tree", tree, "-m", "skillgit journal: topics step 2 none", "-p", made.refs.journal(RUN)),
    )
    assert not later(made, a, b)
    repo = Repository.open(made.root)
    assert not superseded(repo, made.name, {made.refs.journal(RUN): "1" * 40}, a, b), "nor one that is not here"
    repo.close()
    sharing.travelling(made.root)
