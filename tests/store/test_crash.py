"""A writer killed at random moments, again and again: its successor always finds a state that it can complete."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from support import repos

from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, remove_stale_locks, roll_forward

JOURNAL, BRANCH, BEST = "refs/skillgit/runs/x/r", "refs/heads/skill/x", "refs/skillgit/best/x"
KILLS = 12

WRITER = f"""
import sys
from pathlib import Path
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs
repo = Repository.open(Path("."))
with SkillLock.acquire(repo, "x") as lock:
    old = repo.read_ref({JOURNAL!r})
    repo.objects.write_blob(b"")
    print("ready", flush=True)
    while True:
        new = repo.objects.write_commit(repo.objects.tree_of("HEAD"), [old] if old else [], "step")
        commit_refs(repo, [RefUpdate(ref, old, new) for ref in ({JOURNAL!r}, {BRANCH!r}, {BEST!r})], "x", lock=lock)
        old = new
"""


def test_killed_again_and_again(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "r", {"a": "1"})
    script = WRITER.replace('"HEAD"', f'"{repos.git(where, "rev-parse", "HEAD^{tree}")}"')
    repo = Repository.open(where)
    dice = random.Random(7)
    steps = 0
    for _ in range(KILLS):
        # A session of its own, so that the git of the moment dies with its owner.
        writer = subprocess.Popen(
            [sys.executable, "-c", script], cwd=where, stdout=subprocess.PIPE, start_new_session=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(dice.random() * 0.3)
        os.killpg(writer.pid, signal.SIGKILL)
        writer.communicate()
        with SkillLock.acquire(repo, "x") as lock:
            remove_stale_locks(repo, lock.inherited)
            tip = repo.read_ref(JOURNAL)
            if tip is not None:
                parents = repo.objects.read_commit(tip).parents
                old = parents[0] if parents else None
                outcome = roll_forward(repo, [RefUpdate(ref, old, tip) for ref in (BRANCH, BEST)], lock=lock)
                assert outcome.moved == []
            lock.settle()
        assert repo.read_ref(JOURNAL) == repo.read_ref(BRANCH) == repo.read_ref(BEST) == tip
        assert list((where / ".git" / "refs").rglob("*.lock")) == []
        now = len(list(repo.objects.first_parents(tip))) if tip else 0
        assert now >= steps
        steps = now
    assert steps > 0
    repos.fsck(where)
