"""Notes of two repositories united; read, and compared, by git itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import repos

from skillgit.store.notes import add_note
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.store.sync.notes import merge_notes, united_lines

OTHER = "refs/notes/other"


@pytest.fixture(params=["sha1", "sha256"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"a": "1", "b": "2", "c": "3"}, object_format=request.param)


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def blob(where: Path, name: str) -> str:
    return repos.git(where, "rev-parse", f"main:{name}")


def write(where: Path, ref: str, oid: str, text: str) -> None:
    repos.git(where, "notes", f"--ref={ref}", "add", "-f", "-F", "-", oid, input=text)


def lines(where: Path, oid: str, ref: str = NOTES) -> list[str]:
    return repos.git(where, "notes", f"--ref={ref}", "show", oid).split("\n")


def shown(where: Path, ref: str = NOTES) -> dict[str, list[str]]:
    """Every object's lines, sorted, as git lists them."""
    listed = (line.split() for line in repos.git(where, "notes", f"--ref={ref}", "list").splitlines())
    return {oid: sorted(lines(where, oid, ref)) for _, oid in listed}


def start(where: Path) -> None:
    """The same notes on both sides."""
    for name in ("a", "b", "c"):
        write(where, NOTES, blob(where, name), f"old {name}\n")
    repos.git(where, "update-ref", OTHER, NOTES)


def merge(repo: Repository, where: Path) -> None:
    theirs = repos.refs(where, OTHER)[OTHER]
    merged = merge_notes(repo, theirs)
    assert repos.refs(where, NOTES)[NOTES] == merged.new
    repos.fsck(where)


def by_git(where: Path) -> dict[str, list[str]]:
    """What `git notes merge -s cat_sort_uniq` makes of the same two."""
    repos.git(where, "update-ref", "refs/notes/git", NOTES)
    repos.git(where, "notes", "--ref=git", "merge", "-q", "-s", "cat_sort_uniq", OTHER)
    return shown(where, "refs/notes/git")


def test_either_side_alone(repo: Repository, where: Path) -> None:
    write(where, OTHER, blob(where, "a"), "theirs\n")
    merge(repo, where)
    assert repos.refs(where, NOTES)[NOTES] == repos.refs(where, OTHER)[OTHER]
    write(where, NOTES, blob(where, "b"), "ours\n")
    ours = repos.refs(where, NOTES)[NOTES]
    merge(repo, where)
    assert repos.refs(where, NOTES)[NOTES] == ours, "theirs is a part of ours"
    repos.git(where, "update-ref", OTHER, NOTES)
    write(where, OTHER, blob(where, "b"), "newer\n")
    merge(repo, where)
    assert repos.refs(where, NOTES)[NOTES] == repos.refs(where, OTHER)[OTHER]


def test_both_have_written(repo: Repository, where: Path) -> None:
    start(where)
    a, b, c = (blob(where, name) for name in "abc")
    write(where, NOTES, a, "old a\nours\nboth\n")
    write(where, OTHER, a, "old a\nboth\ntheirs\n")
    write(where, NOTES, b, "old b\nours\n")
    write(where, OTHER, c, "old c\ntheirs\n")
    write(where, OTHER, repos.git(where, "rev-parse", "main"), "on a commit\n")
    expected = by_git(where)
    merge(repo, where)
    assert lines(where, a) == ["old a", "ours", "both", "theirs"]
    assert shown(where) == expected
    parents = repos.git(where, "log", "-1", "--format=%P", NOTES).split()
    assert parents[1] == repos.refs(where, OTHER)[OTHER]


def test_a_note_that_one_side_took_away(repo: Repository, where: Path) -> None:
    """As git has it: gone where the other side left it as it was, kept where it wrote more."""
    start(where)
    a, b, c = (blob(where, name) for name in "abc")
    repos.git(where, "notes", f"--ref={NOTES}", "remove", a)
    repos.git(where, "notes", f"--ref={OTHER}", "remove", b)
    repos.git(where, "notes", f"--ref={OTHER}", "remove", c)
    write(where, NOTES, c, "old c\nmore\n")
    expected = by_git(where)
    merge(repo, where)
    assert shown(where) == expected == {c: ["more", "old c"]}


def test_notes_that_never_met(repo: Repository, where: Path) -> None:
    a = blob(where, "a")
    write(where, NOTES, a, "ours\n")
    write(where, OTHER, a, "theirs\n")
    merge(repo, where)
    assert lines(where, a) == ["ours", "theirs"]


def test_whatever_folders_they_are_spread_over(repo: Repository, where: Path) -> None:
    oids = [repo.objects.write_blob(b"%d" % number) for number in range(400)]
    write(where, OTHER, oids[0], '{"by": "git"}\n')
    copies = "".join(f"{oids[0]} {oid}\n" for oid in oids[1:])
    repos.git(where, "notes", f"--ref={OTHER}", "copy", "--stdin", input=copies)
    for number in (0, 7):
        add_note(repo, oids[number], {"by": "us"})
    merge(repo, where)
    assert len(repos.git(where, "notes", f"--ref={NOTES}", "list").splitlines()) == 400
    assert lines(where, oids[7]) == ['{"by":"us"}', '{"by": "git"}']
    assert lines(where, oids[8]) == ['{"by": "git"}']


def test_a_persons_files_among_the_notes(repo: Repository, where: Path) -> None:
    """Who can push can write any name into a tree; what would do harm is left where it is."""
    write(where, NOTES, blob(where, "a"), "ours\n")
    text = repos.git(where, "hash-object", "-w", "--stdin", input="x\n")
    commit = repos.git(where, "rev-parse", "main")
    tree = repos.git(
        where, "mktree", "--missing",
        input=f"100644 blob {text}\tREADME\n100644 blob {text}\t.git\n160000 commit {commit}\t{blob(where, 'b')}\n",
    )  # fmt: skip
    repos.git(where, "update-ref", OTHER, repos.git(where, "commit-tree", tree, "-m", "x"))
    merge_notes(repo, repos.refs(where, OTHER)[OTHER])
    names = repos.git(where, "ls-tree", "-r", "--name-only", NOTES).split()
    assert sorted(name.replace("/", "") for name in names) == sorted(["README", blob(where, "a")])


def test_a_writer_in_between_loses_nothing(repo: Repository, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = blob(where, "a")
    write(where, NOTES, a, "ours\n")
    write(where, OTHER, a, "theirs\n")
    from skillgit.store.sync import notes

    real = notes.commit_refs
    said = iter(["meanwhile"])

    def meddled(*args: object, **kwargs: object) -> None:
        for line in said:  # a person's `git notes`, which knows nothing of our lock
            repos.git(where, "notes", f"--ref={NOTES}", "append", "-m", line, a)
        real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(notes, "commit_refs", meddled)
    merge(repo, where)
    assert {"ours", "meanwhile", "theirs"} <= set(lines(where, a))


line = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), max_size=12)


@given(st.lists(line), st.lists(line))
def test_no_line_is_lost_and_none_comes_twice(ours: list[str], theirs: list[str]) -> None:
    united = united_lines("\n".join(ours).encode(), "\n".join(theirs).encode()).decode()
    found = united.split("\n")[:-1]
    assert set(filter(None, found)) == set(filter(None, ours + theirs))
    if ours and ours[-1]:
        assert found[: len(ours)] == ours, "ours stay as they were, in front"
