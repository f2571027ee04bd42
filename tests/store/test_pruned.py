"""The list of pruned candidates: what counts of it, and how two of them become one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos
from support.sharing import LATER, RUN

from skillgit.errors import RefMovedError
from skillgit.store.pruned import grow, list_ref, parsed, pruned_commits, written
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.sync.lists import read_lists

FIRST, SECOND = SkillRefs("x").rejected(RUN, 1, 1), SkillRefs("x").rejected(LATER, 2, 1)
A, B = "a" * 40, "b" * 64


def test_a_list_is_read_as_it_was_written() -> None:
    assert parsed("x", written({SECOND: "", FIRST: A})) == {FIRST: A, SECOND: ""}
    assert written({SECOND: B, FIRST: ""}) == f"{FIRST}\n{SECOND} {B}\n".encode()
    assert parsed("x", f"{FIRST}  {A} \r\n".encode()) == {FIRST: A}


@pytest.mark.parametrize(
    "line",
    [
        "refs/heads/main",
        "refs/heads/skill/x",
        "refs/skillgit/best/x",
        "refs/skillgit/rejected/x/",
        f"refs/skillgit/rejected/x/{RUN}/*",
        f"refs/skillgit/rejected/x/{RUN}/1-1",
        SkillRefs("other").rejected(RUN, 1, 1),
        f"--all {FIRST}",
        f"{FIRST}\x0b{SECOND}",
        f"refs/skillgit/rejected/x/{RUN}/{'9' * 5000}-01",
        "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
        "",
    ],
)
def test_a_line_that_is_no_whole_name_of_a_candidate_of_the_skill_does_not_count(line: str) -> None:
    assert parsed("x", f"{line}\n{SECOND}\n".encode()) == {SECOND: ""}
    assert parsed("x", f"{FIRST} {line}\n".encode())[FIRST] == ""


def test_ours_grows_by_theirs_and_keeps_what_it_says(tmp_path: Path) -> None:
    repos.make_repo(tmp_path, {"a": "1"})
    repo = Repository.open(tmp_path)
    try:
        blob = repo.objects.write_blob(written({FIRST: A}))
        repos.git(tmp_path, "update-ref", list_ref("x"), blob)
        assert grow(repo, "x", {FIRST: "c" * 40}) is None
        move = grow(repo, "x", {FIRST: "c" * 40, SECOND: B})
        assert move is not None
        assert (move.ref, move.old) == (list_ref("x"), blob)
        repos.git(tmp_path, "update-ref", list_ref("x"), move.new or "")
        assert pruned_commits(repo, "x") == {FIRST: A, SECOND: B}
    finally:
        repo.close()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A repository whose origin has the list `FIRST A`."""
    made = repos.make_repo(tmp_path / "r", {"a": "1"})
    blob = repos.git(made, "hash-object", "-w", "--stdin", input=written({FIRST: A}).decode())
    repos.git(made, "update-ref", list_ref("x"), blob)
    repos.make_repo(tmp_path / "here", {"a": "1"})
    repos.git(tmp_path / "here", "remote", "add", "origin", str(made))
    return made


def test_a_remotes_list_is_read_without_a_ref(remote: Path, tmp_path: Path) -> None:
    repo = Repository.open(tmp_path / "here")
    try:
        before = repos.refs(tmp_path / "here")
        there = repos.refs(remote)
        lists = read_lists(repo, "origin", there, ["x", "y"])
        assert (lists.theirs, lists.ours) == ({"x": {FIRST: A}, "y": {}}, {"x": {}, "y": {}})
        assert (lists.united("x"), lists.elsewhere("x", [FIRST, SECOND])) == (frozenset({FIRST}), [FIRST])
        assert lists.outgoing(repo, "x") is None
        lists.ours["x"] = {FIRST: B}
        assert lists.outgoing(repo, "x") == there[list_ref("x")]
        lists.ours["x"] = {FIRST: B, SECOND: B}
        assert parsed("x", repo.objects.read_blob(lists.outgoing(repo, "x") or "")) == {FIRST: A, SECOND: B}
        assert repos.refs(tmp_path / "here") == before
    finally:
        repo.close()


def test_a_list_that_has_changed_since_it_was_listed(remote: Path, tmp_path: Path) -> None:
    there = repos.refs(remote)
    repos.git(remote, "update-ref", list_ref("x"), repos.git(remote, "rev-parse", "main"))
    repo = Repository.open(tmp_path / "here")
    try:
        with pytest.raises(RefMovedError, match="origin has moved refs/skillgit/pruned/x meanwhile"):
            read_lists(repo, "origin", there, ["x"])
        lists = read_lists(repo, "origin", repos.refs(remote), ["x"])
        assert lists.theirs == {"x": {}}
        assert lists.odd == {"x": "pruned/x on origin is no list of refs, and was left there"}
    finally:
        repo.close()
