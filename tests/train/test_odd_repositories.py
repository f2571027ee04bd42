"""A training and its merge in repositories of every odd shape leave what they leave in a plain one, byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import cli, odd, repos, training
from support.histories import differences, story
from support.odd import SHAPES, Shape
from support.server import Server, serve
from support.training import BEST, DOCUMENT, SKILL
from support.world import SEED_DOCUMENT

ODD_DOCUMENT = SEED_DOCUMENT + "\nWritten für people: $Id$ and $Format:%h$.\n"
OURS = (
    *("steps", "state", "scores", "refs/heads/skill/", "refs/tags/skill/"),
    *(f"refs/skillgit/{kind}/" for kind in ("best", "rejected", "evidence")),
)
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


@dataclass(frozen=True)
class Plain:
    """A repository that nobody has trained in, and the story of a training in a copy of it."""

    source: Path
    server: Server
    story: dict[str, Any]
    document: bytes
    merged: dict[str, str]


def entries(root: Path, rev: str) -> dict[str, str]:
    """Mode and blob of the files that a merge writes."""
    return {path: repos.git(root, "ls-tree", rev, path) for path in (DOCUMENT, BEST)}


def raw(root: Path, rev: str, path: str = DOCUMENT) -> bytes:
    """A file of a revision; replaced objects are not followed."""
    text = repos.git(root, "cat-file", "blob", f"{rev}:{path}", env={"GIT_NO_REPLACE_OBJECTS": "1"})
    return f"{text}\n".encode("utf-8", "surrogateescape")


def told_of(root: Path) -> dict[str, Any]:
    """The training's story without what was there before it: the base's history, remote branches, signatures."""
    found = {key: value for key, value in story(root).items() if key.startswith(OURS)}
    unsigned = {key: text.partition("-----BEGIN")[0].rstrip() for key, text in found.items() if "(message)" in key}
    return {**found, **unsigned}


def run(root: Path, *arguments: str) -> cli.Done:
    done = cli.call(root, *arguments)
    assert done.code == 0, done.err
    return done


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plain]:
    folder, world = tmp_path_factory.mktemp("plain"), training.mixed()
    source = training.make(folder / "source", world, config=CONFIG, document=ODD_DOCUMENT)
    with pytest.MonkeyPatch.context() as patch, serve(world) as server:
        repos.plain_environment(patch)
        training.point_at(patch, server.env())
        root = odd.copied(source, folder)
        run(root, "train", SKILL)
        told, document = told_of(root), raw(root, "skill/topics")
        run(root, "merge", SKILL)
        assert any(step["decision"] == "reject" for step in told["steps"])
        assert sum(step["decision"] == "accept-best" for step in told["steps"]) > 1
        yield Plain(source, server, told, document, entries(root, "main"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_training_and_its_merge(plain: Plain, shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training.point_at(monkeypatch, plain.server.env())
    root = shape.make(plain.source, tmp_path)
    before = seen(root)
    run(root, "train", SKILL)
    assert seen(root) == before
    assert differences(plain.story, told_of(root)) == []
    assert raw(root, "skill/topics") == plain.document
    rival = by_hand(root, tmp_path) if shape.checked_out and shape.steady else None
    run(root, "merge", SKILL)
    modes = {path: line.split()[0] for path, line in entries(root, "main").items()}
    assert {path: line.split()[2] for path, line in entries(root, "main").items()} == {
        path: line.split()[2] for path, line in plain.merged.items()
    }
    assert modes[BEST] == "100644"
    assert raw(root, "main") == raw(root, "main", BEST) == plain.document
    if shape.checked_out:
        assert clean(root, again=shape.steady)
        assert written(root, rival) == checkout_of(root, tmp_path)
    repos.fsck(root)


def test_sha256(plain: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are others; documents, decisions and scores are the same, and so is the merge."""
    training.point_at(monkeypatch, plain.server.env())
    root = repos.make_repo(tmp_path / "sha256", object_format="sha256")
    shutil.copytree(plain.source, root, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)
    repos.git(root, "add", "-A")
    repos.git(root, "commit", "-q", "-m", "Start")
    run(root, "train", SKILL)
    found = story(root)
    told = [(step["kind"], step["decision"], step["score"], step["maximum"]) for step in found["steps"]]
    assert told == [(s["kind"], s["decision"], s["score"], s["maximum"]) for s in plain.story["steps"]]
    assert raw(root, "skill/topics") == plain.document
    rival = by_hand(root, tmp_path)
    run(root, "merge", SKILL)
    assert raw(root, "main") == raw(root, "main", BEST) == plain.document
    assert written(root, rival) == checkout_of(root, tmp_path)
    assert clean(root, again=True)
    repos.fsck(root)


def test_reftable(plain: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tuple(map(int, repos.git(tmp_path, "version").split()[2].split(".")[:2]))
    if known < (2, 45):
        pytest.skip("this git does not know reftable")
    training.point_at(monkeypatch, plain.server.env())
    root = odd.reftable(plain.source, tmp_path)
    run(root, "train", SKILL)
    assert differences(plain.story, told_of(root)) == []
    run(root, "merge", SKILL)
    assert raw(root, "main") == plain.document
    repos.fsck(root)


def seen(root: Path) -> tuple[str, list[tuple[str, bytes]]]:
    """What git and a person see of a work tree."""
    files = [
        (str(path.relative_to(root)), path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    ]
    if not (root / ".git").exists():
        return "", []
    return repos.git(root, "status", "--porcelain", "--untracked-files=all", check=False), files


def clean(root: Path, *, again: bool) -> bool:
    """Whether git finds nothing changed; `again`: also after every file was touched, so that it reads all bytes."""
    if repos.git(root, "status", "--porcelain", "--ignore-submodules"):
        return False
    for path in root.rglob("*") if again else ():
        if path.is_file() and not path.is_symlink():
            path.touch()
    return not again or not repos.git(root, "status", "--porcelain", "--ignore-submodules")


def by_hand(root: Path, tmp_path: Path) -> Path | None:
    """A copy of the repository in which a person runs `git merge`; None where its pointers would lead back here."""
    if not (root / ".git").is_dir():
        return None
    copy = tmp_path / "by hand"
    shutil.copytree(root, copy, symlinks=True)
    repos.git(copy, "merge", "-q", "--no-ff", "-m", "By hand", "refs/skillgit/best/topics")
    return copy


def written(root: Path, rival: Path | None) -> dict[str, bytes]:
    """The files that the merge wrote, which are those that `git merge` writes."""
    found = {path: (root / path).read_bytes() for path in (DOCUMENT, BEST) if (root / path).exists()}
    if rival is not None:
        theirs = (rival / DOCUMENT).read_bytes() if (rival / DOCUMENT).exists() else None
        assert found.get(DOCUMENT) == theirs
    return found


def checkout_of(root: Path, tmp_path: Path) -> dict[str, bytes]:
    """The same files as git writes them into an empty folder."""
    index = {"GIT_INDEX_FILE": str(tmp_path / "fresh.index")}
    repos.git(root, "read-tree", "main", env=index)
    paths = [path for path in (DOCUMENT, BEST) if (root / path).exists()]
    if paths:
        repos.git(root, "checkout-index", f"--prefix={tmp_path}/fresh/", "--", *paths, env=index)
    return {path: (tmp_path / "fresh" / path).read_bytes() for path in paths}
