"""A history is mended in repositories of every form, and what cannot be moved leaves all as it was."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from support import cli, repos, training
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard

from skillgit.store.repository import Repository
from skillgit.train.repair.findings import Finding, Flaw
from skillgit.train.repair.mending import examine_skill


def spoil(root: Path) -> dict[str, str]:
    """Lose what a journal brings back; gives the refs as they were."""
    before = repos.refs(root)
    repos.git(root, "update-ref", BRANCH, f"{BRANCH}~1")
    for ref in before:
        if ref.startswith((BEST_REF, "refs/tags/", "refs/skillgit/runs/", "refs/skillgit/rejected/")):
            repos.git(root, "update-ref", "-d", ref)
    return before


def repaired(root: Path) -> list[Finding]:
    repo = Repository.open(root)
    try:
        return list(examine_skill(repo, SKILL, DOCUMENT, repair=True))
    finally:
        repo.close()


def test_in_a_bare_repository_and_a_linked_work_tree(here: Yard, tmp_path: Path) -> None:
    bare, linked = tmp_path / "bare.git", tmp_path / "linked"
    repos.git(here.root, "clone", "-q", "--bare", ".", str(bare))
    repos.git(bare, "fetch", "-q", str(here.root), "refs/*:refs/*")
    repos.identify(bare)
    here.git("worktree", "add", "-q", "--detach", str(linked))
    for root in (bare, linked):
        before = spoil(root)
        assert all(one.ok for one in repaired(root))
        assert repos.refs(root) == before
        repos.fsck(root)


def test_packed_refs(here: Yard) -> None:
    here.git("pack-refs", "--all")
    before = spoil(here.root)
    assert all(one.ok for one in repaired(here.root))
    assert here.refs() == before


def test_with_sha256(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = functools.partial(repos.make_repo, object_format="sha256")
    with monkeypatch.context() as patch:
        patch.setattr("support.training.repos.make_repo", made)
        with training.trained_once(tmp_path / "repo", training.mixed(), ()) as here:
            assert cli.call(here.root, "verify", SKILL, "--rescore").out.endswith(", 0 differ\n")
            before = spoil(here.root)
            assert all(one.ok for one in repaired(here.root))
            assert here.refs() == before


def test_a_hook_that_says_no_leaves_all_as_it_was(here: Yard) -> None:
    spoil(here.root)
    after = here.refs()
    hook = here.root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" = prepared ] && { echo "not today" >&2; exit 1; }\nexit 0\n')
    hook.chmod(0o755)
    found = repaired(here.root)
    assert here.refs() == after
    said = [one.problem for one in found if one.what == f"{SKILL}: repair"]
    assert len(said) == 1
    assert str(said[0]).startswith("nothing was mended: the reference-transaction hook refused ")
    assert all(one.repaired is None for one in found)


def test_a_finding_is_fine_where_it_is_mended_or_only_said() -> None:
    flaw = Flaw("best", "it is missing", "set to 12", update=None)
    assert flaw.finding("x", repaired=True).repaired is None, "nothing moved"
    assert not flaw.finding("x", repaired=True).ok
    assert Flaw("best", "a", "b", only_said=True).finding("x", repaired=False).ok
    assert Finding("x", "fine").ok
