"""One writer per skill; what a dead one leaves is taken over."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import LockedError, RefusedError
from skillgit.store import holding, locks
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


BACKGROUND = 'if [ "$1" = committed ]; then sleep 60 >/dev/null 2>&1 </dev/null & echo $! > "{file}"; fi; exit 0'


@pytest.fixture
def background(where: Path, tmp_path: Path) -> Iterator[Path]:
    """A hook that leaves a process in the background, which inherits what git has inherited; its id is in the file."""
    left = tmp_path / "left"
    hook(where, BACKGROUND.format(file=left))
    yield left
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(left.read_text()), signal.SIGKILL)


def test_what_a_hook_leaves_in_the_background_keeps_no_lock(repo: Repository, where: Path, background: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    with SkillLock.acquire(repo, "x", "train") as lock:
        commit_refs(repo, [RefUpdate(JOURNAL, None, tip)], "x", lock=lock)
    assert background.exists()
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.took_over is None


def test_what_a_killed_owners_hook_left_is_named(
    repo: Repository, where: Path, background: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it still moves refs cannot be known, so it is not taken over."""
    monkeypatch.setattr(locks, "_FINISHING_S", 0.3)
    process = holder(where, repos.git(where, "rev-parse", "HEAD"), JOURNAL)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"  # the refs have moved
    killed(process)
    said = rf"skill x is in use by what is left of process {process.pid} \(train\) on \S+ since \S+, which has ended"
    with pytest.raises(LockedError, match=said):
        SkillLock.acquire(repo, "x")
    os.kill(int(background.read_text()), signal.SIGKILL)
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.took_over is not None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells")
def test_a_suspended_owner_is_not_taken_over(repo: Repository, where: Path) -> None:
    """With a heartbeat it would be, and then go on writing beside its heir."""
    process = holder(where)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        until(lambda: holding.suspended(process.pid))
        with pytest.raises(LockedError, match=rf"by process {process.pid} .*, which is suspended") as caught:
            SkillLock.acquire(repo, "x")
        assert caught.value.mend == f"let it go on (`fg`, or kill -CONT {process.pid}), or end it"
        os.kill(process.pid, signal.SIGCONT)
        until(lambda: not holding.suspended(process.pid))
        with pytest.raises(LockedError) as caught:
            SkillLock.acquire(repo, "x")
        assert caught.value.mend == "wait for it, or end it"
    finally:
        killed(process)
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.took_over is not None


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_id_that_another_process_has_now_keeps_no_lock(repo: Repository, where: Path) -> None:
    """What the file says is for people; the kernel knows who holds it."""
    path = where / ".git" / "skillgit" / "locks"
    path.mkdir(parents=True)
    left = {"pid": os.getppid(), "host": socket.gethostname(), "started": "s", "command": "train", "refs": [BRANCH]}
    (path / "x.lock").write_text(json.dumps(left) + "\n")
    with SkillLock.acquire(repo, "x") as lock:
        assert lock.inherited == [BRANCH]
        assert lock.took_over is not None


def test_an_owner_on_another_machine_is_not_looked_for_here(repo: Repository, where: Path) -> None:
    """A file system that carries locks between machines: its process id means nothing here."""
    process = holder(where)
    path = where / ".git" / "skillgit" / "locks" / "x.lock"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    written = json.loads(path.read_text()) | {"host": "elsewhere", "pid": gone.pid}
    path.write_text(json.dumps(written) + "\n")
    started = time.monotonic()
    try:
        with pytest.raises(LockedError, match=rf"process {gone.pid} \(train\) on elsewhere since"):
            SkillLock.acquire(repo, "x")
        assert time.monotonic() - started < 2  # nobody waits for it as for the git of a dead owner
    finally:
        killed(process)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks(repo: Repository, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(RefusedError, match=r"x\.lock: files cannot be locked there: ") as caught:
        SkillLock.acquire(repo, "x")
    assert caught.value.mend == "keep the repository on a file system on which `flock` works"


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
