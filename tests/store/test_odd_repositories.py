"""Both object stores read, write and compare in repositories of odd shapes as git itself does; SHA-1 and SHA-256."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import odd, repos
from support.training import DOCUMENT

from skillgit.store.objects import ObjectStore
from skillgit.store.objects_git import PlumbingObjects
from skillgit.store.objects_pygit2 import Pygit2Objects
from skillgit.store.repository import Repository

REAL = {"GIT_NO_REPLACE_OBJECTS": "1"}
SHAPES: dict[str, Callable[[Path, Path], Path]] = {
    "plain": odd.copied,
    "sparse": odd.sparse("envs", index=True),
    "shallow": odd.shallow,
    "partial without blobs": odd.partial("blob:none"),
    "partial without trees": odd.partial("tree:0"),
    "linked": odd.linked,
    "submodule": odd.submodule,
    "bare": odd.bare,
    "shared": odd.borrowing("shared"),
    "reference": odd.borrowing("reference"),
    "separate": odd.separate,
    "packed": odd.packed,
    "odd letters": odd.named("ré\"po 'x' $(y) 日本"),
    "replaced": odd.replaced,
    "grafted": odd.grafted,
    "filtered": odd.filtered("sed s/a/b/", "sed s/b/a/"),
    "autocrlf": odd.configured(core__autocrlf="true"),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the repository of an object format that the shapes are made from: a history with a merge in it."""

    @functools.cache
    def make(object_format: str) -> Path:
        files = {DOCUMENT: "a\nb\n", "envs/x": b"\xff\0\r\n", "skillgit.yaml": "version: 1\n", "other.txt": "0\n"}
        made = repos.make_repo(tmp_path_factory.mktemp("source") / "r", files, object_format=object_format)
        repos.git(made, "checkout", "-q", "-b", "side-line")
        repos.commit(made, {"side.txt": "s\n"}, "Side")
        repos.git(made, "checkout", "-q", "main")
        repos.commit(made, {"main.txt": "m\n"}, "Main")
        repos.git(made, "merge", "-q", "--no-ff", "-m", "Both", "side-line")
        return made

    return make


@pytest.fixture(scope="module", params=list(itertools.product(["sha1", "sha256"], SHAPES)), ids="-".join)
def stores(
    request: pytest.FixtureRequest, source: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, list[ObjectStore]]]:
    """A repository with the store that is chosen for it, and the one that works everywhere."""
    object_format, shape = request.param
    with pytest.MonkeyPatch.context() as patch:
        repos.plain_environment(patch)
        root = SHAPES[shape](source(object_format), tmp_path_factory.mktemp("odd"))
        repo = Repository.open(root)
        plumbing = PlumbingObjects(repo.runner, repo.common_dir, repo.object_format)
        expected = Pygit2Objects if object_format == "sha1" and "partial" not in shape else PlumbingObjects
        assert isinstance(repo.objects, expected)
        yield root, [repo.objects, plumbing]
        plumbing.close()
        repo.close()


def test_every_object_is_read_as_git_reads_it(stores: tuple[Path, list[ObjectStore]]) -> None:
    root, both = stores
    listed = repos.git(root, "rev-list", "--objects", "--no-object-names", "HEAD", env=REAL).splitlines()
    assert len(listed) > 6
    for oid in listed:
        kind = repos.git(root, "cat-file", "-t", oid, env=REAL)
        size = int(repos.git(root, "cat-file", "-s", oid, env=REAL))
        for store in both:
            found = store.read(oid)
            assert (found.kind, len(found.data)) == (kind, size)
            # The id is the digest of the bytes: what is written again is the same object.
            assert store.write(found.kind, found.data) == oid


def test_files_are_listed_as_git_lists_them(stores: tuple[Path, list[ObjectStore]]) -> None:
    root, both = stores
    tip = repos.git(root, "rev-parse", "HEAD")
    rows = repos.git(root, "ls-tree", "-r", "-z", tip, env=REAL).split("\0")
    expected = {path: head.split() for head, _, path in (row.partition("\t") for row in rows if row)}
    for store in both:
        found = {path: [f"{entry.mode:06o}", entry.oid] for path, entry in store.list_files(tip).items()}
        assert found == {path: [mode, oid] for path, (mode, _, oid) in expected.items()}


def test_histories_are_compared_as_git_compares_them(stores: tuple[Path, list[ObjectStore]]) -> None:
    root, both = stores
    commits = repos.git(root, "rev-list", "HEAD", env=REAL).splitlines()
    fresh = both[0].write_commit(both[0].tree_of(commits[0]), [commits[0]], "one more")
    for a, b in itertools.product([*commits, fresh], repeat=2):
        base = repos.git(root, "merge-base", a, b, env=REAL, check=False)
        for store in both:
            assert (store.merge_base(a, b) or "") == base
            assert store.is_ancestor(a, b) == (base == a)
    for store in both:
        line = repos.git(root, "rev-list", "--first-parent", fresh, env=REAL).splitlines()
        assert [info.oid for info in store.first_parents(fresh)] == line
