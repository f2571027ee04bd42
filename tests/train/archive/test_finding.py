"""Which commit and which record a person means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import repos, training
from support.training import BRANCH, DOCUMENT, SKILL, Yard

from skillgit.config import parse
from skillgit.errors import UsageError
from skillgit.store.repository import Repository
from skillgit.train.archive.finding import Found, find, owner
from skillgit.train.archive.story import Steps


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    root = tmp_path_factory.mktemp("once") / "repo"
    config = training.configuration(train="{num_epochs: 2, batch_size: 8}")
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=config) as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def found(here: Yard, text: str) -> Found:
    repo = Repository.open(here.root)
    settings = parse((here.root / "skillgit.yaml").read_text()).skill(SKILL)
    return find(repo, SKILL, settings, Steps(repo, SKILL), text)


def test_a_step_is_of_the_newest_run_that_has_it(here: Yard) -> None:
    newest, oldest = here.refs("refs/skillgit/runs/"), min(here.refs("refs/skillgit/runs/")).rpartition("/")[2]
    for text in ("1", "01", "1-01", "1-1"):
        entry = found(here, text).entry
        assert entry is not None
        assert (entry.run, entry.record) == (max(newest).rpartition("/")[2], here.steps[1])
    entry = found(here, f"{oldest}/1").entry
    assert entry is not None
    assert entry.run == oldest


def test_a_commit_that_a_step_is_called_like(here: Yard) -> None:
    """A branch named 1 is meant by its whole ref; a step comes first."""
    here.git("branch", "1", "main")
    assert found(here, "1").entry is not None
    assert found(here, "1").entry == found(here, here.steps[1].commits[-1]).entry
    assert found(here, "refs/heads/1").entry is None
    here.git("branch", "77", "main")
    commit = found(here, "77").commit
    assert commit is not None
    assert commit.oid == here.git("rev-parse", "main")


def test_a_copy_of_a_candidate_is_not_that_candidate(here: Yard) -> None:
    message = here.git("log", "-1", "--format=%B", BRANCH)
    other = here.git("commit-tree", f"{BRANCH}^{{tree}}", "-p", BRANCH, "-m", message)
    assert (found(here, other).entry, found(here, other).exact) == (None, True)


def test_a_note_that_lies_names_no_entry(here: Yard) -> None:
    """Whoever can push can write notes: the entry has to be of that commit."""
    oid = here.commit_on(BRANCH, {DOCUMENT: "Mine.\n"})
    run = here.refs("refs/skillgit/runs/").popitem()[0].rpartition("/")[2]
    for fact in (f'{{"kind":"human","run":"{run}","step":1}}', '{"kind":"human","run":7,"step":"x"}', "[]"):
        here.git("notes", "--ref=skillgit", "add", "-f", "-m", fact, oid)
        assert found(here, oid).entry is None


@pytest.mark.parametrize("text", ["77", "1-02", "nobody/1", "no-such-branch", "main~99", ":/no such words"])
def test_nothing_is_found(here: Yard, text: str) -> None:
    with pytest.raises(UsageError, match="has no step or revision"):
        found(here, text)


def test_what_a_revision_says_of_its_skill(here: Yard) -> None:
    repo = Repository.open(here.root)
    run = max(here.refs("refs/skillgit/runs/"))
    assert [owner(repo, text) for text in (BRANCH, run, "main", "77", "")] == [SKILL, SKILL, None, None, None]


def test_a_tag_without_its_signature(here: Yard) -> None:
    message = "Ours\n\nMore.\n-----BEGIN PGP SIGNATURE-----\n\nxyz\n-----END PGP SIGNATURE-----\n"
    here.git("tag", "-a", "signed", "-m", message, BRANCH)
    assert found(here, "signed").tag == "Ours\n\nMore."
    here.git("tag", "plain", BRANCH)
    assert found(here, "plain").tag == ""
    assert repos.git(here.root, "rev-parse", "signed^{commit}") == repos.git(here.root, "rev-parse", BRANCH)
