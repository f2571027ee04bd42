"""Two machines that train one skill, really; what each document does is reckoned by the world."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from support import cli, repos, sharing, training
from support.server import serve
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL
from support.world import TopicWorld

from skillgit.errors import InterruptedRunError
from skillgit.store.repository import Repository
from skillgit.train.sharing.best import scored_higher


@dataclass
class Machine:
    root: Path
    world: TopicWorld

    def train(self, *overrides: str, entries: int | None = None) -> training.Watcher:
        watcher = training.Watcher()
        asyncio.run(training.run(self.root, watcher, overrides=overrides, entries=entries))
        return watcher

    def call(self, *arguments: str, code: int = 0) -> cli.Done:
        done = cli.call(self.root, *arguments)
        assert done.code == code, done.out + done.err
        return done

    def git(self, *arguments: str) -> str:
        return repos.git(self.root, *arguments)

    def score(self, rev: str) -> Fraction:
        """The share of val tasks that a revision's document answers."""
        text = training.text_at(self.root, rev, DOCUMENT)
        rows = self.world.tasks["val"]
        return Fraction(sum(self.world.target(text, row["input"]) == row["answer"] for row in rows), len(rows))


@dataclass
class Two:
    first: Machine
    second: Machine
    remote: Path


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, TopicWorld, dict[str, str]]]:
    """A skill after one epoch; the server runs as long as the module's tests."""
    world = training.mixed()
    root = tmp_path_factory.mktemp("start") / "a"
    with pytest.MonkeyPatch.context() as patch:
        repos.plain_environment(patch)
        training.make(root, world)
        with serve(world) as server:
            training.point_at(patch, server.env())
            asyncio.run(training.run(root, overrides=("train.num_epochs=1",)))
            yield root, world, server.env()


@pytest.fixture
def two(start: tuple[Path, TopicWorld, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    """The first has pushed, the second has fetched."""
    root, world, env = start
    training.point_at(monkeypatch, env)
    first = Machine(shutil.copytree(root, tmp_path / "a", symlinks=True), world)
    remote = sharing.bare(tmp_path / "r.git")
    sharing.share(first.root, remote)
    first.call("push")
    second = Machine(sharing.clone(remote, tmp_path / "b"), world)
    second.call("fetch")
    return Two(first, second, remote)


def test_the_second_trains_on_from_where_the_first_was(two: Two) -> None:
    tip = two.first.git("rev-parse", BRANCH)
    watcher = two.second.train("train.seed=7")
    assert "training starts from origin/skill/topics" in watcher.notes
    assert two.second.git("merge-base", tip, BRANCH) == tip
    assert len(training.journals(two.second.root)) == 2
    two.second.call("push")
    assert sharing.travelling(two.remote) == sharing.travelling(two.second.root)
    two.first.call("fetch")
    assert sharing.travelling(two.first.root) == sharing.travelling(two.second.root)
    for machine in (two.first, two.second):
        machine.call("verify", SKILL)
        repos.fsck(machine.root)


def test_an_unfinished_run_is_gone_on_with_elsewhere(two: Two) -> None:
    with pytest.raises(InterruptedRunError):
        two.first.train("train.seed=5", entries=1)
    two.first.call("push")
    two.second.call("fetch")
    assert training.journal(two.second.root).state.status == "running"
    two.second.train("train.seed=5")
    assert training.journal(two.second.root).state.status == "finished"
    two.second.call("push")
    two.first.call("fetch")
    assert sharing.travelling(two.first.root) == sharing.travelling(two.second.root)
    two.first.call("verify", SKILL)


def test_both_train_and_the_better_best_stays_on_the_remote(two: Two) -> None:
    two.first.train("train.seed=5")
    two.second.train("train.seed=7")
    bests = [machine.score(BEST_REF) for machine in (two.first, two.second)]
    two.second.call("push")
    before = sharing.travelling(two.remote)
    refused = two.first.call("push", code=2)
    assert "run `skillgit fetch origin`, then `skillgit train topics`" in refused.last
    assert sharing.travelling(two.remote) == before
    fetched = two.first.call("fetch")
    assert "`skillgit train topics` re-bases your steps onto it and gates them again" in fetched.err
    two.first.train("train.seed=9")
    two.first.call("push")
    two.second.call("fetch")
    assert two.second.git("rev-parse", BRANCH) == two.first.git("rev-parse", BRANCH)
    held = Machine(two.remote, two.first.world).score(BEST_REF)
    assert held >= max(bests), "the remote's best never gets worse"
    for machine in (two.first, two.second):
        machine.call("verify", SKILL)
        repos.fsck(machine.root)


def test_which_of_two_scored_higher(two: Two) -> None:
    """Every pair of documents that the journals measured whole, by the world's own reckoning."""
    two.second.train("train.seed=7")
    records = [r for run in training.journals(two.second.root) for r in run if r.score and r.commits and not r.maximum]
    commits = [record.commits[-1] for record in records]
    assert len({two.second.score(commit) for commit in commits}) > 1, "the world has documents of several scores"
    repo = Repository.open(two.second.root)
    for old in commits:
        for new in commits:
            higher = two.second.score(new) > two.second.score(old)
            assert scored_higher(repo, SKILL, old, new) == higher
    assert not scored_higher(repo, SKILL, two.second.git("rev-parse", f"{BRANCH}~0"), "1" * 40)
    assert not scored_higher(repo, "nobody", commits[0], commits[-1])
    repo.close()


def test_what_was_pruned_before_the_first_push_is_not_repaired_elsewhere(two: Two, tmp_path: Path) -> None:
    ref = next(iter(repos.refs(two.first.root, f"refs/skillgit/rejected/{SKILL}/")))
    run, step = ref.split("/")[-2:]
    two.first.call("rejected", "prune", SKILL, f"{run}/{step}")
    remote = sharing.bare(tmp_path / "new.git")
    two.first.git("remote", "set-url", "origin", str(remote))
    two.first.git("push", "-q", "origin", "main")
    two.first.call("push")
    assert ref not in repos.refs(remote)
    second = Machine(sharing.clone(remote, tmp_path / "c"), two.first.world)
    second.call("fetch")
    assert ref not in second.call("doctor", "--offline", "--repair").out
    second.call("push")
    assert ref not in repos.refs(second.root)
    assert ref not in repos.refs(remote)
