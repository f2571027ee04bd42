"""One writer per skill; what a dead one leaves is taken over."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import LockedError, RefusedError
from skillgit.store.locks import Owner, SkillLock, read_owner
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs, remove_stale_locks, roll_forward

JOURNAL, BRANCH = "refs/skillgit/runs/x/r", "refs/heads/skill/x"

HOLDER = """
import sys, time
from pathlib import Path
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs
repo = Repository.open(Path(sys.argv[1]))
lock = SkillLock.acquire(repo, "x", "train")
if len(sys.argv) > 2:
    print("held", flush=True)
    updates = [RefUpdate(ref, None, sys.argv[2]) for ref in sys.argv[3:]]
    commit_refs(repo, updates, "x", lock=lock)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"a": "1"})


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def holder(where: Path, *more: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(where), *more], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def killed(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_one_writer_per_skill(repo: Repository) -> None:
    with SkillLock.acquire(repo, "x", "train") as lock:
        assert (lock.inherited, lock.took_over) == ([], None)
        with pytest.raises(LockedError) as caught:
            SkillLock.acquire(repo, "x")
        said = f"skill x is in use by process {os.getpid()} (train) on {socket.gethostname()} since "
        assert str(caught.value).startswith(said)
        assert caught.value.exit_code == 2
        with SkillLock.acquire(repo, "y") as other:
            assert other.took_over is None
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.took_over is None
    lock.release()


def test_the_other_writer_is_named(repo: Repository, where: Path) -> None:
    process = holder(where)
    try:
        with pytest.raises(LockedError, match=rf"process {process.pid} \(train\)"):
            SkillLock.acquire(repo, "x")
        owner = read_owner(repo, "x")
        assert isinstance(owner, Owner)
        assert (owner.pid, owner.command, owner.refs) == (process.pid, "train", [])
    finally:
        killed(process)


def test_all_work_trees_share_the_lock(repo: Repository, where: Path, tmp_path: Path) -> None:
    repos.git(where, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    with SkillLock.acquire(Repository.open(tmp_path / "linked"), "x"), pytest.raises(LockedError):
        SkillLock.acquire(repo, "x")


def test_a_killed_owner_is_taken_over_and_said(repo: Repository, where: Path) -> None:
    process = holder(where)
    killed(process)
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.took_over is not None
        assert f"process {process.pid} (train) on {socket.gethostname()}" in lock.took_over
        assert lock.inherited == []
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.took_over is None


def test_what_was_under_way_is_inherited_until_it_is_settled(repo: Repository) -> None:
    first = SkillLock.acquire(repo, "x")
    first.expect([JOURNAL, BRANCH])
    first.release()
    second = SkillLock.acquire(repo, "x")
    assert second.inherited == [JOURNAL, BRANCH]
    second.release()
    with SkillLock.acquire(repo, "x") as third:
        assert third.inherited == [JOURNAL, BRANCH]
        third.settle()
    with SkillLock.acquire(repo, "x") as fourth:
        assert (fourth.inherited, fourth.took_over) == ([], None)


def test_a_lock_file_names_what_is_under_way(repo: Repository, where: Path) -> None:
    path = where / ".git" / "skillgit" / "locks" / "x.lock"
    with SkillLock.acquire(repo, "x", "train") as lock:
        lock.expect([JOURNAL])
        written = json.loads(path.read_text())
        assert written["refs"] == [JOURNAL]
        assert (written["pid"], written["host"], written["command"]) == (os.getpid(), socket.gethostname(), "train")
        lock.settle()
        assert json.loads(path.read_text())["refs"] == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "content", [b"", b"rubbish", b"\xff\0", b"[]", b'{"pid": "x"}', b'{"pid": 1, "host": "h", "refs": 5}', b"null\n"]
)
def test_rubbish_in_the_file_hinders_nobody(repo: Repository, where: Path, content: bytes) -> None:
    path = where / ".git" / "skillgit" / "locks"
    path.mkdir(parents=True)
    (path / "x.lock").write_bytes(content)
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.inherited == []
        (path / "x.lock").write_bytes(content)
        with pytest.raises(LockedError, match="another process"):
            SkillLock.acquire(repo, "x")


def test_a_short_text_over_a_longer_one(repo: Repository, where: Path) -> None:
    """What a kill between writing and cutting off leaves: the first line counts."""
    path = where / ".git" / "skillgit" / "locks"
    path.mkdir(parents=True)
    left = {"pid": 1, "host": "h", "started": "s", "command": "c", "refs": [BRANCH]}
    (path / "x.lock").write_text(json.dumps(left) + '\n"]}\n')
    assert read_owner(repo, "x") == Owner(1, "h", "s", "c", [BRANCH])
    assert read_owner(repo, "y") is None


def hook(where: Path, script: str) -> None:
    path = where / ".git" / "hooks" / "reference-transaction"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_child_of_a_killed_owner_finishes_first(repo: Repository, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    hook(where, '[ "$1" = prepared ] && touch prepared && sleep 1; exit 0')
    process = holder(where, tip, JOURNAL, BRANCH)
    while not (where / "prepared").exists() and not (where / ".git" / "prepared").exists():
        time.sleep(0.01)
    killed(process)
    assert len(list((where / ".git" / "refs").rglob("*.lock"))) == 2
    with SkillLock.acquire(repo, "x") as lock:
        # The lock is ours once git has ended. It could not tell its dead owner that it had prepared: none moved.
        assert lock.inherited == [JOURNAL, BRANCH]
        assert list((where / ".git" / "refs").rglob("*.lock")) == []
        assert (repo.read_ref(JOURNAL), repo.read_ref(BRANCH)) == (None, None)
        commit_refs(repo, [RefUpdate(JOURNAL, None, tip), RefUpdate(BRANCH, None, tip)], "x", lock=lock)


def test_owner_and_git_killed_in_a_transaction(repo: Repository, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    hook(where, '[ "$1" = prepared ] && kill -STOP $PPID; exit 0')
    process = holder(where, tip, JOURNAL, BRANCH)
    locks = [where / ".git" / f"{ref}.lock" for ref in (JOURNAL, BRANCH)]
    while not all(lock.exists() for lock in locks):
        time.sleep(0.01)
    child = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True)
    process.kill()
    for pid in child.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    process.communicate()
    hook(where, "exit 0")
    updates = [RefUpdate(JOURNAL, None, tip), RefUpdate(BRANCH, None, tip)]
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.inherited == [JOURNAL, BRANCH]
        assert lock.took_over is not None
        assert "while it moved 2 refs" in lock.took_over
        with pytest.raises(RefusedError, match="another git process holds"):
            commit_refs(repo, updates, "x")
        assert remove_stale_locks(repo, lock.inherited) == locks
        assert roll_forward(repo, updates, lock=lock).done == updates
    repos.fsck(where)
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.inherited == []


def test_a_folder_that_cannot_be_made(repo: Repository, where: Path) -> None:
    (where / ".git" / "skillgit").mkdir()
    (where / ".git" / "skillgit" / "locks").write_text("in the way")
    with pytest.raises(RefusedError, match="locks"):
        SkillLock.acquire(repo, "x")


@pytest.mark.parametrize("name", ["../x", "X", "", "_notes"])
def test_only_skills_have_locks(repo: Repository, name: str) -> None:
    with pytest.raises(ValueError, match="no skill name"):
        SkillLock.acquire(repo, name)
