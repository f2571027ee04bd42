"""The contract of the object stores: the same tests over libgit2 and plumbing, SHA-1 and SHA-256, all layouts."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RepositoryError
from skillgit.store import trees
from skillgit.store.objects import ObjectStore
from skillgit.store.objects_git import PlumbingObjects
from skillgit.store.objects_pygit2 import Pygit2Objects, try_open
from skillgit.store.repository import Repository
from skillgit.store.trees import Entry

FILES = {"SKILL.md": "one\n", "skills/a/SKILL.md": "crlf\r\n", "skills/a/run.sh": "#!/bin/sh\n", "ü/ö.txt": b"\xff\0"}


def plain(where: Path, object_format: str) -> Path:
    return repos.make_repo(where, FILES, object_format=object_format)


def bare(where: Path, object_format: str) -> Path:
    source = plain(where / "source", object_format)
    repos.git(where, "clone", "-q", "--bare", str(source), "bare.git")
    repos.identify(where / "bare.git")
    return where / "bare.git"


def linked(where: Path, object_format: str) -> Path:
    repos.git(plain(where / "main", object_format), "worktree", "add", "-q", "-b", "other", "../linked")
    return where / "linked"


def packed(where: Path, object_format: str) -> Path:
    repos.git(plain(where, object_format), "gc", "-q")
    return where


def borrowing(where: Path, object_format: str) -> Path:
    plain(where / "source", object_format)
    repos.git(where, "clone", "-q", "--shared", "source", "clone")
    repos.identify(where / "clone")
    return where / "clone"


LAYOUTS: list[Callable[[Path, str], Path]] = [plain, bare, linked, packed, borrowing]
KINDS = [("pygit2", "sha1"), ("git", "sha1"), ("git", "sha256")]


@pytest.fixture(params=LAYOUTS, ids=lambda layout: layout.__name__)
def where(request: pytest.FixtureRequest, tmp_path: Path, kind: tuple[str, str]) -> Path:
    (tmp_path / "x").mkdir()
    made: Path = request.param(tmp_path / "x", kind[1])
    return made


@pytest.fixture(params=KINDS, ids="-".join)
def kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    value: tuple[str, str] = request.param
    return value


@pytest.fixture
def store(where: Path, kind: tuple[str, str]) -> Iterator[ObjectStore]:
    repo = Repository.open(where)
    assert repo.object_format == kind[1]
    made: ObjectStore
    if kind[0] == "git":
        made = PlumbingObjects(repo.runner, repo.common_dir, repo.object_format)
    else:
        made = Pygit2Objects(repo.runner, repo.common_dir)
    yield made
    made.close()


def head(where: Path) -> str:
    return repos.git(where, "rev-parse", "HEAD")


def test_blobs_come_back_as_they_are(store: ObjectStore, where: Path) -> None:
    repos.git(where, "config", "core.autocrlf", "true")
    for content in (b"", b"a\r\nb\n\0\xff", b"x" * 100_000):
        oid = store.write_blob(content)
        assert store.read_blob(oid) == content
        assert repos.git(where, "cat-file", "-s", oid) == str(len(content))
        assert oid == repos.git(where, "hash-object", "--no-filters", "--stdin", input=content)


def test_what_git_writes_is_seen_at_once(store: ObjectStore, where: Path) -> None:
    store.read_blob(store.write_blob(b"open the store"))
    oid = repos.git(where, "hash-object", "-w", "--stdin", input="by git")
    assert store.read_blob(oid) == b"by git"


def test_objects_survive_a_repack(store: ObjectStore, where: Path) -> None:
    tip = head(where)
    store.list_files(tip)
    repos.git(where, "repack", "-q", "-a", "-d")
    repos.git(where, "prune-packed")
    assert {path: store.read_blob(e.oid) for path, e in store.list_files(tip).items()}["SKILL.md"] == b"one\n"
    repos.git(where, "gc", "-q", "--prune=now")
    assert store.read_commit(tip).subject == "Start"


def test_files_and_entries(store: ObjectStore, where: Path) -> None:
    tip = head(where)
    expected = {path: content if isinstance(content, bytes) else content.encode() for path, content in FILES.items()}
    assert {path: store.read_blob(e.oid) for path, e in store.list_files(tip).items()} == expected
    assert list(store.list_files(tip, "skills")) == ["skills/a/SKILL.md", "skills/a/run.sh"]
    assert list(store.list_files(tip, "skills/a/")) == ["skills/a/SKILL.md", "skills/a/run.sh"]
    assert store.list_files(tip, "skill") == store.list_files(tip, "SKILL.md") == {}
    found = store.entry(tip, "skills/a/SKILL.md")
    assert found is not None
    assert (found.mode, store.read_blob(found.oid)) == (trees.FILE, b"crlf\r\n")
    folder = store.entry(store.tree_of(tip), "skills/a")
    assert folder is not None
    assert folder.mode == trees.FOLDER
    assert store.entry(tip, "skills/b") is store.entry(tip, "SKILL.md/x") is None


def test_a_commit_is_what_git_would_have_written(store: ObjectStore, where: Path) -> None:
    tip = head(where)
    blob = store.write_blob(b"two\n")
    tree = store.write_tree({"SKILL.md": Entry(trees.EXECUTABLE, blob), "ü/ö.txt": None}, tip)
    message = "skill(x): Grüße\n\nbody\n\nSkill-Name: x\n"
    oid = store.write_commit(tree, [tip], message)
    assert oid == repos.git(where, "commit-tree", tree, "-p", tip, "-F", "-", input=message)
    assert "ü/ö.txt" not in store.list_files(oid)
    assert store.entry(oid, "SKILL.md") == Entry(trees.EXECUTABLE, blob)
    info = store.read_commit(oid)
    assert (info.tree, info.parents, info.message, info.subject) == (tree, (tip,), message, "skill(x): Grüße")
    assert info.author == info.committer == "Test Person <test@example.com>"
    assert info.author_time == info.commit_time == 1767323045
    assert repos.git(where, "log", "-1", "--format=%(trailers:key=Skill-Name,valueonly)", oid) == "x"
    repos.git(where, "update-ref", "refs/heads/new", oid)
    repos.fsck(where)


def test_a_commit_and_a_tag_of_another_time(store: ObjectStore, where: Path) -> None:
    tip, when = head(where), datetime(2025, 6, 7, 8, 9, 10, 999999, timezone(timedelta(hours=-3, minutes=-30)))
    commit = store.write_commit(store.tree_of(tip), [tip], "old\n", when=when)
    date = {"GIT_AUTHOR_DATE": "2025-06-07T08:09:10-0330", "GIT_COMMITTER_DATE": "2025-06-07T08:09:10-0330"}
    assert commit == repos.git(where, "commit-tree", store.tree_of(tip), "-p", tip, "-F", "-", input="old\n", env=date)
    repos.git(where, "tag", "-a", "-m", "old", "theirs", tip, env=date)
    tag = store.write_tag("theirs", tip, "old\n", when=when)
    assert tag == repos.git(where, "rev-parse", "refs/tags/theirs")
    with pytest.raises(ValueError, match="time zone"):
        store.write_commit(store.tree_of(tip), [tip], "old\n", when=when.replace(tzinfo=None))


def test_a_root_commit_of_an_empty_tree(store: ObjectStore, where: Path) -> None:
    oid = store.write_commit(store.write_tree({}, None), [], "root")
    assert store.read_commit(oid).parents == ()
    assert store.read_commit(oid).message == "root\n"
    assert store.list_files(oid) == {}


def test_a_tag_is_annotated(store: ObjectStore, where: Path) -> None:
    tip = head(where)
    oid = store.write_tag("refs/tags/skill/x/v1", tip, "table\n\nSkill-Name: x\n")
    repos.git(where, "update-ref", "refs/tags/skill/x/v1", oid)
    assert repos.git(where, "cat-file", "-t", oid) == "tag"
    assert repos.git(where, "describe", "--exact-match", tip) == "skill/x/v1"
    assert repos.git(where, "for-each-ref", "--format=%(contents)", "refs/tags/skill").startswith("table")
    assert store.tree_of(oid) == store.tree_of(tip)
    assert "SKILL.md" in store.list_files(oid)
    repos.fsck(where)


def history(store: ObjectStore, tip: str) -> tuple[list[str], str, str]:
    """Three commits on top, one beside, one alone."""
    tree = store.tree_of(tip)
    line = [tip]
    for number in range(3):
        line.append(store.write_commit(tree, [line[-1]], f"c{number}"))
    side = store.write_commit(tree, [tip], "side")
    return line, side, store.write_commit(tree, [], "alone")


def test_ancestry(store: ObjectStore, where: Path) -> None:
    line, side, alone = history(store, head(where))
    assert store.is_ancestor(line[0], line[3])
    assert store.is_ancestor(line[3], line[3])
    assert not store.is_ancestor(line[3], line[0])
    assert not store.is_ancestor(side, line[3])
    assert store.merge_base(line[3], side) == line[0]
    assert store.merge_base(line[3], line[1]) == line[1]
    assert store.merge_base(line[3], alone) is None
    merge = store.write_commit(store.tree_of(side), [line[3], side], "merge")
    assert [c.oid for c in store.first_parents(merge, line[1])] == [merge, line[3], line[2]]
    assert [c.oid for c in store.first_parents(merge)][-1] == line[0]


def test_missing_and_wrong_objects_are_named(store: ObjectStore, where: Path) -> None:
    missing = "12" * (len(head(where)) // 2)
    for ask in (store.read_blob, store.read_commit, store.tree_of, store.list_files):
        with pytest.raises(RepositoryError, match=missing):
            ask(missing)
    with pytest.raises(RepositoryError):
        store.is_ancestor(missing, head(where))
    with pytest.raises(RepositoryError):
        store.merge_base(head(where), missing)
    with pytest.raises(RepositoryError, match="is a commit, not a blob"):
        store.read_blob(head(where))
    blob = store.write_blob(b"x")
    with pytest.raises(RepositoryError, match="is a blob"):
        store.list_files(blob)
    for text in ("HEAD", "", missing[:10], f"{missing}\n", missing.upper() + "x", "-h"):
        with pytest.raises(RepositoryError, match="no object id"):
            store.read(text)


def test_a_replaced_object_is_read_as_it_was(store: ObjectStore, where: Path) -> None:
    old, new = store.write_blob(b"measured"), store.write_blob(b"something else")
    repos.git(where, "replace", old, new)
    assert store.read_blob(old) == b"measured"


def test_a_store_can_be_used_after_closing(store: ObjectStore, where: Path) -> None:
    oid = store.write_blob(b"x")
    store.read_blob(oid)
    store.close()
    assert store.read_blob(oid) == b"x"


def test_a_shallow_clone_ends_where_it_ends(tmp_path: Path) -> None:
    source = repos.make_repo(tmp_path / "source", {"a": "1"})
    for text in "23":
        repos.commit(source, {"a": text}, f"c{text}")
    repos.git(tmp_path, "clone", "-q", "--depth=2", source.as_uri(), "clone")
    repos.identify(tmp_path / "clone")
    repo = Repository.open(tmp_path / "clone")
    tip = head(tmp_path / "clone")
    plumbing = PlumbingObjects(repo.runner, repo.common_dir, "sha1")
    for made in (repo.objects, plumbing):
        assert [c.subject for c in made.first_parents(tip)] == ["c3", "c2"]
        assert made.merge_base(tip, made.read_commit(tip).parents[0]) == made.read_commit(tip).parents[0]
        assert made.is_ancestor(made.read_commit(tip).parents[0], tip)
        side = made.write_commit(made.tree_of(tip), [], "alone")
        assert made.merge_base(tip, side) is None
    plumbing.close()


def test_which_store_is_chosen(tmp_path: Path) -> None:
    assert isinstance(Repository.open(repos.make_repo(tmp_path / "sha1")).objects, Pygit2Objects)
    sha256 = Repository.open(repos.make_repo(tmp_path / "sha256", object_format="sha256"))
    assert isinstance(sha256.objects, PlumbingObjects)
    assert try_open(sha256.runner, sha256.common_dir) is None


def test_a_partial_clone_fetches_what_it_reads(tmp_path: Path) -> None:
    source = repos.make_repo(tmp_path / "source", {"a": "old"})
    repos.commit(source, {"a": "new"})
    repos.git(source, "config", "uploadpack.allowFilter", "true")
    repos.git(source, "config", "uploadpack.allowAnySHA1InWant", "true")
    repos.git(tmp_path, "clone", "-q", "--filter=blob:none", source.as_uri(), "clone")
    repo = Repository.open(tmp_path / "clone")
    assert isinstance(repo.objects, PlumbingObjects)
    entry = repo.objects.entry(repos.git(source, "rev-parse", "HEAD~1"), "a")
    assert entry is not None
    assert repo.objects.read_blob(entry.oid) == b"old"
    repo.close()


def test_a_helper_that_was_killed_is_started_again(tmp_path: Path) -> None:
    repo = Repository.open(repos.make_repo(tmp_path / "r", object_format="sha256"))
    oid = repo.objects.write_blob(b"x")
    assert repo.objects.read_blob(oid) == b"x"
    assert isinstance(repo.objects, PlumbingObjects)
    helper = repo.objects._process
    assert helper is not None
    os.kill(helper.pid, signal.SIGKILL)
    assert repo.objects.read_blob(oid) == b"x"
    repo.close()


def test_a_damaged_object_is_named(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "r")
    repo = Repository.open(where)
    oid = repo.objects.write_blob(b"precious")
    path = where / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"rubbish")
    repo.objects.close()
    with pytest.raises(RepositoryError, match=oid):
        repo.objects.read_blob(oid)


def test_an_unwritable_repository_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = repos.make_repo(tmp_path / "r", {"a": "1"})
    repo = Repository.open(where)
    objects = repo.objects
    # Root may write anywhere: a file in place of the folder fails for everyone.
    repos.git(where, "gc", "-q")
    digest = repos.git(where, "hash-object", "--stdin", input="blocked")
    (where / ".git" / "objects" / digest[:2]).write_text("in the way")
    with pytest.raises(RepositoryError, match=r"^git hash-object: "):
        objects.write_blob(b"blocked")
