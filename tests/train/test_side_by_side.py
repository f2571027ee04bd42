"""Several processes in one repository: each trains its own skill, while somebody commits and tidies up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import cli, many, repos, training
from support.cli import Done
from support.many import Worlds, document
from support.server import Answer, Call, Server, serve
from support.training import BRANCH, SKILL, SteadyWorld
from support.world import Kinds, TopicWorld


def worlds(names: str, topics: int) -> dict[str, TopicWorld]:
    return {name: SteadyWorld(topics, seed, kinds=Kinds(45, 35)) for seed, name in enumerate(names, start=1)}


def work(root: Path, name: str, server: Server, rounds: int, splits: tuple[str, ...]) -> list[Done]:
    """What one process after another does for a skill: train, and score its best document and the base's, which all
    skills have."""
    done = []
    for _ in range(rounds):
        done.append(cli.start(root, "train", name, env=server.env(), timeout=900))
        for rev in (f"refs/skillgit/best/{name}", "main"):
            for split in splits:
                asked = ("eval", name, "--rev", rev, "--split", split, "--json")
                done.append(cli.start(root, *asked, env=server.env(), timeout=900))
    return done


def told(root: Path, name: str) -> list[tuple[Any, ...]]:
    """Each step of a skill, newest first: what was decided of which document, and with which scores."""
    rows = json.loads(cli.call(root, "log", name, "--json").out)
    keys = ("step", "epoch", "kind", "candidate", "decision", "score", "score_max", "before", "document")
    return [tuple(row[key] for key in keys) for row in rows]


def side_by_side(
    tmp_path: Path, chosen: Mapping[str, TopicWorld], rounds: int, splits: tuple[str, ...], **sections: Any
) -> many.Busybody:
    """Train all skills at once, see that nothing was lost, and that each did what it does alone."""
    root = many.make(tmp_path / "repo", chosen, **sections)
    with serve(Worlds(chosen, delay_s=0.004)) as server:
        with many.busy(root) as person, ThreadPoolExecutor(len(chosen)) as pool:
            found = pool.map(lambda name: work(root, name, server, rounds, splits), chosen)
            ended = dict(zip(chosen, found, strict=True))
        for name, dones in ended.items():
            assert [done.code for done in dones] == [0] * len(dones), (name, [done.err for done in dones])
        assert many.lost_objects(root) == ""
        noted = many.note_lines(root)
        expected = {line for dones in ended.values() for done in dones if (line := _note_of(done)) is not None}
        assert {_key(*one) for one in noted} == expected
        assert len(noted) == len(expected)
        for name in chosen:
            done = cli.call(root, "verify", name)
            assert done.code == 0, done.out
        _as_alone(tmp_path, root, chosen, server, rounds, sections)
        for name in chosen:  # and now that nobody moves the base
            done = cli.call(root, "merge", name)  # it asks no model
            assert done.code == 0, done.err
        assert many.lost_objects(root) == ""
        assert repos.git(root, "status", "--porcelain") == ""
    return person


def _note_of(done: Done) -> tuple[Any, ...] | None:
    """What `eval` has to have noted."""
    if not done.out.startswith("{"):
        return None
    found = json.loads(done.out)
    return found["blob"], found["split"], found["digest"], found["target"], found["hard"]


def _key(blob: str, line: Mapping[str, Any]) -> tuple[Any, ...]:
    numerator, denominator = map(int, line["hard"].split("/"))
    return blob, line["split"], line["digest"], line["target"], round(numerator / denominator, 6)


def _as_alone(
    tmp_path: Path,
    root: Path,
    chosen: Mapping[str, TopicWorld],
    server: Server,
    rounds: int,
    sections: Mapping[str, Any],
) -> None:
    """Each skill's steps and documents are those of a training that had the repository to itself."""
    alone = many.make(tmp_path / "alone", chosen, **sections)
    with pytest.MonkeyPatch.context() as patch:
        training.point_at(patch, server.env())
        for name in chosen:
            for _ in range(rounds):
                assert cli.call(alone, "train", name).code == 0
            assert told(root, name) == told(alone, name)
            assert any(row[4] == "accept-best" for row in told(root, name))
            spec = f"refs/heads/skill/{name}:{document(name)}"
            assert repos.git(root, "rev-parse", spec) == repos.git(alone, "rev-parse", spec)


def test_two_skills_train_side_by_side(tmp_path: Path) -> None:
    sections = {"train": {"num_epochs": 1, "batch_size": 6}}
    person = side_by_side(tmp_path, worlds("ab", 6), 1, ("test",), **sections)
    assert min(person.done[what] for what in ("commit", "gc", "pack-refs")) > 1, person


@pytest.mark.soak
def test_four_skills_train_side_by_side_for_long(tmp_path: Path) -> None:
    sections = {
        "train": {"num_epochs": 4, "batch_size": 8, "speculate": True},
        "optimizer": {"learning_rate": 3, "use_slow_update": True, "use_meta_skill": True},
    }
    person = side_by_side(tmp_path, worlds("abcd", 16), 2, ("val", "test"), **sections)
    assert min(person.done[what] for what in ("commit", "gc", "pack-refs")) > 10, person


class Halting:
    """A world that answers so many calls, and the rest only when it may go on."""

    def __init__(self, world: TopicWorld, after: int) -> None:
        self._world, self._after = world, after
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, call: Call) -> Answer:
        if call.index >= self._after and not self.go_on.is_set():
            self.reached.set()
            self.go_on.wait(60)
        return self._world(call)


ONE = training.configuration(
    train="{num_epochs: 1, batch_size: 8}", models="{target: openai/sim, optimizer: openai/sim}"
)
IN_USE = rf"skillgit: error: skill {SKILL} is in use by process {{pid}} \(train\) on {re.escape(socket.gethostname())}"
SINCE = r" since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@contextlib.contextmanager
def halted(tmp_path: Path) -> Iterator[tuple[Path, Halting, Server, subprocess.Popen[str]]]:
    """A training in a process of its own that waits for an answer in the middle of its first step."""
    world = TopicWorld(8, 1, kinds=Kinds(100, 0))
    halting = Halting(world, 30)
    root = training.make(tmp_path / "repo", world, config=ONE)
    with serve(halting) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "skillgit", "train", SKILL],
            cwd=root,
            env={**os.environ, **server.env()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert halting.reached.wait(60)
            yield root, halting, server, process
        finally:
            halting.go_on.set()
            if process.poll() is None:
                process.kill()
            process.communicate()


def test_a_killed_owner_is_taken_over_and_said(tmp_path: Path) -> None:
    with halted(tmp_path) as (root, halting, server, process):
        process.kill()
        process.wait()
        halting.go_on.set()
        done = cli.start(root, "train", SKILL, env=server.env())
    assert done.code == 0, done.err
    who = rf"process {process.pid} \(train\) on {re.escape(socket.gethostname())}{SINCE}"
    said = rf"^note: took over the lock of skill {SKILL} from {who}, which ended without letting it go"
    assert re.search(said, done.err, re.MULTILINE), done.err
    repos.fsck(root)
    again = cli.start(root, "train", SKILL, "--dry-run", env=server.env())
    assert "took over" not in again.err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells that a process is suspended")
def test_a_suspended_owner_keeps_its_skill(tmp_path: Path) -> None:
    """It would go on beside whoever took over; so the second is refused, and the first ends well."""
    with halted(tmp_path) as (root, halting, server, process):
        process.send_signal(signal.SIGSTOP)
        before = repos.refs(root)
        done = cli.start(root, "train", SKILL, env=server.env())
        assert (done.code, done.out) == (2, "")
        wanted = (
            IN_USE.format(pid=process.pid) + SINCE + rf", which is suspended; .* kill -CONT {process.pid}\), or end it"
        )
        assert re.fullmatch(wanted, done.last), done.last
        assert repos.refs(root) == before
        halting.go_on.set()
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    repos.fsck(root)


def second_door(root: Path, where: Path) -> Path:
    """Another git directory with the same refs and objects (git's old `git-new-workdir`): it has its own locks of ours,
    like a second machine that sees the same files on a file system that does not carry locks."""
    repos.make_repo(where)
    for name in ("objects", "refs", "logs", "packed-refs", "config"):
        (root / ".git" / name).touch() if name == "packed-refs" else None
        there = where / ".git" / name
        if there.is_dir():
            subprocess.run(["rm", "-r", str(there)], check=True)
        elif there.exists():
            there.unlink()
        there.symlink_to(root / ".git" / name)
    repos.git(where, "reset", "-q", "--hard", "main")
    # It is the same clone, whose runs are its own.
    (where / ".git/skillgit").mkdir()
    (where / ".git/skillgit/clone").write_bytes((root / ".git/skillgit/clone").read_bytes())
    return where


def test_without_a_common_lock_the_transaction_has_the_last_word(tmp_path: Path) -> None:
    """While one process is in a step of a run, another one takes that run to its end. The first one's step is refused,
    moves nothing, and the same command then goes on from what the other has left."""
    with halted(tmp_path) as (root, halting, server, process):
        with serve(TopicWorld(8, 1, kinds=Kinds(100, 0))) as elsewhere:
            done = cli.start(second_door(root, tmp_path / "door"), "train", SKILL, env=elsewhere.env())
        assert done.code == 0, done.err
        before = repos.refs(root)
        halting.go_on.set()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 2
        (journal,) = repos.refs(root, "refs/skillgit/runs/")
        assert re.search(rf"error: {journal} was expected [0-9a-f]{{40}} and is {before[journal]}; run it again", said)
        assert repos.refs(root) == before
        assert many.lost_objects(root) == ""
        again = cli.start(root, "train", SKILL, env=server.env())
        assert again.code == 0, again.err
        with pytest.MonkeyPatch.context() as patch:
            training.point_at(patch, server.env())
            assert cli.call(root, "verify", SKILL).code == 0
    accepted = {step.commits[-1] for steps in training.journals(root) for step in steps if step.accepted}
    assert before[BRANCH] in accepted
    assert accepted <= set(repos.git(root, "rev-list", "--first-parent", BRANCH).split())
    moved = repos.git(root, "reflog", "show", "--format=%H", BRANCH).split()
    assert all(repos.git(root, "merge-base", old, new) == old for new, old in pairwise(moved))  # only ever forward
    assert many.lost_objects(root) == ""
