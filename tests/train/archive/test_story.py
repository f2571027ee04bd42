"""What commands tell of a skill, read from refs and journals alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import repos, training
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.config import parse
from skillgit.store.repository import Repository
from skillgit.train.archive import story
from skillgit.train.archive.story import Entry, Status

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


def status(here: Yard) -> Status:
    settings = parse((here.root / "skillgit.yaml").read_text()).skill(SKILL)
    return story.status(Repository.open(here.root), SKILL, settings)


def steps(here: Yard) -> list[Entry]:
    return list(story.steps(Repository.open(here.root), SKILL))


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=CONFIG) as made:
        assert {"accept-best", "reject"} <= {step.decision for step in made.steps}
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def test_nothing_trained(yard: MakeYard) -> None:
    made = yard(TopicWorld(4, 1), config=CONFIG)
    found = status(made)
    assert (found.branch, found.best, found.best_score, found.run, found.running) == (None, None, None, None, False)
    assert (found.base, found.base_commit) == ("main", made.git("rev-parse", "main"))
    assert not found.merged
    assert steps(made) == []
    json.dumps(found.to_json())


async def test_after_a_run(here: Yard) -> None:
    found, journal = status(here), training.journal(here.root)
    assert found.branch == here.refs(BRANCH)[BRANCH]
    assert found.best == here.refs(BEST_REF)[BEST_REF]
    assert found.best_score == Fraction(str(here.steps[-1].best))
    assert (found.run, found.run_step, found.run_steps) == (journal.info.run, 4, 4)
    assert (found.running, found.run_reason) == (False, "all epochs are done")
    decisions = [step.decision for step in here.steps]
    assert found.accepted == decisions.count("accept-best")
    both = [step.decision for run in training.journals(here.root) for step in run]
    assert found.rejected == both.count("reject") == len(here.refs("refs/skillgit/rejected/"))
    assert (found.merged, found.unmeasured_base, found.unmeasured_commits) == (False, False, 0)
    assert found.to_json()["best_score"] == round(float(Fraction(str(here.steps[-1].best))), 6)


async def test_commits_that_nobody_has_measured(here: Yard) -> None:
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT})
    here.commit_on(BRANCH, {"README.md": "x\n"})
    assert status(here).unmeasured_commits == 2


@pytest.mark.parametrize("into", ["main", None])
async def test_the_base(here: Yard, into: str | None) -> None:
    """Without `merge.into` it is the checked-out branch."""
    (here.root / "skillgit.yaml").write_text(training.configuration(into=into))
    best = here.text(BEST_REF)
    repos.commit(here.root, {DOCUMENT: best, BEST: best}, "Merged by hand")
    assert (status(here).base, status(here).merged, status(here).unmeasured_base) == ("main", True, False)
    repos.commit(here.root, {DOCUMENT: best + "- more\n"}, "Edited")
    assert (status(here).merged, status(here).unmeasured_base) == (False, True)


async def test_a_detached_head(here: Yard) -> None:
    (here.root / "skillgit.yaml").write_text(training.configuration(into=None))
    here.git("checkout", "-q", "--detach")
    assert (status(here).base, status(here).base_commit) == ("HEAD", here.git("rev-parse", "HEAD"))


async def test_steps_are_newest_first_over_all_runs(here: Yard) -> None:
    found = steps(here)
    assert [entry.record.step for entry in found] == [4, 3, 2, 1, 0, 2, 1, 0]
    assert found[0].run > found[-1].run
    for entry in found:
        shown = entry.to_json()
        json.dumps(shown)
        assert shown["decision"] == entry.record.decision
        assert entry.commit == (entry.record.commits[-1] if entry.record.commits else None)
        if entry.record.decision == "accept-best":
            assert entry.delta is not None
            assert entry.delta > 0
            assert shown["score"] == round(float(Fraction(str(entry.record.score))), 6)
        if entry.record.maximum is not None:
            assert (shown["score"], entry.delta) == (None, None)
            assert shown["score_max"] is not None


async def test_the_rejected_buffer(here: Yard) -> None:
    found = story.rejected(Repository.open(here.root), SKILL)
    assert {item.ref: item.commit for item in found} == here.refs("refs/skillgit/rejected/")
    assert [(item.run, item.step) for item in found] == sorted(((i.run, i.step) for i in found), reverse=True)
    for item in found:
        assert item.entry is not None
        assert item.entry.commit == item.commit
        assert item.entry.record.decision == "reject"


async def test_rejected_refs_whose_journal_is_not_here(here: Yard) -> None:
    """Fetched from somebody else, or a name that we would not write."""
    run = "01k9x0c5v2m8q4t7b3n6r1d9sf"
    base = here.git("rev-parse", "main")
    here.git("update-ref", f"refs/skillgit/rejected/{SKILL}/{run}/00007-01", base)
    here.git("update-ref", f"refs/skillgit/rejected/{SKILL}/{run}/seven", base)
    found = {item.run: item for item in story.rejected(Repository.open(here.root), SKILL) if item.entry is None}
    assert list(found) == [run]
    assert found[run].step == 7
