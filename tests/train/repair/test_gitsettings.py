"""Settings of git that would take our refs away are said, with the command that takes them back."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from support import repos

from skillgit.store.repository import Repository
from skillgit.train.repair import gitsettings
from skillgit.train.repair.findings import Finding

FINE = (
    "+refs/heads/*:refs/remotes/origin/*",
    "+refs/skillgit/*:refs/skillgit/remotes/origin/*",
    "refs/skillgit/*:refs/skillgit/*",
    "refs/notes/*:refs/notes/*",
    "^refs/skillgit/*",
    "+refs/heads/main:refs/heads/main",
    "+refs/tags/*:refs/tags/*",
)
FORCED = (
    "+refs/skillgit/*:refs/skillgit/*",
    "+refs/skillgit/runs/*:refs/skillgit/runs/*",
    "+refs/*:refs/*",
    "+refs/notes/*:refs/notes/*",
    "+refs/notes/skillgit:refs/notes/skillgit",
    "+refs/heads/*:refs/heads/*",
    "+refs/heads/skill/*:refs/heads/skill/*",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = repos.make_repo(tmp_path / "repo", {"a": "a"})
    repos.git(made, "remote", "add", "origin", str(tmp_path / "elsewhere.git"))
    return made


def look(root: Path) -> list[Finding]:
    repo = Repository.open(root)
    try:
        return gitsettings.look(repo)
    finally:
        repo.close()


def test_a_plain_repository_is_fine(root: Path) -> None:
    (one,) = look(root)
    assert (one.problem, one.detail) == (None, "no refspec or setting endangers what is kept in refs")


@pytest.mark.parametrize("spec", FINE)
def test_refspecs_that_overwrite_nothing_of_ours(root: Path, spec: str) -> None:
    repos.git(root, "config", "--add", "remote.origin.fetch", spec)
    assert [one.problem for one in look(root)] == [None]


@pytest.mark.parametrize("spec", FORCED)
def test_refspecs_that_force(root: Path, spec: str) -> None:
    repos.git(root, "config", "--add", "remote.origin.fetch", spec)
    (one,) = look(root)
    assert one.exit_code == 2
    said, mend = str(one.problem).split("; ", 1)
    assert said.startswith(f"remote.origin.fetch = {spec}: every `git fetch` would overwrite refs such as refs/")
    repos.git(root, *shlex.split(mend.split("`")[1])[1:])
    assert [one.problem for one in look(root)] == [None], "the mend is what mends it"


@pytest.mark.parametrize(("key", "value"), [("fetch.prune", "true"), ("remote.origin.prune", "yes")])
def test_a_refspec_that_prunes(root: Path, key: str, value: str) -> None:
    repos.git(root, "config", key, value)
    assert [one.problem for one in look(root)] == [None], "remote branches alone are pruned"
    repos.git(root, "config", "--add", "remote.origin.fetch", "refs/skillgit/*:refs/skillgit/*")
    (one,) = look(root)
    assert "every `git fetch` would prune refs such as refs/skillgit/runs/NAME/RUN" in str(one.problem)
    repos.git(root, "config", "remote.origin.prune", "false")
    assert [one.problem for one in look(root)] == [None], "the remote's own setting wins"


def test_what_it_says_is_what_git_does(root: Path, tmp_path: Path) -> None:
    """The oracle: git itself takes the ref away."""
    repos.make_repo(tmp_path / "elsewhere.git", bare=True)
    repos.git(root, "push", "-q", "origin", "main")
    repos.git(root, "update-ref", "refs/skillgit/runs/x/y", "main")
    for spec in ("+refs/heads/*:refs/remotes/origin/*", "refs/skillgit/*:refs/skillgit/*"):
        repos.git(root, "config", "--replace-all", "remote.origin.fetch", spec)
        repos.git(root, "config", "fetch.prune", "true")
        endangered = look(root)[0].problem is not None
        repos.git(root, "fetch", "-q", "origin")
        assert ("refs/skillgit/runs/x/y" not in repos.refs(root)) == endangered


def test_a_mirror(root: Path) -> None:
    repos.git(root, "config", "remote.origin.mirror", "true")
    (one,) = look(root)
    assert one.exit_code == 2
    assert str(one.problem).endswith("; `git config --unset remote.origin.mirror`")


def test_reflogs_that_are_off_are_only_said(root: Path) -> None:
    repos.git(root, "config", "core.logAllRefUpdates", "false")
    (one,) = look(root)
    assert (one.exit_code, one.ok) == (0, True)
    assert str(one.problem).startswith("core.logAllRefUpdates is off")


def test_an_old_index_lock_is_only_said(root: Path) -> None:
    lock = root / ".git/index.lock"
    lock.write_text("")
    assert [one.problem for one in look(root)] == [None], "a git may be at work"
    then = lock.stat().st_mtime - 600
    os.utime(lock, (then, then))
    (one,) = look(root)
    assert one.exit_code == 0
    assert str(one.problem).startswith("index.lock is 10 minutes old")
