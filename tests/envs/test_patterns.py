"""Patterns of authors, with a bound on their time."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillgit.envs import patterns
from skillgit.envs.patterns import found
from skillgit.errors import EnvironmentFailedError


def test_found_and_not_found() -> None:
    assert found(r"\bb\w+", "a bc d")
    assert not found(r"^b", "a\nb")
    assert found(r"(?m)^b", "a\nb")
    assert found("\ud800", "x\ud800")


def test_a_search_without_end_is_ended_and_the_next_one_works() -> None:
    start = time.monotonic()
    with pytest.raises(EnvironmentFailedError) as caught:
        found("(a+)+$", "a" * 60 + "b", seconds=0.3)
    assert time.monotonic() - start < 5
    assert "'(a+)+$' did not end within 0.3 s" in caught.value.message
    assert found("a", "a")


def test_a_helper_that_died_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    own = patterns._Searcher()
    monkeypatch.setattr(patterns, "_searcher", own)
    assert found("a", "a")
    assert own._process is not None
    own._process.kill()
    own._process.wait()
    with pytest.raises(EnvironmentFailedError):
        found("a", "a")
    assert found("a", "a")
    own.close()
    own.close()


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = [str(number) for number in range(200)]
        assert list(pool.map(lambda text: found("[02468]$", text), texts)) == [int(text) % 2 == 0 for text in texts]


def test_a_program_that_used_it_ends_cleanly() -> None:
    code = "from skillgit.envs.patterns import found; print(found('a', 'a'))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert re.search("a", "a")
