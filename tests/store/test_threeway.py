"""Three-way merges in pieces: what git merges by itself, and where both sides changed the same lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import repos

from skillgit.store.merging import merge_file
from skillgit.store.repository import Repository
from skillgit.store.threeway import Hunk, Stages, hunks, joined, pieces, stages

BEFORE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture(params=["sha1", "sha256"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"a.md": BEFORE}, object_format=request.param)


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def test_what_both_changed_is_a_hunk_and_the_rest_is_merged(repo: Repository) -> None:
    ours, theirs = BEFORE.replace("two", "2 ours").replace("five", "5"), BEFORE.replace("two", "2 theirs ü")
    found = pieces(repo, ours.encode(), BEFORE.encode(), theirs.encode())
    assert found == ["one\n", Hunk("2 ours\n", "two\n", "2 theirs ü\n"), "three\nfour\n5\n"]
    assert joined(found, lambda n, hunk: f"{n}: {hunk.before}") == "one\n0: two\nthree\nfour\n5\n"


def test_equal_lines_at_the_edges_of_a_conflict_are_merged_text(repo: Repository) -> None:
    found = pieces(repo, b"a\nsame\nours\nend\n", b"a\nend\n", b"a\nsame\ntheirs\nend\n")
    assert found == ["a\nsame\n", Hunk("ours\n", "", "theirs\n"), "end\n"]


def test_lines_that_look_like_markers_are_text(repo: Repository) -> None:
    """A heading underlined by `=======`, and a conflict that somebody committed."""
    ours = "Title\n=======\n<<<<<<< ours\nx\n>>>>>>>>>>> y\n"
    theirs = "Title\n=======\n||||||| z\ny\n"
    found = pieces(repo, ours.encode(), b"Title\n=======\n", theirs.encode())
    assert found == ["Title\n=======\n", Hunk("<<<<<<< ours\nx\n>>>>>>>>>>> y\n", "", "||||||| z\ny\n")]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_text_without_a_last_end_of_line_gets_none(repo: Repository, eol: str) -> None:
    texts = [f"a{eol}b1", f"a{eol}b", f"a{eol}b2{eol}"]
    found = pieces(repo, *(text.encode() for text in texts))
    assert found == [f"a{eol}", Hunk("b1", "b", f"b2{eol}")]


def test_a_merge_without_a_conflict_has_no_hunk(repo: Repository) -> None:
    assert pieces(repo, b"a\nb\nx\n", b"a\nb\n", b"y\na\nb\n") == ["y\na\nb\nx\n"]
    assert pieces(repo, b"", b"", b"") == []


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "<<<<<<< x\n", "=======\n", "c\r\n"]), max_size=6).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ours=LINES, before=LINES, theirs=LINES)
def test_each_side_can_be_had_from_the_pieces(repo: Repository, ours: str, before: str, theirs: str) -> None:
    """A side that takes all conflicts and on which alone something was changed is that side itself; and there is a
    conflict exactly where git's own merge has one."""
    found = pieces(repo, ours.encode(), before.encode(), theirs.encode())
    merged, marked = merge_file(repo, ours, before, theirs)
    assert bool(hunks(found)) is bool(marked)
    if not hunks(found):
        assert joined(found, lambda _, hunk: "") == merged
    alone = pieces(repo, ours.encode(), before.encode(), before.encode())
    assert joined(alone, lambda _, hunk: hunk.ours) == ours


def test_the_stages_of_a_file_in_conflict(repo: Repository, where: Path) -> None:
    base = repos.git(where, "rev-parse", "HEAD")
    ours = repos.commit(where, {"a.md": BEFORE.replace("two", "ours")}, "Ours")
    repos.git(where, "checkout", "-q", "-b", "other", base)
    theirs = repos.commit(where, {"a.md": BEFORE.replace("two", "theirs")}, "Theirs")
    found = stages(repo, ours, theirs, "a.md")
    sides = (found.before, found.ours, found.theirs)
    shown = [repo.objects.read_blob(entry.oid).decode().split("\n")[1] for entry in sides if entry]
    assert shown == ["two", "ours", "theirs"]
    assert stages(repo, ours, theirs, "b.md") == Stages(None, None, None)
    gone = repos.commit(where, {"a.md": None}, "Gone")
    found = stages(repo, ours, gone, "a.md")
    assert (found.ours is None, found.theirs is None) == (False, True)
