"""What `skillgit push` says when it is refused: the mends work when they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import cli, hooked, repos, sharing
from support.sharing import Hand

NAME = "topics"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return sharing.bare(tmp_path / "r.git")


@pytest.fixture
def here(tmp_path: Path, remote: Path) -> Hand:
    made = sharing.hand(tmp_path / "a")
    sharing.share(made.root, remote)
    return made


def refused(hand: Hand, *arguments: str) -> str:
    done = cli.call(hand.root, "push", *arguments)
    assert done.code == 2, done.out + done.err
    return done.last


def typed(hand: Hand, mend: str) -> None:
    for line in mend.split("`")[1::2]:
        for command in line.split(" && "):
            words = command.split()
            if words[0] == "git":
                hand.git(*words[1:])
            else:
                assert cli.call(hand.root, *words[1:]).code == 0


def test_two_clones_that_released_under_the_same_number(here: Hand, remote: Path, tmp_path: Path) -> None:
    assert cli.call(here.root, "push").code == 0
    other = Hand(sharing.clone(remote, tmp_path / "b"))
    assert cli.call(other.root, "fetch").code == 0
    for machine, at in ((here, "v8"), (here, "v9"), (other, "v8")):
        machine.tag(at, machine.commit(f"{at} of {machine.root.name}"))
    theirs, ours = here.tip(f"refs/tags/skill/{NAME}/v8"), other.tip(f"refs/tags/skill/{NAME}/v8") or ""
    assert cli.call(here.root, "push").code == 0
    said = refused(other)
    assert said == (
        f"skillgit: error: origin has another skill/{NAME}/v8: {(theirs or '')[:12]} there, {ours[:12]} here; such a "
        f"ref never changes; rename yours: `git tag skill/{NAME}/v10 skill/{NAME}/v8 && git tag -d skill/{NAME}/v8`, "
        "then `skillgit fetch origin`, and push again"
    )
    typed(other, said)
    assert cli.call(other.root, "push").code == 0
    for where in (remote, other.root):
        found = repos.refs(where, f"refs/tags/skill/{NAME}")
        assert (found[f"refs/tags/skill/{NAME}/v8"], found[f"refs/tags/skill/{NAME}/v10"]) == (theirs, ours)
    assert cli.call(other.root, "fetch").err == ""


@pytest.mark.parametrize(("more", "said"), [(1, "1 other ref is refused too"), (2, "2 other refs are refused too")])
def test_how_many_others_are_refused(here: Hand, remote: Path, more: int, said: str) -> None:
    for step in range(4, 5 + more):
        repos.git(remote, "update-ref", here.reject(step), repos.git(remote, "rev-parse", "main"))
    assert f"such a ref never changes ({said}); see which is right; for theirs, `git update-ref -d " in refused(here)


def test_a_refusal_of_our_hook_is_one_error(
    here: Hand, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked.on_path(monkeypatch, tmp_path / "bin")
    assert cli.call(here.root, "hooks", "install").code == 0
    token = f"ghp_{'a1B2' * 9}"
    here.set(here.refs.rejected(here.run, 4, 1), here.commit(f"Use {token}", here.tip(here.refs.branch)))
    said = refused(here)
    assert said.count("error") == 1
    assert said.startswith("skillgit: error: a hook here refused the push: ")
    assert "has a secret (github)" in said
    assert "see pre-push" not in said


def test_more_reasons_of_our_hook_stand_in_one_line(here: Hand) -> None:
    own = 'for n in 1 2; do echo "skillgit: reason $n; mend it" >&2; done'
    sharing.hook(
        here.root, "pre-push", f"{own}; echo 'skillgit: error: this push is refused for 2 reasons' >&2; exit 2"
    )
    end = "reason 1; mend it, and reason 2; mend it"
    assert refused(here) == f"skillgit: error: a hook here refused the push: {end}"
