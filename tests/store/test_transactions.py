"""Ref transactions: all or nothing, and said why."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RefMovedError, RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs, remove_stale_locks, roll_forward

JOURNAL, BRANCH, BEST = "refs/skillgit/runs/x/r", "refs/heads/skill/x", "refs/skillgit/best/x"


@pytest.fixture(params=["sha1", "sha256"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"a": "1"}, object_format=request.param)


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def commits(repo: Repository, count: int = 3) -> list[str]:
    tip = repo.resolve("HEAD")
    assert tip is not None
    made = [tip]
    for number in range(count):
        made.append(repo.objects.write_commit(repo.objects.tree_of(tip), [made[-1]], f"c{number}"))
    return made[1:]


def hook(where: Path, script: str) -> Path:
    path = where / ".git" / "hooks" / "reference-transaction"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_refs_are_made_moved_and_deleted_together(repo: Repository, where: Path) -> None:
    a, b, _ = commits(repo)
    commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a), RefUpdate(BEST, None, a)], "one")
    commit_refs(repo, [RefUpdate(JOURNAL, a, b), RefUpdate(BRANCH, a, a), RefUpdate(BEST, a, None)], "two\nlines")
    assert repos.refs(where, "refs/heads/skill") | repos.refs(where, "refs/skillgit") == {JOURNAL: b, BRANCH: a}
    commit_refs(repo, [], "nothing")
    repos.fsck(where)


def test_the_reflog_says_why_in_a_bare_repository_too(repo: Repository, where: Path, tmp_path: Path) -> None:
    a, b, _ = commits(repo)
    repos.git(tmp_path, "clone", "-q", "--bare", "r", "b.git")
    bare = Repository.open(tmp_path / "b.git")
    bare.git("fetch", "-q", str(where), f"{repo.resolve('HEAD')}")
    for oid in (a, b):
        bare.objects.write("commit", repo.objects.read(oid).data)
    repos.identify(tmp_path / "b.git")
    commit_refs(bare, [RefUpdate(BRANCH, None, a)], "one")
    commit_refs(bare, [RefUpdate(BRANCH, a, b)], "two\nlines")
    assert repos.git(tmp_path / "b.git", "reflog", "show", "--format=%gs", BRANCH).splitlines() == ["two lines", "one"]


def test_the_journal_moves_first(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    hook(where, '[ "$1" = prepared ] && cut -d" " -f3 > order; exit 0')
    updates = [RefUpdate(ref, None, a) for ref in (JOURNAL, BRANCH, BEST, "refs/aaa/first-by-name")]
    commit_refs(repo, updates, "x")
    assert next(where.rglob("order")).read_text().split() == [u.ref for u in updates]


@pytest.mark.parametrize("packed", [False, True])
def test_a_ref_that_moved_stops_all(repo: Repository, where: Path, packed: bool) -> None:
    a, b, c = commits(repo)
    repos.git(where, "update-ref", BRANCH, b)
    if packed:
        repos.git(where, "pack-refs", "--all")
    with pytest.raises(RefMovedError) as caught:
        commit_refs(repo, [RefUpdate(JOURNAL, None, c), RefUpdate(BRANCH, a, c)], "x")
    assert BRANCH in str(caught.value)
    assert a in str(caught.value)
    assert b in str(caught.value)
    assert repos.refs(where, "refs/skillgit") == {}
    assert repo.read_ref(BRANCH) == b


def test_a_ref_that_appeared_or_vanished(repo: Repository, where: Path) -> None:
    a, b, _ = commits(repo)
    repos.git(where, "update-ref", BRANCH, a)
    with pytest.raises(RefMovedError, match=f"{BRANCH} was expected not to exist and is {a}"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, b), RefUpdate(BRANCH, None, b)], "x")
    with pytest.raises(RefMovedError, match=f"{BRANCH} was expected not to exist and is {a}"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, b), RefUpdate(BRANCH, None, a)], "x")
    with pytest.raises(RefMovedError, match=f"{BEST} was expected {a} and is gone"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, b), RefUpdate(BEST, a, b)], "x")
    with pytest.raises(RefMovedError, match=f"{BRANCH} was expected {b} and is {a}"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, b), RefUpdate(BRANCH, b, None)], "x")
    with pytest.raises(RefMovedError, match="expected not to exist"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, b), RefUpdate(BRANCH, None, None)], "x")
    assert repo.list_refs("refs/skillgit") == {}


def test_a_hook_that_says_no_is_quoted(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    hook(where, 'echo "not on a Friday" >&2; echo "second line" >&2; exit 1')
    with pytest.raises(RefusedError, match=r"hook refused .*: not on a Friday$"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x")
    assert repo.list_refs("refs/skillgit") == {}
    hook(where, "exit 1")
    with pytest.raises(RefusedError, match=r"hook refused"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, a)], "x")


def test_a_hook_sees_its_own_repository(repo: Repository, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, *_ = commits(repo)
    hook(where, "git rev-parse --absolute-git-dir > seen")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    commit_refs(repo, [RefUpdate(JOURNAL, None, a)], "x")
    assert next(where.rglob("seen")).read_text().strip() == str(where / ".git")


def test_a_lock_that_another_git_holds(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    lock = where / ".git" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with pytest.raises(RefusedError, match=r"another git process holds x\.lock") as caught:
        commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x")
    assert str(lock) in str(caught.value)
    assert not isinstance(caught.value, RefMovedError)
    assert lock.exists()
    assert repo.list_refs("refs/skillgit") == {}


def test_a_branch_named_skill_is_in_the_way(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    repos.git(where, "branch", "skill")
    with pytest.raises(RefusedError, match=f"^refs/heads/skill is in the way of {BRANCH}") as caught:
        commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x")
    assert caught.value.mend == "rename that branch: git branch -m skill skill-old"
    repos.git(where, "branch", "-m", "skill", "skill-old")
    commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x")


def test_a_ref_below_ours_is_in_the_way(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    repos.git(where, "update-ref", f"{BEST}/deeper", a)
    repos.git(where, "pack-refs", "--all")
    with pytest.raises(RefusedError, match=f"{BEST}/deeper is in the way of {BEST}") as caught:
        commit_refs(repo, [RefUpdate(BEST, None, a)], "x")
    assert f"git update-ref -d {BEST}/deeper" in str(caught.value)


def test_a_missing_object_is_gits_own_refusal(repo: Repository) -> None:
    missing = "12" * (32 if repo.object_format == "sha256" else 20)
    with pytest.raises(RepositoryError, match=r"git update-ref: .*nonexistent object"):
        commit_refs(repo, [RefUpdate(JOURNAL, None, missing)], "x")


def test_a_full_disk(tmp_path: Path) -> None:
    """A folder on a file system of a few pages: the real error, not a made-up one."""
    small = tmp_path / "small"
    small.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(small)], capture_output=True)
    if made.returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        where = repos.make_repo(small / "r", {"a": "1"})
        repo = Repository.open(where)
        a, *_ = commits(repo)
        fill = os.open(small / "fill", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="No space"):  # noqa: PT012
            while True:
                os.write(fill, b"x" * 4096)
        os.close(fill)
        with pytest.raises(RefusedError, match="No space left on device"):
            repo.objects.write_blob(os.urandom(20000))
        with pytest.raises(RefusedError, match=r"^git update-ref: .*disk is full"):
            commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x")
        (small / "fill").unlink()
        roll_forward(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)])
        assert (repo.read_ref(JOURNAL), repo.read_ref(BRANCH)) == (a, a)
        repos.fsck(where)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_commit_cut_short_is_said_and_rolled_forward(repo: Repository, where: Path) -> None:
    a, b, _ = commits(repo)
    updates = [RefUpdate(JOURNAL, None, b), RefUpdate(BRANCH, None, a), RefUpdate(BEST, None, a)]
    # A folder in place of the branch's reflog lets the commit fail after the journal has moved.
    (where / ".git" / "logs" / BRANCH / "full").mkdir(parents=True)
    (where / ".git" / "logs" / BRANCH / "full" / "file").touch()
    with SkillLock.acquire(repo, "x") as lock, pytest.raises(RefusedError, match=f"{JOURNAL} moved, the refs after"):
        commit_refs(repo, updates, "x", lock=lock)
    assert (repo.read_ref(JOURNAL), repo.read_ref(BRANCH)) == (b, None)
    (where / ".git" / "logs" / BRANCH / "full" / "file").unlink()
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.inherited == [JOURNAL, BRANCH, BEST]
        assert remove_stale_locks(repo, lock.inherited) == []
        outcome = roll_forward(repo, updates, lock=lock)
    assert outcome.moved == []
    assert {u.ref: repo.read_ref(u.ref) for u in updates} == {u.ref: u.new for u in updates}


def test_roll_forward_completes_and_reports(repo: Repository, where: Path) -> None:
    a, b, c = commits(repo)
    repos.git(where, "update-ref", JOURNAL, b)
    repos.git(where, "update-ref", BRANCH, a)
    repos.git(where, "update-ref", BEST, c)
    tag = RefUpdate("refs/tags/skill/x/v1", None, b)
    updates = [RefUpdate(JOURNAL, a, b), RefUpdate(BRANCH, a, b), RefUpdate(BEST, a, b), tag]
    outcome = roll_forward(repo, updates)
    assert outcome.done == [updates[1], tag]
    assert [(moved.update, moved.found) for moved in outcome.moved] == [(updates[2], c)]
    assert (repo.read_ref(BRANCH), repo.read_ref(tag.ref), repo.read_ref(BEST)) == (b, b, c)
    again = roll_forward(repo, updates)
    assert (again.done, len(again.moved)) == ([], 1)


def test_only_the_named_locks_are_removed(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    ours, other = where / ".git" / f"{BRANCH}.lock", where / ".git" / "refs/heads/skill/y.lock"
    ours.parent.mkdir(parents=True)
    ours.touch()
    other.touch()
    assert remove_stale_locks(repo, [JOURNAL, BRANCH, BEST]) == [ours]
    assert not ours.exists()
    assert other.exists()
    assert remove_stale_locks(repo, [JOURNAL, BRANCH]) == []
    commit_refs(repo, [RefUpdate(BRANCH, None, a)], "x")


def test_a_lock_in_use_is_not_removed(repo: Repository, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = where / ".git" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    # Meanwhile another git takes the same lock anew.
    monkeypatch.setattr("time.sleep", lambda _: (lock.unlink(), lock.write_text("someone's")))
    assert remove_stale_locks(repo, [BRANCH]) == []
    assert lock.read_text() == "someone's"


def test_a_git_that_was_killed_leaves_nothing_behind(repo: Repository, where: Path) -> None:
    a, *_ = commits(repo)
    hook(where, '[ "$1" = prepared ] && kill -9 $PPID; exit 0')
    with SkillLock.acquire(repo, "x") as lock:
        with pytest.raises(RepositoryError, match="signal 9"):
            commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x", lock=lock)
        hook(where, "exit 0")
        commit_refs(repo, [RefUpdate(JOURNAL, None, a), RefUpdate(BRANCH, None, a)], "x", lock=lock)
    repos.fsck(where)


def test_packing_refs_at_the_same_time_is_no_refusal(repo: Repository, where: Path) -> None:
    tips = commits(repo, 12)
    packing = subprocess.Popen(["sh", "-c", "for i in $(seq 40); do git pack-refs --all; done"], cwd=where)
    try:
        old = None
        for new in tips:
            commit_refs(repo, [RefUpdate(JOURNAL, old, new), RefUpdate(BRANCH, old, new)], "x")
            old = new
    finally:
        packing.wait()
    assert repo.read_ref(BRANCH) == tips[-1]
    repos.fsck(where)
