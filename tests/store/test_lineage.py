"""Which commits brought lines, and which took lines out, on real histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos

from skillgit.store.lineage import Touch, touches, versions
from skillgit.store.repository import Repository

BEFORE = "one\ntwo\nthree\n"


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"a.md": BEFORE})


def found(where: Path, tip: str, other: str, side: str, before: str = BEFORE) -> list[Touch]:
    repo = Repository.open(where)
    try:
        return touches(versions(repo, tip, other, "a.md"), side, before)
    finally:
        repo.close()


def test_the_newest_commit_that_brought_a_line_has_it(where: Path) -> None:
    base = repos.git(where, "rev-parse", "HEAD")
    first = repos.commit(where, {"a.md": BEFORE + "four\n"}, "Four")
    repos.commit(where, {"b.md": "other\n"}, "Elsewhere")
    repos.commit(where, {"a.md": BEFORE}, "Without")
    again = repos.commit(where, {"a.md": BEFORE + "four\n\nfive\n"}, "Again")
    assert found(where, again, base, "four\n\nfive\n", "") == [Touch(again, ("four", "five"), ())]
    assert found(where, first, base, "four\n", "") == [Touch(first, ("four",), ())]


def test_a_line_that_is_gone_has_the_commit_that_took_it(where: Path) -> None:
    base = repos.git(where, "rev-parse", "HEAD")
    took = repos.commit(where, {"a.md": "one\nthree\n"}, "No two")
    added = repos.commit(where, {"a.md": "one\nthree\nfour\n"}, "Four")
    assert found(where, added, base, "one\nthree\nfour\n") == [
        Touch(added, ("four",), ()),
        Touch(took, (), ("two",)),
    ]


def test_only_the_lines_of_the_place_count(where: Path) -> None:
    base = repos.git(where, "rev-parse", "HEAD")
    tip = repos.commit(where, {"a.md": BEFORE + "four\nfive\n"}, "Both")
    assert found(where, tip, base, "five\n", "") == [Touch(tip, ("five",), ())]
    assert found(where, tip, base, "\n", "") == []


def test_a_line_that_came_through_a_merge_is_the_commit_s_that_brought_it(where: Path) -> None:
    base = repos.git(where, "rev-parse", "HEAD")
    repos.git(where, "checkout", "-q", "-b", "feature")
    brought = repos.commit(where, {"a.md": BEFORE + "four\n"}, "Four")
    repos.git(where, "checkout", "-q", "main")
    repos.commit(where, {"a.md": "zero\n" + BEFORE}, "Zero")
    repos.git(where, "merge", "-q", "--no-edit", "feature")
    tip = repos.git(where, "rev-parse", "HEAD")
    assert found(where, tip, base, "four\n", "") == [Touch(brought, ("four",), ())]


def test_what_a_merge_itself_brought_is_the_merge_s(where: Path) -> None:
    """A conflict that somebody settled by a line of their own."""
    base = repos.git(where, "rev-parse", "HEAD")
    repos.git(where, "checkout", "-q", "-b", "feature")
    repos.commit(where, {"a.md": BEFORE.replace("two", "zwei")}, "Zwei")
    repos.git(where, "checkout", "-q", "main")
    repos.commit(where, {"a.md": BEFORE.replace("two", "deux")}, "Deux")
    repos.git(where, "merge", "-q", "feature", check=False)
    (where / "a.md").write_text(BEFORE.replace("two", "2"))
    repos.git(where, "commit", "-q", "-a", "-m", "Settled")
    tip = repos.git(where, "rev-parse", "HEAD")
    assert found(where, tip, base, "2\n", "two\n")[0] == Touch(tip, ("2",), ())


def test_a_shallow_clone_tells_what_it_has(where: Path, tmp_path: Path) -> None:
    repos.git(where, "checkout", "-q", "-b", "other")
    other = repos.commit(where, {"b.md": "other\n"}, "Other")
    repos.git(where, "checkout", "-q", "main")
    tip = repos.commit(where, {"a.md": BEFORE + "four\n"}, "Four")
    clone = tmp_path / "clone"
    repos.git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", where.as_uri(), str(clone))
    assert found(clone, tip, other, "four\n", "") == [Touch(tip, ("four",), ())]
