"""Which remote is meant, and what is shown of it; chosen as git itself would."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos, sharing

from skillgit.errors import RefusedError, UsageError
from skillgit.store.remotes import choose, clean, destination, listing, remote_words, shallow_mend
from skillgit.store.repository import Repository


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {"a": "1"})


@pytest.fixture
def repo(where: Path) -> Repository:
    return Repository.open(where)


def add(where: Path, *names: str) -> None:
    for name in names:
        repos.git(where, "remote", "add", name, f"../{name}.git")


def test_no_remote(repo: Repository) -> None:
    with pytest.raises(UsageError, match="this repository has no remote; add one: git remote add origin URL"):
        choose(repo, None, push=True)


def test_the_only_one_and_origin(repo: Repository, where: Path) -> None:
    add(where, "hub")
    assert choose(repo, None, push=True) == choose(repo, None, push=False) == "hub"
    add(where, "backup")
    with pytest.raises(UsageError, match="which remote\\? known: backup, hub; name one"):
        choose(repo, None, push=True)
    add(where, "origin")
    assert choose(repo, None, push=True) == choose(repo, None, push=False) == "origin"
    assert choose(repo, "hub", push=True) == "hub"


def test_what_git_is_configured_to_choose(repo: Repository, where: Path) -> None:
    add(where, "origin", "hub", "mine", "other")
    repos.git(where, "config", "branch.main.remote", "hub")
    assert choose(repo, None, push=False) == choose(repo, None, push=True) == "hub"
    repos.git(where, "config", "remote.pushDefault", "mine")
    repos.git(where, "config", "branch.main.pushRemote", "other")
    assert (choose(repo, None, push=False), choose(repo, None, push=True)) == ("hub", "other")
    repos.git(where, "checkout", "-q", "--detach")
    assert (choose(repo, None, push=False), choose(repo, None, push=True)) == ("origin", "mine")


@pytest.mark.parametrize("value", [".", "gone", "https://git.example.com/r.git"])
def test_a_branch_that_follows_no_remote_of_a_name(repo: Repository, where: Path, value: str) -> None:
    add(where, "origin", "hub")
    repos.git(where, "config", "branch.main.remote", value)
    assert choose(repo, None, push=True) == "origin"


def test_a_name_that_is_no_remote(repo: Repository, where: Path) -> None:
    add(where, "origin")
    with pytest.raises(UsageError) as caught:
        choose(repo, "https://me:secret@git.example.com/r.git", push=True)
    assert str(caught.value) == ("there is no remote 'https://git.example.com/r.git'; known remotes: origin")


def test_where_pushes_go(repo: Repository, where: Path) -> None:
    add(where, "origin")
    assert destination(repo, "origin") is None
    repos.git(where, "remote", "set-url", "--push", "origin", "../w.git")
    assert destination(repo, "origin") == "../w.git"
    repos.git(where, "remote", "set-url", "--add", "--push", "origin", "../x.git")
    with pytest.raises(UsageError, match="origin has 2 push addresses"):
        destination(repo, "origin")


def test_the_listing_is_what_git_shows(tmp_path: Path) -> None:
    made = sharing.hand(tmp_path / "a")
    repo = Repository.open(made.root)
    made.git("remote", "add", "origin", str(made.root))
    found = listing(repo, "origin")
    assert found == {ref: oid for ref, oid in repos.refs(made.root).items() if ref != "refs/heads/main"}
    assert found[made.refs.release_tag(1)] == made.git("rev-parse", "skill/topics/v1"), "the tag's own id"
    made.git("remote", "add", "empty", str(sharing.bare(tmp_path / "e.git")))
    assert listing(repo, "empty") == {}
    made.git("remote", "add", "none", str(tmp_path / "none.git"))
    with pytest.raises(RefusedError, match=r"^none cannot be reached: .*does not appear to be a git repository"):
        listing(repo, "none")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "fatal: https://me:secret@git.example.com/r.git/ not found",
            "fatal: https://git.example.com/r.git/ not found",
        ),
        ("'https://ghp_token@git.example.com/r'", "'https://git.example.com/r'"),
        ("https://a:p@ss@git.example.com/r", "https://git.example.com/r"),
        ("ssh://git@git.example.com:22/r", "ssh://git.example.com:22/r"),
        ("HTTPS://me:secret@git.example.com", "HTTPS://git.example.com"),
        ("https://git.example.com/@scope/r", "https://git.example.com/@scope/r"),
        ("git@git.example.com:r.git", "git@git.example.com:r.git"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_credentials_are_taken_out(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_what_the_other_side_said() -> None:
    err = (
        "remote: Resolving deltas: 100% (3/3)\nremote: \nremote: policy: ask first \n"
        "remote: see https://u:p@git.example.com/x\nTo ../r.git\nerror: failed to push\n"
    )
    assert remote_words(err) == "policy: ask first see https://git.example.com/x"
    assert remote_words("fatal: no\n") == ""
    assert remote_words("remote: " + "x" * 999) == "x" * 300 + " …"


def test_only_a_shallow_clone_has_a_cut_history(tmp_path: Path, where: Path, repo: Repository) -> None:
    assert shallow_mend(repo, "origin") is None
    repos.commit(where, {"a": "2"})
    cut = sharing.clone(f"file://{where}", tmp_path / "c", "--depth=1")
    assert "git fetch --unshallow origin" in (shallow_mend(Repository.open(cut), "origin") or "")
