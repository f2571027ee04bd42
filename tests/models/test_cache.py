"""The call cache: one file for many threads and processes, safe from a kill."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.errors import RefusedError
from skillgit.models.cache import CallCache, call_key

KEY = call_key(kind="rollout", blob="b1", trial=0)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
LISTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=10)
PARTS = st.dictionaries(st.text(), LISTS, max_size=4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "skillgit" / "calls.sqlite"


def test_round_trip(path: Path) -> None:
    with CallCache.open(path) as cache:
        assert cache.get(KEY) is None
        cache.put(KEY, {"text": "é\ud800", "n": [1, 2.5, None]}, kind="rollout")
        assert cache.get(KEY) == {"text": "é\ud800", "n": [1, 2.5, None]}
    with CallCache.open(path) as cache:
        assert cache.get(KEY) == {"text": "é\ud800", "n": [1, 2.5, None]}
        assert cache.get(call_key(kind="rollout", blob="b1", trial=1)) is None


def test_the_first_answer_stays(path: Path) -> None:
    with CallCache.open(path) as one, CallCache.open(path) as other:
        one.put(KEY, "first", "rollout")
        other.put(KEY, "second", "rollout")
        assert other.get(KEY) == one.get(KEY) == "first"


@given(PARTS, PARTS)
def test_keys_differ_exactly_where_the_parts_do(one: dict[str, object], other: dict[str, object]) -> None:
    assert call_key(a=one) == call_key(a=dict(reversed(one.items())))
    if repr(sorted(one.items())) != repr(sorted(other.items())):
        assert call_key(a=one) != call_key(a=other)


def test_key_is_the_digest_of_canonical_json() -> None:
    # printf '{"a":[1,"\\u00e9"],"b":null}' | sha256sum
    assert call_key(b=None, a=(1, "é")) == "e6ad993c7a569e941cdd65aa57c817cb74d20d9877b15dfc8cc0ac151c74785d"


def test_only_the_owner_may_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        cache = CallCache.open(path)
        cache.put(KEY, 1, "rollout")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        cache.close()
    finally:
        os.umask(before)
    assert len(modes) == 3
    assert set(modes.values()) == {0o600}


def test_close_twice(path: Path) -> None:
    cache = CallCache.open(path)
    cache.close()
    cache.close()
    with pytest.raises(sqlite3.ProgrammingError):
        cache.get(KEY)


def test_threads(path: Path) -> None:
    def work(number: int) -> None:
        for index in range(50):
            cache.put(call_key(n=index), index, "rollout")
            assert cache.get(call_key(n=index)) == index
        done.append(number)

    done: list[int] = []
    with CallCache.open(path) as cache:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(done) == list(range(6))


WRITER = """
import sys
from pathlib import Path
from skillgit.models.cache import CallCache, call_key
cache = CallCache.open(Path(sys.argv[1]))
for number in range(100):
    cache.put(call_key(n=number), [number, sys.argv[2]], "rollout")
print("ready", flush=True)
if sys.argv[2] == "killed":
    sys.stdin.read()
"""


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_processes_that_open_a_new_file_at_once_agree(path: Path) -> None:
    processes = [writer(path, name) for name in ("a", "b", "c")]
    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert (process.returncode, output) == (0, "ready\n")
    with CallCache.open(path) as cache:
        values = [cache.get(call_key(n=number)) for number in range(100)]
    assert [value[0] for value in values] == list(range(100))


def test_a_kill_loses_nothing_that_was_put(path: Path) -> None:
    with writer(path, "killed") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
    with CallCache.open(path) as cache:
        assert [cache.get(call_key(n=number)) for number in range(100)] == [[n, "killed"] for n in range(100)]


def test_a_file_that_is_no_database(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"these are not the bytes of a database, " * 50)
    with pytest.raises(RefusedError, match="is damaged; delete the file") as caught:
        CallCache.open(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes().startswith(b"these are not")


def test_damage_behind_the_header(path: Path) -> None:
    with CallCache.open(path) as cache:
        for number in range(400):
            cache.put(call_key(n=number), "x" * 100, "rollout")
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with CallCache.open(path) as cache, pytest.raises(RefusedError, match="is damaged"):
        cache.get(KEY)


def test_a_value_that_is_no_json(path: Path) -> None:
    with CallCache.open(path) as cache:
        cache.put(KEY, 1, "rollout")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE calls SET value = '{'")
    connection.close()
    with CallCache.open(path) as cache, pytest.raises(RefusedError, match="is damaged"):
        cache.get(KEY)


def test_another_version(path: Path) -> None:
    with CallCache.open(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(RefusedError, match="of version 7, this skillgit reads 1"):
        CallCache.open(path)


def test_a_folder_in_its_place(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(RefusedError, match="cannot be used: Is a directory") as caught:
        CallCache.open(path)
    assert str(path) in str(caught.value)


def test_a_file_where_its_folder_should_be(path: Path) -> None:
    path.parent.write_text("")
    with pytest.raises(RefusedError, match="cannot be used"):
        CallCache.open(path)


def test_a_file_that_may_not_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, who may write everything.
    monkeypatch.setattr("skillgit.models.cache.os.open", full)
    with pytest.raises(RefusedError, match="Permission denied; mend its permissions"):
        CallCache.open(path)


def test_a_full_disk(path: Path) -> None:
    with CallCache.open(path) as cache:
        cache._connection.execute("PRAGMA max_page_count = 3")
        with pytest.raises(RefusedError, match="disk is full; make room"):
            cache.put(KEY, "x" * 40_000, "rollout")


def test_a_holder_that_does_not_let_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CallCache.open(path):
        pass
    monkeypatch.setattr("skillgit.models.cache._BUSY_S", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        with CallCache.open(path) as cache, pytest.raises(RefusedError, match="end the process that holds it"):
            cache.put(KEY, 1, "rollout")
    finally:
        holder.close()
