"""Candidates that were pruned in one clone, in the others; what is left is read by git."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import cli, hooked, repos, sharing
from support.sharing import RUN, Hand

NAME = "topics"
LIST = f"refs/skillgit/pruned/{NAME}"


@pytest.fixture
def here(tmp_path: Path) -> Hand:
    """Rejected: 3-01, 4-01 and 5-01. Nothing was pushed."""
    made = sharing.hand(tmp_path / "a")
    made.reject(4)
    made.reject(5)
    return made


@pytest.fixture
def remote(tmp_path: Path, here: Hand) -> Path:
    made = sharing.bare(tmp_path / "r.git")
    sharing.share(here.root, made)
    return made


def call(hand: Hand, *arguments: str, code: int = 0) -> cli.Done:
    done = cli.call(hand.root, *arguments)
    assert done.code == code, done.out + done.err
    return done


def kept(where: Path) -> set[str]:
    prefix = f"refs/skillgit/rejected/{NAME}/{RUN}/"
    return {ref.removeprefix(prefix) for ref in repos.refs(where, prefix)}


def listed(where: Path) -> list[str]:
    text = repos.git(where, "cat-file", "blob", LIST) if repos.refs(where, LIST) else ""
    return [line.split()[0][-8:] for line in text.splitlines()]


def second(remote: Path, where: Path) -> Hand:
    made = Hand(sharing.clone(remote, where))
    call(made, "fetch")
    return made


def test_the_list_travels_and_the_second_clone_does_not_send_what_it_names(
    here: Hand, remote: Path, tmp_path: Path
) -> None:
    call(here, "push")
    other = second(remote, tmp_path / "b")
    call(here, "rejected", "prune", NAME, "4", "--push")
    assert (kept(remote), listed(remote)) == ({"00003-01", "00005-01"}, ["00004-01"])
    done = call(other, "push")
    assert kept(remote) == {"00003-01", "00005-01"}
    prune = f"`skillgit rejected prune {NAME}` removes it here"
    said = f"note: 1 rejected candidate of {NAME} was not sent, since a list of pruned ones has it: "
    assert done.err == f"{said}`skillgit fetch origin`, then {prune}\n"
    assert kept(other.root) == {"00003-01", "00004-01", "00005-01"}, "nothing here is removed by itself"
    assert listed(other.root) == []
    done = call(other, "fetch")
    assert done.err == (
        f"note: 1 rejected candidate that is here was pruned elsewhere: no push of yours sends it, and {prune} too\n"
    )
    assert (kept(other.root), listed(other.root)) == ({"00003-01", "00004-01", "00005-01"}, ["00004-01"])
    assert call(other, "fetch").err == "", "it is said once"
    assert call(other, "push").err == f"{said}{prune}\n"
    shown = call(other, "rejected", "prune", NAME, "--dry-run")
    assert shown.out.splitlines()[-1] == f"1 rejected candidate of {NAME} would be pruned here"
    call(other, "rejected", "prune", NAME)
    assert kept(other.root) == {"00003-01", "00005-01"}
    assert "which candidates?" in call(other, "rejected", "prune", NAME, code=2).last
    assert call(other, "push").err == ""
    repos.fsck(remote)
    repos.fsck(other.root)


def test_what_was_pruned_before_the_first_push_is_known_in_other_clones(
    here: Hand, remote: Path, tmp_path: Path
) -> None:
    call(here, "rejected", "prune", NAME, "4")
    done = call(here, "push")
    assert "2 rejected candidates, the list of pruned candidates" in done.out
    assert listed(remote) == ["00004-01"]
    other = second(remote, tmp_path / "b")
    assert listed(other.root) == ["00004-01"]
    other.git("update-ref", other.refs.rejected(RUN, 4, 1), "main")
    call(other, "push")
    assert kept(remote) == {"00003-01", "00005-01"}
    assert call(here, "push").out == f"{NAME}: nothing new for origin\n"


def test_lists_of_two_clones_are_united_and_only_grow(here: Hand, remote: Path, tmp_path: Path) -> None:
    call(here, "push")
    other = second(remote, tmp_path / "b")
    call(here, "rejected", "prune", NAME, "4")
    call(other, "rejected", "prune", NAME, "5")
    call(here, "push")
    found = json.loads(call(other, "push", "--json").out)
    assert [(one["kind"], one["action"]) for one in found["sent"]] == [("pruned", "move")]
    assert listed(remote) == ["00004-01", "00005-01"]
    assert kept(remote) == {"00003-01", "00004-01", "00005-01"}, "without --push nothing there is deleted"
    assert listed(other.root) == ["00005-01"]
    assert call(here, "fetch").out.splitlines()[-1] == "1 rejected candidate that was pruned stays on origin"
    assert listed(here.root) == ["00004-01", "00005-01"]
    assert repos.refs(here.root, LIST) == repos.refs(remote, LIST)
    for machine in (here, other):
        call(machine, "fetch")
        assert call(machine, "push").out == f"{NAME}: nothing new for origin\n"
    # A clone that knows of neither does not get them, even in its first fetch.
    third = Hand(sharing.clone(remote, tmp_path / "c"))
    done = call(third, "fetch")
    assert done.out.splitlines()[-1] == "2 rejected candidates that were pruned stay on origin"
    assert kept(third.root) == {"00003-01"}


def test_a_list_that_changes_at_the_last_moment_is_not_overwritten(here: Hand, remote: Path, tmp_path: Path) -> None:
    call(here, "push")
    other = second(remote, tmp_path / "b")
    call(other, "rejected", "prune", NAME, "5")
    call(other, "push")
    call(here, "rejected", "prune", NAME, "4")
    theirs = other.git(
        "hash-object", "-w", "--stdin", input="".join(f"{other.refs.rejected(RUN, n, 1)}\n" for n in (3, 5))
    )
    race = f"unset GIT_DIR; git -C {other.root} push -q origin +{theirs}:{LIST}; cat > /dev/null"
    hook = sharing.hook(here.root, "pre-push", race)
    done = call(here, "push", code=2)
    assert f"origin has moved {LIST} meanwhile" in done.last
    assert listed(remote) == ["00003-01", "00005-01"]
    hook.unlink()
    call(here, "push")
    assert listed(remote) == ["00003-01", "00004-01", "00005-01"]


def test_a_remotes_list_is_data(here: Hand, remote: Path, tmp_path: Path) -> None:
    call(here, "push")
    lines = ["refs/heads/main", here.refs.branch, here.refs.best, here.refs.journal(RUN), "\x1b[31m", "x" * 9000]
    blob = repos.git(remote, "hash-object", "-w", "--stdin", input="\n".join([*lines, here.refs.rejected(RUN, 3, 1)]))
    repos.git(remote, "update-ref", LIST, blob)
    tip = here.grow("three")
    call(here, "push")
    assert repos.refs(remote, here.refs.branch) == {here.refs.branch: tip}
    call(here, "fetch")
    assert here.git("cat-file", "blob", LIST) == here.refs.rejected(RUN, 3, 1)
    before = repos.refs(here.root)
    call(here, "rejected", "prune", NAME)
    gone = {ref for ref in before if ref not in repos.refs(here.root)}
    assert gone == {here.refs.rejected(RUN, 3, 1)}


@pytest.mark.parametrize("verb", [("push",), ("fetch",), ("rejected", "prune", NAME, "3", "--push")])
def test_a_remotes_ref_that_is_no_list_is_said_and_left(here: Hand, remote: Path, verb: tuple[str, ...]) -> None:
    call(here, "push")
    commit = repos.git(remote, "rev-parse", "main")
    repos.git(remote, "update-ref", LIST, commit)
    call(here, "rejected", "prune", NAME, "4")
    done = call(here, *verb)
    assert f"note: pruned/{NAME} on origin is no list of refs, and was left there\n" in done.err
    assert repos.refs(remote, LIST) == {LIST: commit}
    assert listed(here.root)[0][:5] in ("00003", "00004")


def test_the_hook_of_ours_lets_the_list_through(
    here: Hand, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked.on_path(monkeypatch, tmp_path / "bin")
    call(here, "hooks", "install")
    call(here, "push")
    call(here, "rejected", "prune", NAME, "4", "--push")
    call(here, "rejected", "prune", NAME, "5")
    call(here, "push")
    assert listed(remote) == ["00004-01", "00005-01"]
    assert kept(remote) == {"00003-01", "00005-01"}


def test_a_step_behind_push_is_told_from_a_remote(here: Hand, remote: Path) -> None:
    done = call(here, "rejected", "prune", NAME, "--push", "4", code=2)
    mend = f"skillgit rejected prune {NAME} 4 --push"
    assert done.last == f"skillgit: error: 4 is a STEP, and no remote; STEPs come before --push: `{mend}`"
    call(here, *mend.split()[1:])
    assert kept(here.root) == {"00003-01", "00005-01"}
