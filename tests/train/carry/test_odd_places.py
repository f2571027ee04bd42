"""Changes by hand in repositories and documents of other shapes leave what they leave in a plain one."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import odd, repos, training
from support.carrying import Hand
from support.training import BRANCH, DOCUMENT, SKILL
from support.world import SEED_DOCUMENT

Make = Callable[[Path, Path], Path]


def sha256(source: Path, where: Path) -> Path:
    """The same files in a SHA-256 repository."""
    root = repos.make_repo(where / "repo", object_format="sha256")
    shutil.copytree(source, root, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)
    repos.git(root, "add", "-A")
    repos.git(root, "commit", "-q", "-m", "Start")
    return root


def undo_and_redo(hand: Hand) -> list[str]:
    """An edit is taken out, brought in again and gone back behind; the document after each."""
    right = {hand.world.rule(topic) for topic in hand.world.codes}
    edit = next(edit for edit in hand.edits() if edit.row["content"] in right)
    found = [hand.text()]
    hand.call("revert", SKILL, edit.commit, "--no-gate", "-m", "ключ: \u200fא")
    found.append(hand.text())
    hand.call("cherry-pick", SKILL, edit.commit)
    found.append(hand.text())
    hand.call("rollback", SKILL, "--to", f"{edit.commit}^")
    found.append(hand.text())
    hand.call("attribute", SKILL, "--delete")
    assert [fact["kind"] for fact in hand.notes(edit.commit)][:2] == ["taken-back", "brought-back"]
    hand.call("verify", SKILL)
    repos.fsck(hand.root)
    return found


@pytest.mark.parametrize(
    "make", [odd.bare, odd.linked, odd.linked_on_base, odd.signed, sha256], ids=lambda m: m.__name__
)
def test_repositories_of_other_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    config = training.configuration(train="{num_epochs: 2, batch_size: 8}")
    with training.yard(tmp_path / "plain", monkeypatch, training.mixed(), config=config) as own:
        (tmp_path / "odd").mkdir()
        there = Hand(make(own.root, tmp_path / "odd"), own.world, own.server)
        plain = Hand(own.root, own.world, own.server)
        for hand in (plain, there):
            asyncio.run(hand.train())
        tip = there.git("rev-parse", BRANCH)
        assert undo_and_redo(there) == undo_and_redo(plain)
        if make is odd.signed:
            commits = there.git("rev-list", f"{tip}..{BRANCH}").split()
            assert {there.git("log", "-1", "--format=%G?", commit) for commit in commits} == {"G"}


@pytest.mark.parametrize(
    "document",
    [
        SEED_DOCUMENT.replace("\n", "\r\n"),
        SEED_DOCUMENT + "\nFür „alle“ 中文 עברית 👩‍👩‍👧.\n",
        SEED_DOCUMENT + "\n<!-- SLOW_UPDATE_START -->\n- Be brief.\n<!-- SLOW_UPDATE_END -->\n",
        SEED_DOCUMENT.rstrip("\n"),
    ],
    ids=["crlf", "unicode", "region", "no newline at the end"],
)
def test_documents_of_other_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str) -> None:
    with training.yard(tmp_path / "own", monkeypatch, training.mixed(), document=document) as own:
        hand = Hand(own.root, own.world, own.server)
        hand.again()
        right = {hand.world.rule(topic) for topic in hand.world.codes}
        edit = next(edit for edit in hand.edits() if edit.row["content"] in right)
        before = raw(hand, BRANCH)
        hand.call("revert", SKILL, edit.commit, "--no-gate")
        line = str(edit.row["content"]).encode()
        kept = [one for one in before.splitlines(keepends=True) if one.strip() != line]
        assert [one for one in raw(hand, BRANCH).splitlines(keepends=True) if one.strip()] == [
            one for one in kept if one.strip()
        ]
        hand.call("cherry-pick", SKILL, edit.commit)
        assert line in raw(hand, BRANCH)
        assert sorted(one for one in raw(hand, BRANCH).split() if one) == sorted(one for one in before.split() if one)
        hand.call("rollback", SKILL, "--to", "main")
        assert raw(hand, BRANCH) == document.encode()
        hand.call("verify", SKILL)


def raw(hand: Hand, rev: str) -> bytes:
    """The document's bytes."""
    return subprocess.run(
        ["git", "cat-file", "blob", f"{rev}:{DOCUMENT}"], cwd=hand.root, check=True, capture_output=True
    ).stdout
