"""The rejected buffer's orders, and what its refs tell by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import repos, training
from support.training import DOCUMENT, SKILL, Yard

from skillgit.store.repository import Repository
from skillgit.train.archive import story
from skillgit.train.archive.buffer import FEW, NOTHING, Told, ordered, told
from skillgit.train.archive.story import Rejected, Steps

RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"


def item(number: int, reason: str | None = None) -> Rejected:
    record = story.StepRecord("step", number, 1, "reject", reason or "", "", "", commits=["c"])
    entry = None if reason is None else story.Entry(RUN, record)
    return Rejected(f"r{number}", "c", RUN, number, 1, lambda: entry)


def names(items: list[Rejected]) -> list[int]:
    return [one.step for one in items]


def test_orders() -> None:
    items = [item(6, "c"), item(5, "b"), item(4), item(3, "a"), item(2, "b"), item(1, "a")]
    tells = {
        "r6": Told("2026-01-02", maximum=Fraction(7, 10), before=Fraction(3, 4)),  # at most -1/20
        "r5": Told("2026-01-03", score=Fraction(1, 2), before=Fraction(3, 4)),  # -1/4
        "r4": Told("2026-01-04"),
        "r3": Told("2026-01-04", maximum=Fraction(3, 4), before=Fraction(3, 4)),  # 0: it could have drawn level
        "r2": Told("2026-01-01", score=Fraction(7, 10), before=Fraction(3, 4)),  # -1/20
        "r1": Told("", score=Fraction(4, 5), before=Fraction(3, 4)),  # above it, and refused by another rule
    }
    assert [tells[f"r{n}"].gap for n in (5, 4, 3, 2, 1)] == [
        *(Fraction(-1, 4), None, Fraction(0), Fraction(-1, 20), Fraction(1, 20))
    ]
    assert names(ordered(items, "step", tells)) == [6, 5, 4, 3, 2, 1]
    assert names(ordered(items, "close", tells)) == [1, 3, 2, 6, 5, 4]
    assert names(ordered(items, "day", tells)) == [4, 3, 5, 6, 2, 1]
    assert names(ordered(items, "reason", tells)) == [3, 1, 5, 2, 6, 4]
    assert names(ordered(items, "close", {})) == [6, 5, 4, 3, 2, 1]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    root = tmp_path_factory.mktemp("once") / "repo"
    config = training.configuration(train="{num_epochs: 2, batch_size: 8}")
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=config) as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def tells(root: Path, document: str = DOCUMENT) -> dict[str, Told]:
    repo = Repository.open(root)
    return told(repo, SKILL, document, Steps(repo, SKILL))


def test_refs_tell_what_the_journal_says(here: Yard) -> None:
    repo, found = Repository.open(here.root), tells(here.root)
    items = story.rejected(repo, SKILL)
    assert found.keys() == {one.ref for one in items}
    for one in items:
        assert one.entry is not None
        record = one.entry.record
        for mine, exact in (
            (found[one.ref].score, None if record.maximum else record.score),
            (found[one.ref].maximum, record.maximum),
            (found[one.ref].before, record.before),
        ):
            assert mine == (None if exact is None else Fraction(f"{float(Fraction(exact)):.6f}"))
        assert found[one.ref].day == here.git("log", "-1", "--format=%cd", "--date=format:%Y-%m-%d", one.ref)


def test_refs_of_another_document_tell_no_score(here: Yard) -> None:
    """Amended by plain git: same trailers, another text. And what is no candidate at all."""
    first = story.rejected(Repository.open(here.root), SKILL)[0]
    amended = here.commit_on(first.ref, {DOCUMENT: "x\n"}, here.git("log", "-1", "--format=%B", first.ref))
    other = f"refs/skillgit/rejected/{SKILL}/{RUN}"
    here.git("update-ref", f"{other}/00001-01", "main")
    here.git("update-ref", f"{other}/00002-01", here.git("rev-parse", f"main:{DOCUMENT}"))
    found = tells(here.root)
    assert here.git("rev-parse", first.ref) == amended
    assert (found[first.ref].gap, found[first.ref].score) == (None, None)
    assert found[first.ref].day
    assert found[f"{other}/00001-01"].gap is None
    assert found[f"{other}/00002-01"] == NOTHING


def test_a_document_that_was_moved_is_found_where_its_run_had_it(here: Yard) -> None:
    known = tells(here.root, "elsewhere/SKILL.md")
    assert known == tells(here.root)
    for ref in here.refs("refs/skillgit/runs/"):
        here.git("update-ref", "-d", ref)
    assert {one.gap for one in tells(here.root, "elsewhere/SKILL.md").values()} == {None}
    assert tells(here.root) == known


def test_only_some_are_asked_for(here: Yard) -> None:
    repo = Repository.open(here.root)
    known, items = Steps(repo, SKILL), story.rejected(repo, SKILL)
    everything = tells(here.root)
    for chosen in (items[:1], items[1:], items, []):
        found = told(repo, SKILL, DOCUMENT, known, chosen)
        assert found == {one.ref: everything[one.ref] for one in chosen}
    assert told(repo, SKILL, DOCUMENT, known, items * FEW) == everything


def test_no_refs(tmp_path: Path) -> None:
    assert tells(repos.make_repo(tmp_path / "r", {"a": "0"})) == {}
