"""People's words on a candidate's commit."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RepositoryError, UsageError
from skillgit.store.notes import add_note
from skillgit.store.repository import Repository
from skillgit.train.archive.remarks import Remark, Remarks, remember

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WHO = "Test Person <test@example.com>"


def test_words_are_kept_as_a_line_of_the_notes(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r", {"a": "0"})
    repo, oid = Repository.open(root), repos.git(root, "rev-parse", "HEAD")
    assert Remarks(repo).of(oid) == Remarks(repo).facts(oid) == []
    made = remember(repo, oid, "  Too clever.\nSee the wiki. ", AT)
    assert made == Remark("Too clever.\nSee the wiki.", WHO, "2026-01-02T03:04:05+00:00")
    line = json.loads(repos.git(root, "notes", "--ref=skillgit", "show", oid))
    assert line == {"kind": "note", "text": made.text, "by": WHO, "at": made.at}
    add_note(repo, oid, {"kind": "human", "run": "x"})
    add_note(repo, oid, {"kind": "note"})
    remember(repo, oid, "And again.", AT)
    assert [remark.text for remark in Remarks(repo).of(oid)] == [made.text, "And again."]
    assert [fact["kind"] for fact in Remarks(repo).facts(oid)] == ["note", "human", "note", "note"]
    repos.fsck(root)


def test_secrets_are_taken_out(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r", {"a": "0"})
    oid = repos.git(root, "rev-parse", "HEAD")
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    made = remember(Repository.open(root), oid, f"It leaked {token} to jo@example.com", AT)
    assert token not in made.text
    assert token not in repos.git(root, "notes", "--ref=skillgit", "show", oid)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_no_words(tmp_path: Path, text: str) -> None:
    root = repos.make_repo(tmp_path / "r", {"a": "0"})
    with pytest.raises(UsageError, match="has no text"):
        remember(Repository.open(root), repos.git(root, "rev-parse", "HEAD"), text, AT)
    assert repos.refs(root, "refs/notes") == {}


def test_nobody_can_say_anything_without_a_name(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r", {"a": "0"})
    oid = repos.git(root, "rev-parse", "HEAD")
    for key in ("user.name", "user.email"):
        repos.git(root, "config", "--unset", key)
    repos.git(root, "config", "user.useConfigOnly", "true")
    with pytest.raises(RepositoryError, match=r"user\.name"):
        remember(Repository.open(root), oid, "Why", AT)
    assert repos.refs(root, "refs/notes") == {}
