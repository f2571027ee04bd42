"""Running git: environment, version, failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store import process
from skillgit.store.process import Git, GitResult


def fake_git(folder: Path, script: str) -> Path:
    folder.mkdir()
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_hooks_repository_variables_are_dropped_and_the_rest_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"]
    dropped += ["GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_CONFIG"]
    kept = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_SSH_COMMAND", "GIT_AUTHOR_DATE", "HOME", "PATH"]
    for name in [*dropped, *kept[:3]]:
        monkeypatch.setenv(name, "/nowhere")
    seen = process.environment({"EXTRA": "1"})
    assert not set(dropped) & set(seen)
    assert set(kept) <= set(seen)
    assert (seen["EXTRA"], seen["LC_ALL"]) == ("1", "C")


def test_git_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="git is not installed") as caught:
        Git(tmp_path).run("version")
    assert caught.value.mend == "install git 2.38 or later"


@pytest.mark.parametrize("version", ["2.37.9", "1.9.0", "2.30.1 (Apple Git-130)"])
def test_git_that_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    path = fake_git(tmp_path / "bin", f"echo 'git version {version}'")
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    with pytest.raises(RepositoryError, match=f"git version {version.split()[0]} is too old"):
        process.program()


def test_something_else_named_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = fake_git(tmp_path / "bin", "exit 3")
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    with pytest.raises(RepositoryError, match="does not run as git"):
        process.program()


@pytest.mark.parametrize("version", ["2.38.0", "2.45.2.windows.1", "3.0.0"])
def test_git_that_is_new_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    path = fake_git(tmp_path / "bin", f'[ "$1" = version ] && echo "git version {version}" || echo GIT_DIR')
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    assert process.program().path == str(path)


def test_a_failure_has_the_command_and_gits_own_line(tmp_path: Path) -> None:
    repo = repos.make_repo(tmp_path / "r")
    with pytest.raises(RepositoryError, match=r"^git cat-file: Not a valid object name nothing$"):
        Git(repo).run("-c", "core.abbrev=7", "cat-file", "-p", "nothing")


def test_check_false_gives_the_result(tmp_path: Path) -> None:
    result = Git(repos.make_repo(tmp_path / "r")).run("cat-file", "-p", "nothing", check=False)
    assert result.code == 128
    assert result.err.startswith("fatal: ")


def test_input_and_output_are_bytes(tmp_path: Path) -> None:
    repo = Git(repos.make_repo(tmp_path / "r"))
    oid = repo.run("hash-object", "-w", "--stdin", input=b"\xff\r\n\0").text
    assert repo.run("cat-file", "blob", oid).out == b"\xff\r\n\0"


def test_nothing_waits_for_our_standard_input(tmp_path: Path) -> None:
    empty = subprocess.run(["git", "hash-object", "--stdin"], input=b"", capture_output=True, check=True).stdout
    assert Git(repos.make_repo(tmp_path / "r")).run("hash-object", "--stdin").out == empty


@pytest.mark.parametrize(
    "err",
    [
        "error: unable to create temporary file: No space left on device\nfatal: failed\n",
        "fatal: Unable to create '/r/.git/x.lock': Permission denied\n",
        "fatal: Unable to create '/r/.git/x.lock': Read-only file system\n",
    ],
)
def test_the_disk_says_no(err: str) -> None:
    error = process.failure(("update-ref",), GitResult(128, b"", err))
    assert isinstance(error, RefusedError)
    assert error.exit_code == 2
    assert error.mend
    assert "\n" not in str(error)


def test_a_killed_git_is_said() -> None:
    assert "signal 9" in str(process.failure(("gc",), GitResult(-9, b"", "")))


def test_the_line_that_counts() -> None:
    assert process.first_line("hint: x\nwarning: y\nfatal: the reason\n") == "the reason"
    assert process.first_line("error: one\nfatal: two\n") == "two"
    assert process.first_line("\nplain\n") == "plain"
    assert process.first_line("") == ""


def test_a_folder_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="no longer there"):
        Git(tmp_path / "gone").run("version")


def test_the_room_is_light_to_import() -> None:
    code = (
        "import sys, skillgit.store.repository, skillgit.store.merging, skillgit.store.notes;"
        "print([m for m in ('git', 'pygit2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
