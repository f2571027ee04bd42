"""Who has a branch in use."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RepositoryError
from skillgit.store import worktrees
from skillgit.store.repository import Repository

SKILL = "refs/heads/skill/x"


@pytest.fixture
def where(tmp_path: Path) -> Path:
    made = repos.make_repo(tmp_path / "r", {"a": "1"})
    repos.git(made, "branch", "skill/x")
    return made


def test_a_branch_checked_out_here_or_elsewhere(where: Path, tmp_path: Path) -> None:
    repo = Repository.open(where)
    assert repo.checked_out_at(SKILL) is None
    assert repo.checked_out_at("refs/heads/main") == where
    elsewhere = tmp_path / "else where\nü"
    repos.git(where, "worktree", "add", "-q", str(elsewhere), "skill/x")
    assert repo.checked_out_at(SKILL) == elsewhere
    assert Repository.open(elsewhere).checked_out_at("refs/heads/main") == where
    repos.git(elsewhere, "checkout", "-q", "--detach")
    assert repo.checked_out_at(SKILL) is None


def test_a_work_tree_that_is_gone_does_not_count(where: Path, tmp_path: Path) -> None:
    repos.git(where, "worktree", "add", "-q", str(tmp_path / "gone"), "skill/x")
    shutil.rmtree(tmp_path / "gone")
    assert Repository.open(where).checked_out_at(SKILL) is None


def test_a_bare_repository_has_nothing_checked_out(where: Path, tmp_path: Path) -> None:
    repos.git(tmp_path, "clone", "-q", "--bare", str(where), "b.git")
    repo = Repository.open(tmp_path / "b.git")
    assert repo.checked_out_at("refs/heads/main") is None
    repos.git(tmp_path / "b.git", "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    assert repo.checked_out_at("refs/heads/main") == tmp_path / "linked"


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_a_branch_that_is_being_rebased(where: Path, tmp_path: Path, backend: str) -> None:
    linked = tmp_path / "linked"
    repos.git(where, "worktree", "add", "-q", str(linked), "skill/x")
    repos.commit(linked, {"a": "theirs"})
    repos.commit(where, {"a": "ours"})
    repos.git(linked, "rebase", backend, "main", check=False)
    repo = Repository.open(where)
    assert repos.git(linked, "branch", "--show-current") == ""
    assert repo.checked_out_at(SKILL) == linked
    assert worktrees.unfinished(Repository.open(linked).runner) == "rebase"
    repos.git(linked, "rebase", "--abort")
    assert worktrees.unfinished(Repository.open(linked).runner) is None


def test_a_branch_that_is_being_bisected(where: Path) -> None:
    repos.git(where, "checkout", "-q", "skill/x")
    for text in "234":
        repos.commit(where, {"a": text})
    repos.git(where, "bisect", "start", "HEAD", "HEAD~3")
    assert repos.git(where, "branch", "--show-current") == ""
    assert Repository.open(where).checked_out_at(SKILL) == where


def test_an_unborn_branch_is_checked_out(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "r")
    assert Repository.open(where).checked_out_at("refs/heads/main") == where


def test_a_git_directory_without_its_work_tree(where: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    repos.git(where, "worktree", "add", "-q", str(linked), "skill/x")
    shutil.rmtree(linked)
    with pytest.raises(RepositoryError, match="is gone"):
        Repository.open(where / ".git" / "worktrees" / "linked")
