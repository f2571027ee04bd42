"""Bad moments, each in a process of its own: an interruption, a second training, a git that is missing or too old, a
repository that cannot be written, an endpoint that is dead."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.cli import Done
from support.epochs import EpochWorld
from support.histories import differences, story
from support.place import CONFIG, TRAIN, WORLD
from support.server import Answer, Call, Server, serve
from support.training import BRANCH, SKILL
from support.world import Kinds, TopicWorld

EPOCHS = EpochWorld(6, 1, kinds=Kinds(40, 40))
LOOKING_BACK = training.configuration(
    models="{target: openai/sim, optimizer: openai/sim}",
    train="{num_epochs: 3, batch_size: 4, speculate: true}",
    optimizer="{use_slow_update: true, use_meta_skill: true}",
)
NOBODY = 65534
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return training.make(tmp_path / "r", WORLD, config=CONFIG)


class Waiting:
    """A world that answers so many calls, or those before the first of a kind, and then no more until it is told to."""

    def __init__(self, until: int | str, world: TopicWorld = WORLD) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        self._until, self._world = until, world

    def __call__(self, call: Call) -> Answer:
        if self._is_it(call):
            self.reached.set()
        if self.reached.is_set() and not self.go_on.is_set():
            self.go_on.wait(60)
        return self._world(call)

    def _is_it(self, call: Call) -> bool:
        if isinstance(self._until, int):
            return call.index >= self._until
        return isinstance(self._world, EpochWorld) and self._world.stage(call) == self._until


@contextmanager
def training_in_background(root: Path, server: Server, *more: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "skillgit", *TRAIN, *more],
        cwd=root,
        env={**os.environ, **server.env()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The history of a training that nobody interrupts."""
    root = training.make(tmp_path_factory.mktemp("unbroken") / "r", EPOCHS, config=LOOKING_BACK)
    with serve(EPOCHS) as server:
        done = cli.start(root, *TRAIN, env=server.env())
        assert done.code == 0, done.err
    found = story(root)
    assert "slow-update" in {step["kind"] for step in found["steps"]}
    return found


def until_said(process: subprocess.Popen[str], text: str) -> None:
    """Read what it says up to a line with this text."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"it never said {text!r}")


STAGES = pytest.mark.parametrize("until", [3, 60, "slow_update"], ids=["baseline", "step", "end of epoch"])


class TestInterruption:
    """Wherever it comes, the same command goes on to the history of the training that nobody interrupted."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return training.make(tmp_path / "r", EPOCHS, config=LOOKING_BACK)

    def goes_on(self, root: Path, server: Server, unbroken: dict[str, Any], most_again: int) -> None:
        repos.fsck(root)
        assert not list((root / ".git/refs").rglob("*.lock"))
        done = cli.start(root, *TRAIN, env=server.env())
        assert done.code == 0, done.err
        assert "took over the lock" not in done.err
        asked = [json.dumps(call.body, sort_keys=True) for call in server.calls]
        assert len(asked) - len(set(asked)) <= most_again
        assert differences(story(root), unbroken) == []

    @STAGES
    def test_once_finishes_the_step(self, root: Path, unbroken: dict[str, Any], until: int | str) -> None:
        world = Waiting(until, EPOCHS)
        with serve(world) as server, training_in_background(root, server) as process:
            assert world.reached.wait(60)
            before = len(training.journals(root)[0]) if until != 3 else 0
            process.send_signal(signal.SIGINT)
            until_said(process, "note: finishing the running step; press Ctrl-C again to stop now")
            world.go_on.set()
            out, err = process.communicate(timeout=30)
            assert (process.returncode, out) == (130, "")
            assert err.splitlines()[-1] == "skillgit: interrupted; the same command goes on where it was"
            assert "Traceback" not in err
            (steps,) = training.journals(root)
            assert len(steps) == before + 1, "the step that was running, and no other"
            self.goes_on(root, server, unbroken, most_again=0)

    @pytest.mark.parametrize(
        ("until", "presses"),
        [(3, ("INT", "INT")), (60, ("INT", "INT")), ("slow_update", ("INT", "INT")), (60, ("TERM",))],
        ids=["baseline", "step", "end of epoch", "SIGTERM"],
    )
    def test_now(self, root: Path, unbroken: dict[str, Any], until: int | str, presses: tuple[str, ...]) -> None:
        world = Waiting(until, EPOCHS)
        with serve(world) as server, training_in_background(root, server) as process:
            assert world.reached.wait(60)
            if len(presses) == 2:
                process.send_signal(signal.SIGINT)
                until_said(process, "finishing the running step")
            process.send_signal(signal.Signals[f"SIG{presses[-1]}"])
            # The server still answers nothing: what is under way is not waited for.
            out, err = process.communicate(timeout=15)
            assert (process.returncode, out) == (130, "")
            assert err.splitlines()[-1] == "skillgit: interrupted; the same command goes on where it was"
            assert "Traceback" not in err
            world.go_on.set()
            self.goes_on(root, server, unbroken, most_again=8)


def test_a_reader_that_leaves_ends_the_training(root: Path) -> None:
    """`skillgit train … 2>&1 | head -1`."""
    with serve(WORLD) as server:
        done = subprocess.run(
            ["bash", "-c", f'"{sys.executable}" -m skillgit train {SKILL} 2>&1 | head -1; echo "${{PIPESTATUS[0]}}"'],
            cwd=root,
            env={**os.environ, **server.env()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.stdout.splitlines() == ["note: val has only 8 tasks: one task is 12 points of the score", "141"]
    assert done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
@pytest.mark.parametrize("leaves", [True, False])
def test_a_reader_of_the_events_that_leaves_or_hangs_holds_no_run_up(root: Path, leaves: bool) -> None:
    """Nor does it keep signals from it."""
    pipe = root / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    waiting = Waiting(12)
    with serve(waiting) as server, training_in_background(root, server, "--events", str(pipe)) as process:
        assert waiting.reached.wait(60)
        if leaves:
            os.close(reader)
        else:  # full: the next event has no room
            with contextlib.suppress(BlockingIOError), open(pipe, "wb", 0, opener=at_once) as full:
                while full.write(b"x" * 512):
                    pass
        process.send_signal(signal.SIGINT)
        waiting.go_on.set()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "finishing the running step" in err
    assert not leaves or "the event log failed and is told nothing more: BrokenPipeError" in err
    if not leaves:
        os.close(reader)


def at_once(path: str, flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_NONBLOCK)


def test_two_trainings_at_once(root: Path) -> None:
    world = Waiting(3)
    with serve(world) as server, training_in_background(root, server) as process, serve(WORLD) as other:
        assert world.reached.wait(60)
        for command in (TRAIN, ("merge", SKILL)):
            done = cli.start(root, *command, env=other.env())
            assert (done.code, done.out) == (2, "")
            assert re.fullmatch(
                rf"skillgit: error: skill {SKILL} is in use by process {process.pid}( \(\w+\))? on \S+ since \S+; "
                "wait for it, or end it",
                done.last,
            )
        assert other.count == 0
        # Looking is allowed meanwhile.
        assert cli.start(root, "status").code == 0
        world.go_on.set()
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert BRANCH in repos.refs(root)


def fake_git(folder: Path, body: str) -> dict[str, str]:
    """A PATH on which another `git` comes first."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


class TestGit:
    def refused(self, root: Path, env: dict[str, str], line: str) -> None:
        before = repos.refs(root)
        with serve(WORLD) as server:
            for command in (TRAIN, ("init", "--skill", "a")):
                done = cli.start(root, *command, env={**server.env(), **env})
                assert done == Done(2, "", f"skillgit: error: {line}\n")
            assert server.count == 0
        assert repos.refs(root) == before
        assert repos.git(root, "status", "--porcelain") == ""
        # What does not need git works without.
        assert cli.start(root, "--help", env=env).code == 0

    @pytest.mark.parametrize("version", ["2.30.2", "2.37.7"])
    def test_too_old(self, root: Path, tmp_path: Path, version: str) -> None:
        env = fake_git(tmp_path / "bin", f'echo "git version {version}"')
        self.refused(root, env, f"git version {version} is too old; install git 2.38 or later")

    def test_missing(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        self.refused(
            root,
            {"PATH": str(tmp_path / "empty")},
            "git is not installed or not on the PATH; install git 2.38 or later",
        )

    def test_something_else_by_that_name(self, root: Path, tmp_path: Path) -> None:
        env = fake_git(tmp_path / "bin", "exit 1")
        self.refused(root, env, f"{tmp_path}/bin/git does not run as git; install git 2.38 or later")

    def test_new_enough_with_a_vendors_name(self, root: Path, tmp_path: Path) -> None:
        real = shutil.which("git")
        body = f'[ "$1" = version ] && {{ echo "git version 2.39.3 (Apple Git-146)"; exit; }}; exec {real} "$@"'
        assert cli.start(root, "status", env=fake_git(tmp_path / "bin", body)).code == 0


def test_a_dead_endpoint_ends_soon(root: Path) -> None:
    """With the SDK's real pauses between retries."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    env = {"OPENAI_API_KEY": "loopback", "OPENAI_BASE_URL": url}
    before = repos.refs(root)
    done = cli.start(root, *TRAIN, env=env, timeout=45)
    assert (done.code, done.out) == (3, "")
    assert done.last.startswith("skillgit: error: the first 8 attempts all failed; the last: openai/sim: ")
    assert repos.refs(root) == before


def bound_by_permissions() -> None:
    """In the child of a test that runs as root: permissions mean something again (Linux: drop CAP_DAC_OVERRIDE)."""
    if ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
        os._exit(77)


def test_a_repository_that_cannot_be_written(root: Path) -> None:
    is_root = os.geteuid() == 0
    folders = [path for path in [root, *root.rglob("*")] if path.is_dir()]
    with serve(WORLD) as server:
        for path in folders:
            path.chmod(0o555)
        try:
            for command in (TRAIN, ("eval", SKILL)):
                done = subprocess.run(
                    [sys.executable, "-m", "skillgit", *command],
                    cwd=root,
                    env={**os.environ, **server.env()},
                    preexec_fn=bound_by_permissions if is_root else None,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert (done.returncode, done.stdout) == (2, ""), done.stderr
                assert done.stderr.splitlines()[-1] == (
                    f"skillgit: error: {root}/.git/skillgit: Permission denied; "
                    "give yourself write access to the repository"
                )
        finally:
            for path in folders:
                path.chmod(0o755)
        assert server.count == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_somebody_elses_repository(root: Path) -> None:
    """git refuses a repository of another owner; so do we, with git's own advice."""
    os.chown(root, NOBODY, NOBODY)
    os.chown(root / ".git", NOBODY, NOBODY)
    assert cli.start(root, "status") == Done(
        2,
        "",
        f"skillgit: error: {root}: the repository belongs to someone else; "
        f"if you trust it, run: git config --global --add safe.directory {root}\n",
    )
