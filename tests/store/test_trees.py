"""Editing trees, with git's index as the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import repos

from skillgit.store import trees
from skillgit.store.repository import Repository
from skillgit.store.trees import Entry

parts = st.sampled_from(["a", "b", "a.b", "a-b", "a0", "ab", "é", "z z"])
paths = st.lists(parts, min_size=1, max_size=3).map("/".join)
contents = st.sampled_from(["one", "two", "three"])
modes = st.sampled_from([0o100644, 0o100755, 0o120000])


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.open(repos.make_repo(tmp_path_factory.mktemp("trees") / "r"))


def by_git(where: Path, base: str | None, changes: Mapping[str, tuple[int, str] | None]) -> str:
    """The same change made by git's index."""
    env = {"GIT_INDEX_FILE": str(where / "scratch-index")}
    repos.git(where, "read-tree", *([base] if base else ["--empty"]), env=env)
    for path, entry in changes.items():
        if entry is None:
            repos.git(where, "update-index", "--force-remove", "--", path, env=env)
        else:
            info = f"{entry[0]:o},{entry[1]},{path}"
            repos.git(where, "update-index", "--add", "--replace", "--cacheinfo", info, env=env)
    return repos.git(where, "write-tree", env=env)


def without_clashes(changes: Mapping[str, object]) -> bool:
    return not any(other.startswith(f"{path}/") for path in changes for other in changes)


@given(
    start=st.dictionaries(paths, contents, max_size=5).filter(without_clashes),
    changes=st.dictionaries(paths, st.none() | st.tuples(modes, contents), max_size=4).filter(without_clashes),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_trees_are_edited_as_git_would(
    repo: Repository, start: dict[str, str], changes: dict[str, tuple[int, str] | None]
) -> None:
    assert repo.work_tree is not None
    store = repo.objects
    base = store.write_tree(
        {path: Entry(trees.FILE, store.write_blob(text.encode())) for path, text in start.items()}, None
    )
    asked = {path: c and (c[0], store.write_blob(c[1].encode())) for path, c in changes.items()}
    ours = store.write_tree({path: c and Entry(*c) for path, c in asked.items()}, base)
    assert ours == by_git(repo.work_tree, base, asked)
    listed = repos.git(repo.work_tree, "ls-tree", "-r", "-z", ours).split("\0")
    theirs = {line.split("\t", 1)[1]: line.split() for line in listed if line}
    assert {path: [f"{e.mode:06o}", e.oid] for path, e in store.list_files(ours).items()} == {
        path: [fields[0], fields[2]] for path, fields in theirs.items()
    }


def test_a_folder_is_not_removed_by_its_name(repo: Repository) -> None:
    blob = repo.objects.write_blob(b"one")
    base = repo.objects.write_tree({"a/a": Entry(trees.FILE, blob)}, None)
    assert repo.objects.write_tree({"a": None}, base) == base


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "../a", "a/./b", ".git/config", "a/.GIT/x", "a\0b", "git~1/x", "a\\b"]
)
def test_paths_that_git_would_not_check_out(repo: Repository, path: str) -> None:
    with pytest.raises(ValueError, match="cannot be a path"):
        repo.objects.write_tree({path: Entry(trees.FILE, repo.objects.write_blob(b""))}, None)
    with pytest.raises(ValueError, match="cannot be a path"):
        repo.objects.write_tree({path: None}, None)
