"""Files that one process holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillgit.store import holding


@pytest.fixture(params=[True, False], ids=["flock", "pid-file"])
def _means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "HAS_FLOCK", request.param)


@pytest.fixture
def path(tmp_path: Path, _means: None) -> Path:
    return tmp_path / "x.lock"


def test_only_one_holds_it(path: Path) -> None:
    held = holding.take(path)
    assert held is not None
    assert holding.take(path) is None
    held.release()
    assert held.released
    again = holding.take(path)
    assert again is not None
    again.release()


def test_the_content_is_replaced(path: Path) -> None:
    held = holding.take(path)
    assert held is not None
    for content in (b"long content\n", b"short\n", b""):
        held.write(content)
        assert held.read() == path.read_bytes() == content
    held.release()


def test_it_is_free_once_its_holder_was_killed(path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from skillgit.store import holding;"
        f"holding.HAS_FLOCK = {holding.HAS_FLOCK}; held = holding.take(Path(sys.argv[1]));"
        "held.write(b'mine'); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert holding.take(path) is None
        holder.kill()
    held = holding.take(path)
    assert held is not None
    assert held.read() == b"mine"
    held.release()


def test_a_pid_file_with_rubbish_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "HAS_FLOCK", False)
    (tmp_path / "x.pid").write_text("rubbish")
    assert holding.take(tmp_path / "x.lock") is None


def test_who_is_alive() -> None:
    assert holding.alive(os.getpid())
    assert holding.alive(1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not holding.alive(gone.pid)
