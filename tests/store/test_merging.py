"""Merges and the work tree that follows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RefMovedError, RefusedError, RepositoryError
from skillgit.store import trees
from skillgit.store.merging import (
    best_path,
    check_checkout,
    merge_file,
    merge_tree,
    move_checked_out,
    update_checkout,
)
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate
from skillgit.store.trees import Entry

MAIN = "refs/heads/main"
DOCUMENT, BEST = "skills/x/SKILL.md", "skills/x/best_skill.md"
TEXT = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture(params=["sha1", "sha256"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {DOCUMENT: TEXT, "other.txt": "other\n"}, object_format=request.param)


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def trained(repo: Repository) -> tuple[str, str]:
    """The base's tip, and a merge on top of it with another document and a best_skill.md."""
    old = repo.resolve("main")
    assert old is not None
    blob = repo.objects.write_blob((TEXT + "a rule\n").encode())
    tree = repo.objects.write_tree({DOCUMENT: Entry(trees.FILE, blob), BEST: Entry(trees.FILE, blob)}, old)
    best = repo.objects.write_commit(tree, [old], "best")
    return old, repo.objects.write_commit(tree, [old, best], "merge")


def state(where: Path) -> tuple[str, bytes, str]:
    """All that a refusal must leave as it was."""
    files = "".join(
        f"{p}:{p.read_bytes()!r}" for p in sorted(where.rglob("*")) if p.is_file() and ".git" not in p.parts
    )
    return repos.git(where, "ls-files", "-s"), files.encode(), repos.git(where, "for-each-ref")


def test_where_the_best_document_lies() -> None:
    assert best_path("skills/x/SKILL.md") == "skills/x/best_skill.md"
    assert best_path("SKILL.md") == "best_skill.md"


def test_a_clean_merge_of_trees(repo: Repository, where: Path) -> None:
    repos.git(where, "checkout", "-q", "-b", "side")
    side = repos.commit(where, {DOCUMENT: TEXT + "theirs\n"})
    repos.git(where, "checkout", "-q", "main")
    main = repos.commit(where, {"other.txt": "ours\n"})
    before = state(where)
    merged = merge_tree(repo, main, side)
    assert state(where) == before
    assert merged.conflicts == []
    repos.git(where, "merge", "-q", "--no-edit", "side")
    assert merged.tree == repos.git(where, "rev-parse", "HEAD^{tree}")


def test_conflicts_are_named(repo: Repository, where: Path) -> None:
    repos.git(where, "checkout", "-q", "-b", "side")
    side = repos.commit(where, {DOCUMENT: "theirs\n", "ü\nx": "theirs", "other.txt": "same\n"})
    repos.git(where, "checkout", "-q", "main")
    main = repos.commit(where, {DOCUMENT: "ours\n", "ü\nx": "ours", "other.txt": "same\n"})
    merged = merge_tree(repo, main, side)
    assert merged.conflicts == [DOCUMENT, "ü\nx"]
    entry = repo.objects.entry(merged.tree, DOCUMENT)
    assert entry is not None
    assert b"<<<<<<<" in repo.objects.read_blob(entry.oid)


def test_histories_that_share_nothing(repo: Repository, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    alone = repo.objects.write_commit(repo.objects.tree_of(tip), [], "alone")
    with pytest.raises(RefusedError, match="share no history"):
        merge_tree(repo, tip, alone)
    with pytest.raises(RepositoryError, match="git merge-tree: "):
        merge_tree(repo, tip, "nothing")


def test_a_document_is_merged_by_lines(repo: Repository) -> None:
    ours, theirs = TEXT.replace("line 2\n", "ours\n"), TEXT.replace("line 17\n", "theirs ü\n")
    assert merge_file(repo, ours, TEXT, theirs) == (ours.replace("line 17\n", "theirs ü\n"), "")
    assert merge_file(repo, "a\r\nb\r\n", "a\r\n", "a\r\n") == ("a\r\nb\r\n", "")
    text, conflict = merge_file(repo, "ours\n", "before\n", "theirs\n")
    assert text == ""
    assert conflict == "<<<<<<< base branch\nours\n=======\ntheirs\n>>>>>>> best document\n"
    assert merge_file(repo, "", "", "") == ("", "")


def test_a_checkout_follows_its_branch(repo: Repository, where: Path) -> None:
    old, new = trained(repo)
    move_checked_out(repo, where, RefUpdate(MAIN, old, new), "skillgit merge")
    assert repos.git(where, "status", "--porcelain") == ""
    assert repos.git(where, "rev-parse", "HEAD") == new
    assert (where / DOCUMENT).read_text() == (where / BEST).read_text() == TEXT + "a rule\n"
    assert repos.git(where, "reflog", "-1", "--format=%gs") == "skillgit merge"
    repos.fsck(where)


def test_unrelated_changes_survive(repo: Repository, where: Path) -> None:
    old, new = trained(repo)
    (where / "other.txt").write_text("changed\n")
    (where / "untracked").write_text("mine\n")
    (where / "staged").write_text("staged\n")
    repos.git(where, "add", "staged")
    move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x")
    said = repos.git(where, "status", "--porcelain").split("\n")
    assert said == [" M other.txt", "A  staged", "?? untracked"]
    assert (where / "other.txt").read_text() == "changed\n"


def test_a_file_that_was_only_touched_is_not_changed(repo: Repository, where: Path) -> None:
    old, new = trained(repo)
    (where / DOCUMENT).unlink()
    (where / DOCUMENT).write_text(TEXT)
    update_checkout(repo, where, old, new)
    assert (where / DOCUMENT).read_text() == TEXT + "a rule\n"


Spoil = Callable[[Path], None]


def changed(where: Path) -> None:
    (where / DOCUMENT).write_text("someone is writing\n")


def staged(where: Path) -> None:
    changed(where)
    repos.git(where, "add", DOCUMENT)


def untracked(where: Path) -> None:
    (where / BEST).write_text("mine\n")


def ignored(where: Path) -> None:
    untracked(where)
    (where / ".git" / "info" / "exclude").write_text("best_skill.md\n")


def dangling(where: Path) -> None:
    (where / BEST).symlink_to("nowhere")


def folder(where: Path) -> None:
    (where / BEST).mkdir()
    (where / BEST / "file").write_text("mine\n")


def removed_and_staged(where: Path) -> None:
    repos.git(where, "rm", "-q", "--cached", DOCUMENT)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (changed, DOCUMENT),
        (staged, DOCUMENT),
        (removed_and_staged, DOCUMENT),
        (untracked, BEST),
        (ignored, BEST),
        (dangling, BEST),
        (folder, BEST),
    ],
)
def test_what_would_be_lost_is_refused_and_named(repo: Repository, where: Path, spoil: Spoil, named: str) -> None:
    old, new = trained(repo)
    spoil(where)
    before = state(where)
    for act in (check_checkout, update_checkout):
        with pytest.raises(RefusedError, match=f"^{named}: .*would be") as caught:
            act(repo, where, old, new)
        assert caught.value.mend
    with pytest.raises(RefusedError, match=f"^{named}: "):
        move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x")
    assert state(where) == before


def test_a_half_done_merge_is_refused(repo: Repository, where: Path) -> None:
    repos.git(where, "checkout", "-q", "-b", "side")
    repos.commit(where, {"other.txt": "theirs\n"})
    repos.git(where, "checkout", "-q", "main")
    repos.commit(where, {"other.txt": "ours\n"})
    old, new = trained(repo)
    repos.git(where, "merge", "side", check=False)
    with pytest.raises(RefusedError, match="a merge is not finished") as caught:
        check_checkout(repo, where, old, new)
    assert "git merge --abort" in str(caught.value)


def test_an_index_that_another_git_holds(repo: Repository, where: Path) -> None:
    old, new = trained(repo)
    (where / ".git" / "index.lock").touch()
    with pytest.raises(RefusedError, match=r"another git process works there"):
        update_checkout(repo, where, old, new)
    assert repo.read_ref(MAIN) == old


def test_a_refused_transaction_puts_the_work_tree_back(repo: Repository, where: Path) -> None:
    old, new = trained(repo)
    (where / "other.txt").write_text("changed\n")
    hook = where / ".git" / "hooks" / "reference-transaction"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    before = state(where)
    with pytest.raises(RefusedError, match="hook refused"):
        move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x")
    assert state(where) == before
    hook.unlink()
    other = RefUpdate("refs/skillgit/best/x", old, new)
    with pytest.raises(RefMovedError):
        move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x", others=[other])
    assert state(where) == before


def test_killed_between_work_tree_and_branch(repo: Repository, where: Path) -> None:
    """The merge is then staged: nothing is lost, and merging again completes it."""
    old, new = trained(repo)
    update_checkout(repo, where, old, new)
    assert repos.git(where, "rev-parse", "HEAD") == old
    assert repos.git(where, "diff", "--cached", "--name-status").split("\n") == [f"M\t{DOCUMENT}", f"A\t{BEST}"]
    move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x")
    assert repos.git(where, "status", "--porcelain") == ""


def test_a_linked_work_tree_and_one_that_is_nowhere(repo: Repository, where: Path, tmp_path: Path) -> None:
    repos.git(where, "checkout", "-q", "-b", "elsewhere")
    linked = tmp_path / "linked"
    repos.git(where, "worktree", "add", "-q", str(linked), "main")
    old, new = trained(repo)
    move_checked_out(repo, repo.checked_out_at(MAIN), RefUpdate(MAIN, old, new), "x")
    assert repos.git(linked, "status", "--porcelain") == repos.git(where, "status", "--porcelain") == ""
    assert (linked / BEST).exists()
    assert not (where / BEST).exists()
    assert repo.checked_out_at("refs/heads/side") is None
    move_checked_out(repo, None, RefUpdate("refs/heads/side", None, new), "x")
    assert repo.read_ref("refs/heads/side") == new


def test_a_sparse_checkout_stays_sparse(repo: Repository, where: Path) -> None:
    repos.commit(where, {"docs/a.md": "doc\n"})
    repos.git(where, "sparse-checkout", "set", "--cone", "docs")
    old, new = trained(repo)
    move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x")
    assert repos.git(where, "status", "--porcelain") == ""
    assert not (where / "skills").exists()
    repos.git(where, "sparse-checkout", "disable")
    assert (where / BEST).read_text() == TEXT + "a rule\n"


def test_line_ends_of_the_work_tree_do_not_change_the_blob(repo: Repository, where: Path) -> None:
    repos.git(where, "config", "core.autocrlf", "true")
    old, new = trained(repo)
    move_checked_out(repo, where, RefUpdate(MAIN, old, new), "x")
    assert repos.git(where, "status", "--porcelain") == ""
    assert b"a rule\r\n" in (where / BEST).read_bytes()
    blobs = {repos.git(where, "rev-parse", f"HEAD:{path}") for path in (DOCUMENT, BEST)}
    assert blobs == {repos.git(where, "hash-object", "--stdin", input=TEXT + "a rule\n")}


def test_a_branch_that_moved_meanwhile_leaves_the_work_tree_alone(repo: Repository, where: Path) -> None:
    old, new = trained(repo)
    theirs = repos.commit(where, {"more.txt": "more\n"}, "Theirs")
    before = state(where)
    with pytest.raises(RefMovedError, match=f"{MAIN} was expected at {old} and is {theirs}"):
        move_checked_out(repo, where, RefUpdate(MAIN, old, new), "merge")
    assert state(where) == before
