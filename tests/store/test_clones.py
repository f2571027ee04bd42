"""A repository's own name: made once, kept, and never a clone's."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RefusedError
from skillgit.store.clones import clone_id
from skillgit.store.repository import Repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "repo", {"a": "1\n"})


def named(root: Path) -> str:
    repo = Repository.open(root)
    try:
        return clone_id(repo)
    finally:
        repo.close()


def test_it_is_made_once_and_kept_below_the_git_directory(root: Path) -> None:
    first = named(root)
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert named(root) == first
    assert (root / ".git/skillgit/clone").read_text() == f"{first}\n"
    assert repos.git(root, "status", "--porcelain") == ""


def test_a_clone_has_another_and_a_linked_work_tree_the_same(root: Path, tmp_path: Path) -> None:
    first = named(root)
    repos.git(tmp_path, "clone", "-q", str(root), "other")
    assert named(tmp_path / "other") != first
    repos.git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert named(tmp_path / "linked") == first


@pytest.mark.parametrize("broken", [b"", b"\n", b"0123", b"XYZ\xff" * 4, b"0123456789abcdef0\n"])
def test_a_broken_file_is_made_anew(root: Path, broken: bytes) -> None:
    named(root)
    (root / ".git/skillgit/clone").write_bytes(broken)
    again = named(root)
    assert re.fullmatch(r"[0-9a-f]{16}", again)
    assert named(root) == again


def test_many_at_once_agree(root: Path) -> None:
    (root / ".git/skillgit").mkdir(exist_ok=True)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(named(root))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert [path.name for path in (root / ".git/skillgit").iterdir() if path.name.startswith("clone")] == ["clone"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_clear_line(root: Path) -> None:
    (root / ".git/skillgit").mkdir()
    (root / ".git/skillgit").chmod(0o500)
    with pytest.raises(RefusedError):
        named(root)


def test_a_folder_in_its_place_is_one_clear_line(root: Path) -> None:
    (root / ".git/skillgit/clone").mkdir(parents=True)
    with pytest.raises(RefusedError):
        named(root)
