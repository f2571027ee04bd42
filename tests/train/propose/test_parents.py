"""Pareto parents: what a step starts from, and merges of two documents that are good at different tasks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import repos

from skillgit.store.repository import Repository
from skillgit.train.archive.documents import Placed
from skillgit.train.propose import parents
from skillgit.train.scoring.scores import HARD, Measurement, Trial

ZERO, ONE = Fraction(0), Fraction(1)
START = "# Rules\n\n- one: ?\n\nSome words between.\n\n- two: ?\n"
LEFT = START.replace("one: ?", "one: K1")
RIGHT = START.replace("two: ?", "two: K2")
BOTH = LEFT.replace("two: ?", "two: K2")


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    opened = Repository.open(repos.make_repo(tmp_path / "r"))
    yield opened
    opened.close()


def solved(*tasks: str) -> Measurement:
    return {task: (Trial(ONE, ONE) if task in tasks else Trial(ZERO, ZERO),) for task in ("a", "b", "c")}


def run_of(repo: Repository, monkeypatch: pytest.MonkeyPatch, **documents: tuple[str, str, Measurement]) -> Any:
    """A run whose pool has these documents: text, name of the one that it came from, and what it solves."""
    blobs = {name: repo.objects.write_blob(text.encode()) for name, (text, _, _) in documents.items()}
    came_from = {blobs[name]: blobs[came] for name, (_, came, _) in documents.items() if came}
    monkeypatch.setattr(parents, "_came_from", lambda _: came_from)
    tip = list(blobs)[-1]
    return SimpleNamespace(
        session=SimpleNamespace(
            repo=repo, metric=HARD, settings=SimpleNamespace(train=SimpleNamespace(parent="pareto", seed=1))
        ),
        state=SimpleNamespace(pool=list(blobs.values()), incumbent=blobs[tip], merged=[]),
        measured={blobs[name]: measured for name, (_, _, measured) in documents.items()},
        document=lambda: Placed(documents[tip][0], blobs[tip], 0o100644),
        blobs=blobs,
    )


def test_two_that_are_good_at_different_tasks_become_one(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(
        repo,
        monkeypatch,
        start=(START, "", solved()),
        left=(LEFT, "start", solved("a")),
        right=(RIGHT, "start", solved("b")),
    )
    found = parents.merged(run)
    assert found is not None
    built, pair = found
    assert built.document == BOTH
    assert sorted(pair) == sorted([run.blobs["left"], run.blobs["right"]])
    assert [outcome.edit.op for outcome in built.applied] == ["merge"]
    # Once is enough.
    run.state.merged = ["+".join(pair)]
    assert parents.merged(run) is None


def test_one_that_came_of_the_other_is_no_merge(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(repo, monkeypatch, left=(LEFT, "", solved("a")), right=(BOTH, "left", solved("b")))
    assert parents.merged(run) is None


def test_changes_of_the_same_line_are_no_merge(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    other = START.replace("one: ?", "one: K9")
    run = run_of(
        repo,
        monkeypatch,
        start=(START, "", solved()),
        left=(LEFT, "start", solved("a")),
        right=(other, "start", solved("b")),
    )
    assert parents.merged(run) is None


def test_without_the_option_the_tip_is_the_parent(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(repo, monkeypatch, left=(LEFT, "", solved("a", "b", "c")), right=(RIGHT, "left", solved("b")))
    assert {parents.parent_of(run, step).text for step in range(1, 9)} == {LEFT}  # it alone is best on any task
    run.session.settings.train.parent = "tip"
    assert parents.parent_of(run, 1).text == RIGHT
    assert parents.merged(run) is None


def test_the_nearest_common_document() -> None:
    came_from = {"b": "a", "c": "b", "d": "b", "e": "a"}
    assert parents.common(came_from, "c", "d") == "b"
    assert parents.common(came_from, "c", "e") == "a"
    assert parents.common(came_from, "c", "b") == "b"
    assert parents.common(came_from, "c", "x") is None
