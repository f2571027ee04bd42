"""Walking a journal by its commits alone: the same entries as reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import repos, training
from support.training import SKILL, Yard
from support.world import TopicWorld

from skillgit.errors import RefusedError
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.walking import walk

MakeYard = Callable[..., Yard]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], []) as made:
        yield made


async def test_entries_are_those_of_the_history(once: Yard) -> None:
    repo = Repository.open(once.root)
    for run, tip in history.runs(repo, SKILL):
        stops = list(walk(repo, run, tip))
        entries = list(history.entries(repo, tip))
        assert [stop.commit for stop in stops] == [commit for commit, _ in entries]
        assert [stop.record(repo) for stop in stops] == [record for _, record in entries]
        said = [(stop.step, stop.decision) for stop in stops]
        assert said == [(record.step, record.decision) for _, record in entries]
        for stop in stops:
            parents = once.git("rev-list", "--parents", "-n1", stop.commit).split()[1:]
            assert list(stop.keeps) == parents[1:]
            listed = once.git("ls-tree", stop.commit).splitlines()
            assert stop.files(repo) == {line.split("\t")[1]: line.split()[2] for line in listed}


async def test_a_shallow_clone_ends_where_its_history_does(once: Yard, tmp_path: Path) -> None:
    run, ref = next((ref.rsplit("/", 1)[1], ref) for ref in once.refs("refs/skillgit/runs/"))
    clone = repos.make_repo(tmp_path / "clone")
    repos.git(clone, "fetch", "-q", "--depth=2", once.root.as_uri(), f"{ref}:{ref}")
    repo = Repository.open(clone)
    tip = repos.refs(clone, ref)[ref]
    assert [stop.commit for stop in walk(repo, run, tip)] == repos.git(clone, "rev-list", "--first-parent", ref).split()


async def test_an_entry_without_a_record(yard: MakeYard) -> None:
    here = yard(TopicWorld(2, 1))
    tree = here.git("mktree", input="")
    commit = here.git("commit-tree", tree, "-m", f"skillgit journal: {SKILL} step 3 accept")
    (stop,) = walk(Repository.open(here.root), "r", commit)
    assert (stop.step, stop.decision, stop.files(Repository.open(here.root))) == (3, "accept", {})
    with pytest.raises(RefusedError, match="is not readable"):
        stop.record(Repository.open(here.root))
