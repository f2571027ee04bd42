"""`skillgit rejected prune`, here and on a remote; what is left is read by git."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, sharing
from support.sharing import LATER, RUN, Hand

from skillgit.store.pruned import pruned
from skillgit.store.repository import Repository

NAME = "topics"
LIST = f"refs/skillgit/pruned/{NAME}"


@pytest.fixture
def here(tmp_path: Path) -> Hand:
    """Rejected: 3-01 of both runs, 4-01 and 4-02 of the first."""
    made = sharing.hand(tmp_path / "a")
    for step, k, run in ((4, 1, RUN), (4, 2, RUN), (3, 1, LATER)):
        made.reject(step, k, run=run)
    return made


@pytest.fixture
def remote(tmp_path: Path, here: Hand) -> Path:
    made = sharing.bare(tmp_path / "r.git")
    sharing.share(here.root, made)
    assert cli.call(here.root, "push").code == 0
    return made


def prune(hand: Hand, *arguments: str, code: int = 0) -> cli.Done:
    done = cli.call(hand.root, "rejected", "prune", NAME, *arguments)
    assert done.code == code, done.err
    return done


def told(hand: Hand, *arguments: str) -> Any:
    return json.loads(prune(hand, *arguments, "--json").out)


def kept(where: Path) -> set[str]:
    """RUN/STEP-KK of what is there, the run as `a` or `b`."""
    prefix = f"refs/skillgit/rejected/{NAME}/"
    names = (ref.removeprefix(prefix) for ref in repos.refs(where, prefix))
    return {name.replace(RUN, "a").replace(LATER, "b") for name in names}


ALL = {"a/00003-01", "a/00004-01", "a/00004-02", "b/00003-01"}


@pytest.mark.parametrize(
    ("arguments", "gone"),
    [
        (("3",), {"b/00003-01"}),
        ((f"{RUN[:25]}f/3",), {"a/00003-01"}),
        (("4-1", "4-02"), {"a/00004-01", "a/00004-02"}),
        (("--run", RUN), {"a/00003-01", "a/00004-01", "a/00004-02"}),
        (("--run", LATER), {"b/00003-01"}),
        (("--all",), ALL),
        (("--all", "--run", LATER), {"b/00003-01"}),
        (("--older-than", "0"), ALL),
    ],
)
def test_which_ones(here: Hand, arguments: tuple[str, ...], gone: set[str]) -> None:
    shown = prune(here, *arguments, "--dry-run")
    assert kept(here.root) == ALL
    assert shown.out.splitlines()[-1].startswith(f"{len(gone)} rejected candidate")
    assert f"{len(shown.out.splitlines()) - 1} " == f"{len(gone)} "
    prune(here, *arguments)
    assert kept(here.root) == ALL - gone
    repos.fsck(here.root)


def test_by_age(here: Hand) -> None:
    """The age of the candidate's commit: the tests' commits are of 2026-01-02."""
    days = (datetime.now(UTC) - datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) // timedelta(days=1)
    old = repos.git(
        here.root, "commit-tree", "main^{tree}", "-m", "x", env={"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    )
    here.set(here.refs.rejected(RUN, 9, 1), old)
    assert [ref[-8:] for ref in told(here, "--older-than", str(days + 1))["pruned"]] == ["00009-01"]
    assert told(here, "--older-than", str(days + 1))["pruned"] == []
    assert len(told(here, "--older-than", str(days))["pruned"]) == 4


def test_the_list_says_what_was_there_and_the_journal_keeps_it(here: Hand) -> None:
    ref = here.refs.rejected(RUN, 4, 2)
    commit = here.tip(ref) or ""
    here.entry(4, [(ref, None, commit)])
    assert told(here, "4-2")["pruned"] == [ref]
    assert here.git("cat-file", "blob", LIST) == f"{ref} {commit}"
    assert prune(here, "3").out == f"1 rejected candidate of {NAME} pruned here\n"
    second = here.refs.rejected(LATER, 3, 1)
    assert [line.split()[0] for line in here.git("cat-file", "blob", LIST).split("\n")] == [ref, second]
    repo = Repository.open(here.root)
    assert pruned(repo, NAME) == {ref, second}
    repo.close()
    here.git("reflog", "expire", "--expire=now", "--all")
    here.git("gc", "-q", "--prune=now")
    assert here.git("cat-file", "-t", commit) == "commit"
    assert here.git("cat-file", "-t", LIST) == "blob"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "which candidates?; name STEPs, or use --run, --older-than or --all"),
        (("4",), f"{NAME} has more than one rejected candidate '4': 4-01, 4-02; name one of them"),
        (("77",), f"{NAME} has no rejected candidate '77'; see `skillgit rejected list {NAME}`"),
        (("3", "77"), f"{NAME} has no rejected candidate '77'; see `skillgit rejected list {NAME}`"),
        (("--run", "7zz"), f"{NAME} has no rejected candidate of run 7zz; see `skillgit rejected list {NAME}`"),
        (("3", "--all"), "STEPs and --run, --older-than or --all exclude each other; leave one of the two out"),
        (("3", "--push"), "this repository has no remote; add one: git remote add origin URL"),
        (("--push=nowhere", "3"), "there is no remote 'nowhere'; add one: git remote add NAME URL"),
    ],
)
def test_refusals_remove_nothing(here: Hand, arguments: tuple[str, ...], why: str) -> None:
    done = prune(here, *arguments, code=2)
    assert done.last == f"skillgit: error: {why}"
    assert kept(here.root) == ALL
    assert here.tip(LIST) is None


def test_a_skill_in_training_is_not_pruned(here: Hand) -> None:
    from skillgit.store.locks import SkillLock

    repo = Repository.open(here.root)
    with SkillLock.acquire(repo, NAME, "train"):
        done = prune(here, "--all", code=2)
    repo.close()
    assert f"skill {NAME} is in use by process" in done.last
    assert kept(here.root) == ALL


def test_neither_fetch_nor_push_brings_them_back(here: Hand, remote: Path) -> None:
    prune(here, "--all")
    assert kept(remote) == ALL, "without --push the remote keeps them"
    done = cli.call(here.root, "fetch")
    assert "4 rejected candidates that were pruned stay on origin\n" in done.out
    assert kept(here.root) == set()
    # Even a ref that somebody sets again is not sent.
    prune(here, "--push")
    assert kept(remote) == set()
    ref = here.refs.rejected(RUN, 3, 1)
    here.set(ref, here.git("rev-parse", "main"))
    assert cli.call(here.root, "push").code == 0
    assert kept(remote) == set()
    new = here.reject(5)
    assert cli.call(here.root, "push").code == 0
    assert set(repos.refs(remote, here.refs.rejected_prefix)) == {new}


def test_on_the_remote_too(here: Hand, remote: Path) -> None:
    shown = prune(here, "4-1", "--push", "--dry-run")
    assert shown.out.splitlines()[1:] == [
        f"1 rejected candidate of {NAME} would be pruned here",
        "1 would be deleted on origin",
    ]
    assert kept(remote) == ALL
    done = told(here, "4-1", "--push")
    ref = here.refs.rejected(RUN, 4, 1)
    assert done == {
        "skill": NAME,
        "dry_run": False,
        "pruned": [ref],
        "remote": "origin",
        "deleted": [ref],
        "differing": [],
    }
    assert kept(here.root) == kept(remote) == ALL - {"a/00004-01"}
    # What was pruned before can be named again for the remote.
    prune(here, "4-2")
    assert told(here, "4-2", "--push=origin")["deleted"] == [here.refs.rejected(RUN, 4, 2)]
    assert kept(remote) == ALL - {"a/00004-01", "a/00004-02"}
    assert told(here, "--push")["deleted"] == []


def test_another_value_on_the_remote_stays_and_is_named(here: Hand, remote: Path) -> None:
    ref = here.refs.rejected(RUN, 4, 1)
    repos.git(remote, "update-ref", ref, "main")
    done = prune(here, "--all", "--push", code=2)
    assert done.last == (
        f"skillgit: error: origin has another commit at {ref}, which stays there; "
        "see what it is before deleting it by hand"
    )
    assert "3 deleted on origin" in done.out
    assert kept(remote) == {"a/00004-01"}
    assert kept(here.root) == set()


def test_a_value_that_changes_at_the_last_moment_stays(here: Hand, remote: Path) -> None:
    """The deletion itself carries the lease."""
    ref = here.refs.rejected(RUN, 4, 1)
    sharing.hook(here.root, "pre-push", f"unset GIT_DIR; git -C {remote} update-ref {ref} main; cat > /dev/null")
    done = prune(here, "4-1", "4-2", "--push", code=2)
    assert done.code == 2
    assert f"origin has moved {ref} meanwhile" in done.last
    assert kept(remote) == ALL


@pytest.mark.parametrize("setting", ["receive.denyDeletes", "receive.denyNonFastForwards"])
def test_settings_that_protect_branches(here: Hand, remote: Path, setting: str) -> None:
    repos.git(remote, "config", setting, "true")
    prune(here, "--all", "--push")
    assert kept(remote) == set()


def test_a_server_that_keeps_them(here: Hand, remote: Path) -> None:
    sharing.hook(remote, "update", 'echo "we keep everything"; exit 1')
    done = prune(here, "3", "--push", code=2)
    ref = here.refs.rejected(LATER, 3, 1)
    assert done.last == f"skillgit: error: origin refused {ref}: hook declined: we keep everything"
    assert kept(remote) == ALL
    assert kept(here.root) == ALL - {"b/00003-01"}, "what was pruned here stays pruned"
    (remote / "hooks/update").unlink()
    prune(here, "--push")
    assert kept(remote) == ALL - {"b/00003-01"}


def test_more_deletions_than_a_command_line_holds(here: Hand, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = here.root.parent / "seen"
    sharing.hook(here.root, "pre-push", f"echo x >> {seen}; cat > /dev/null")
    monkeypatch.setattr("skillgit.store.sync.refspecs.room", lambda: 600)
    prune(here, "--all", "--push")
    assert kept(remote) == set()
    assert len(seen.read_text().split()) == 2
