"""Finding a repository and reading its refs."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from support import repos

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.repository import Repository


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"SKILL.md": "one\n", "deep/er/x": "x"})


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def test_from_a_folder_below(where: Path) -> None:
    repo = Repository.open(where / "deep" / "er")
    assert (repo.work_tree, repo.bare, repo.object_format) == (where, False, "sha1")
    assert repo.git_dir == repo.common_dir == where / ".git"


def test_a_bare_repository(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "b.git", bare=True, object_format="sha256")
    repo = Repository.open(where)
    assert (repo.work_tree, repo.bare, repo.object_format) == (None, True, "sha256")
    assert repo.git_dir == repo.common_dir == where


def test_a_linked_work_tree(where: Path, tmp_path: Path) -> None:
    repos.git(where, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    repo = Repository.open(tmp_path / "linked")
    assert repo.work_tree == tmp_path / "linked"
    assert repo.common_dir == where / ".git"
    assert repo.git_dir == where / ".git" / "worktrees" / "linked"
    assert repo.state_dir == Repository.open(where).state_dir == where / ".git" / "skillgit"


def test_a_linked_work_tree_of_a_bare_repository(where: Path, tmp_path: Path) -> None:
    repos.git(tmp_path, "clone", "-q", "--bare", str(where), "b.git")
    repos.git(tmp_path / "b.git", "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    repo = Repository.open(tmp_path / "linked")
    assert (repo.bare, repo.work_tree) == (False, tmp_path / "linked")
    assert repo.objects.list_files(str(repo.resolve("HEAD")))


def test_inside_the_git_directory(where: Path, tmp_path: Path) -> None:
    repos.git(where, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    assert Repository.open(where / ".git" / "objects").work_tree == where
    assert Repository.open(where / ".git" / "worktrees" / "linked").work_tree == tmp_path / "linked"


def test_a_submodule(where: Path, tmp_path: Path) -> None:
    outer = repos.make_repo(tmp_path / "outer", {"a": "1"})
    repos.git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(where), "sub")
    assert Repository.open(outer / "sub").work_tree == outer / "sub"
    assert Repository.open(outer / ".git" / "modules" / "sub").work_tree == outer / "sub"


def test_a_separate_git_directory(tmp_path: Path) -> None:
    repos.git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), "w")
    repo = Repository.open(tmp_path / "w")
    assert (repo.work_tree, repo.git_dir) == (tmp_path / "w", tmp_path / "elsewhere")


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="is not in a git repository") as caught:
        Repository.open(tmp_path)
    assert caught.value.mend == "run `git init` there, or use -C DIR"
    with pytest.raises(RepositoryError, match="is no folder"):
        Repository.open(tmp_path / "nothing")


def test_a_broken_repository(where: Path) -> None:
    (where / ".git" / "config").write_text("[core\n")
    with pytest.raises(RepositoryError, match="bad config line 1"):
        Repository.open(where)


def test_a_format_that_git_does_not_know(where: Path) -> None:
    repos.git(where, "config", "core.repositoryformatversion", "99")
    with pytest.raises(RepositoryError, match=r"git cannot open the repository: .*99"):
        Repository.open(where)


def test_a_repository_of_someone_else(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(RepositoryError, match="belongs to someone else") as caught:
        Repository.open(where)
    assert caught.value.mend == f"if you trust it, run: git config --global --add safe.directory {where}"


def test_bare_repositories_that_the_person_does_not_allow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = repos.make_repo(tmp_path / "b.git", bare=True)
    settings = tmp_path / "gitconfig"
    settings.write_text("[safe]\n\tbareRepository = explicit\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    with pytest.raises(RepositoryError, match="bare repositories"):
        Repository.open(where)


def test_a_calling_hooks_repository_is_not_ours(where: Path, tmp_path: Path) -> None:
    """git sets GIT_DIR, GIT_INDEX_FILE and others in a hook: here one that looks at another repository."""
    other = repos.make_repo(tmp_path / "other", {"b": "2"})
    code = (
        "from pathlib import Path; from skillgit.store.repository import Repository;"
        f"r = Repository.open(Path({str(other)!r}));"
        "print(r.work_tree, r.resolve('HEAD'), r.objects.write_blob(b'from a hook'))"
    )
    hook = where / ".git" / "hooks" / "pre-commit"
    hook.write_text(f'#!/bin/sh\nexport GIT_DIR GIT_QUARANTINE_PATH=/x\nexec {sys.executable} -c "{code}" > said\n')
    hook.chmod(0o755)
    repos.git(where, "commit", "-q", "--allow-empty", "-m", "with the hook")
    oid = repos.git(other, "hash-object", "--stdin", input="from a hook")
    assert (where / "said").read_text().split() == [str(other), repos.git(other, "rev-parse", "HEAD"), oid]
    assert repos.git(other, "cat-file", "-t", oid) == "blob"


def test_who_commits(repo: Repository, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert repo.identity() == "Test Person <test@example.com>"
    repos.git(where, "config", "--unset", "user.email")
    with pytest.raises(RepositoryError, match="does not know who you are") as caught:
        repo.identity()
    assert "git config user.name" in str(caught.value)
    assert "git config user.email" in str(caught.value)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_EMAIL", f"{role.lower()}@example.com")
    assert repo.identity() == "Test Person <committer@example.com>"


def test_an_identity_that_git_would_make_up_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMAIL", "someone@example.com")
    with pytest.raises(RepositoryError, match="does not know who you are"):
        Repository.open(repos.make_repo(tmp_path / "r", identity=False)).identity()


def test_a_date_that_git_cannot_read(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "the day before")
    with pytest.raises(RepositoryError, match="cannot read a date"):
        repo.identity()


def test_the_checked_out_branch(repo: Repository, where: Path, tmp_path: Path) -> None:
    assert repo.head_branch() == "refs/heads/main"
    assert not repo.is_unborn()
    repos.git(where, "checkout", "-q", "--detach")
    assert repo.head_branch() is None
    assert not repo.is_unborn()
    unborn = Repository.open(repos.make_repo(tmp_path / "unborn"))
    assert unborn.head_branch() == "refs/heads/main"
    assert unborn.is_unborn()
    assert unborn.list_refs("refs/") == {}


def test_revisions(repo: Repository, where: Path) -> None:
    first = repo.resolve("HEAD")
    second = repos.commit(where, {"SKILL.md": "two\n"}, "Second thing")
    repos.git(where, "tag", "-a", "-m", "x", "v1")
    for rev in ("HEAD", "main", "refs/heads/main", second, second[:8], "v1", "v1^0", ":/Second", "@{0}"):
        assert repo.resolve(rev) == second, rev
    assert repo.resolve("v1~1") == first != second
    for rev in (
        "",
        "nothing",
        "HEAD:SKILL.md",
        "HEAD^{tree}",
        "main..HEAD",
        "^main",
        "a\0b",
        ":/no such words",
        "a\nb",
    ):
        assert repo.resolve(rev) is None, rev
    with pytest.raises(RefusedError, match="no revision"):
        repo.resolve("--all")


def test_refs_are_read_by_their_whole_name(repo: Repository, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    repos.git(where, "tag", "-a", "-m", "x", "v1")
    assert repo.read_ref("refs/heads/main") == tip
    assert repo.read_ref("refs/tags/v1") == repos.git(where, "rev-parse", "refs/tags/v1") != tip
    for ref in ("main", "heads/main", "refs/heads/nothing", "refs/heads", "-h", "refs/heads/a b"):
        assert repo.read_ref(ref) is None, ref
    repos.git(where, "pack-refs", "--all")
    assert repo.read_ref("refs/heads/main") == tip


def test_refs_below_a_prefix(repo: Repository, where: Path) -> None:
    tip = repos.git(where, "rev-parse", "HEAD")
    for ref in ("refs/skillgit/runs/b/2", "refs/skillgit/runs/a/1", "refs/skillgit/runs/ab/1", "refs/skillgit/best/a"):
        repos.git(where, "update-ref", ref, tip)
    repos.git(where, "pack-refs", "--all")
    repos.git(where, "update-ref", "refs/skillgit/runs/a/3", tip)
    assert list(repo.list_refs("refs/skillgit/runs/a")) == ["refs/skillgit/runs/a/1", "refs/skillgit/runs/a/3"]
    assert list(repo.list_refs("refs/skillgit/runs/a/")) == ["refs/skillgit/runs/a/1", "refs/skillgit/runs/a/3"]
    assert repo.list_refs("refs/skillgit/best/a") == {"refs/skillgit/best/a": tip}
    assert set(repo.list_refs("refs/").values()) == {tip}


def test_settings(repo: Repository, where: Path) -> None:
    repos.git(where, "config", "skill.git", "two\nlines ")
    assert repo.config("skill.git") == "two\nlines "
    assert repo.config("skill.other") is None
    assert repo.config("nosection") is None
    (where / ".git" / "config").write_text("[core\n")
    with pytest.raises(RepositoryError, match="git config: bad config line 1"):
        repo.config("skill.git")


def test_the_state_folder_cannot_be_made(repo: Repository, where: Path) -> None:
    (where / ".git" / "skillgit").write_text("in the way")
    with pytest.raises(RefusedError, match="skillgit"):
        _ = repo.state_dir


def test_closing_twice_is_fine(repo: Repository) -> None:
    repo.close()
    assert repo.objects.write_blob(b"")
    repo.close()
    repo.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_repository(repo: Repository, where: Path) -> None:
    (where / ".git").chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(RefusedError, match="Permission denied"):
        _ = repo.state_dir
    (where / ".git").chmod(0o755)


def test_a_path_with_odd_characters(tmp_path: Path) -> None:
    where = repos.make_repo(tmp_path / "ü \"'$(x) -C", {"a": "1"})
    repo = Repository.open(where)
    assert repo.work_tree == where
    assert repo.resolve("HEAD")
    assert repo.objects.write_blob(b"x")


def test_a_line_end_in_the_path(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="a line end in the repository's path"):
        Repository.open(repos.make_repo(tmp_path / "a\nb"))


def test_messages_are_english_whatever_the_person_speaks(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LANG", "LANGUAGE"):
        monkeypatch.setenv(name, "de_DE.UTF-8")
    assert Repository.open(where).read_ref("refs/heads/nothing") is None
