"""`skillgit fetch` from real remotes; what is here is read by git."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, sharing
from support.sharing import LATER, RUN, Hand

from skillgit.store.locks import SkillLock
from skillgit.store.notes import add_note, read_notes
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository

NAME = "topics"
COPY = "refs/remotes/origin/skill/topics"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return sharing.bare(tmp_path / "r.git")


@pytest.fixture
def there(tmp_path: Path, remote: Path) -> Hand:
    """The first machine, which has pushed."""
    made = sharing.hand(tmp_path / "a")
    sharing.share(made.root, remote)
    assert cli.call(made.root, "push", "--evidence").code == 0
    return made


@pytest.fixture
def here(tmp_path: Path, there: Hand, remote: Path) -> Hand:
    """The second machine, fresh."""
    return Hand(sharing.clone(remote, tmp_path / "b"))


def fetch(hand: Hand, *arguments: str, code: int = 0) -> cli.Done:
    done = cli.call(hand.root, "fetch", *arguments)
    assert done.code == code, done.err
    return done


def started(hand: Hand) -> str:
    """Fetch, and take the branch as training would."""
    fetch(hand)
    return hand.set(hand.refs.branch, hand.git("rev-parse", COPY))


def send(hand: Hand) -> None:
    done = cli.call(hand.root, "push")
    assert done.code == 0, done.err


def typed(hand: Hand, mend: str) -> None:
    """Run what a mend says, as a person would type it."""
    for line in mend.split("`")[1::2]:
        for command in line.split(" && "):
            words = command.split()
            if words[0] == "git":
                hand.git(*words[1:])
            else:
                assert cli.call(hand.root, *words[1:]).code == 0


def without_branch(found: dict[str, str]) -> dict[str, str]:
    return {ref: oid for ref, oid in found.items() if not ref.startswith("refs/heads/")}


def test_a_fresh_clone_gets_all_but_branch_and_transcripts(here: Hand, there: Hand) -> None:
    before = repos.refs(here.root)
    shown = fetch(here, "--dry-run")
    assert repos.refs(here.root) == before, "a dry run gets nothing"
    # The clone itself has brought the branch's copy and the tags.
    parts = "best, published, 1 rejected candidate, 1 journal, tasks"
    assert shown.out.startswith(f"{NAME}: would fetch {parts} from origin\n")
    done = fetch(here)
    assert done.out == (
        f"{NAME}: fetched {parts} from origin\n{NAME}: `skillgit train {NAME}` starts from origin/skill/{NAME}\n"
    )
    assert without_branch(sharing.travelling(here.root)) == without_branch(sharing.travelling(there.root))
    assert here.tip(COPY) == there.tip(there.refs.branch)
    assert here.tip(here.refs.branch) is None
    assert repos.refs(here.root, "refs/skillgit/evidence") == {}
    assert not (here.root / ".git/FETCH_HEAD").exists()
    assert fetch(here).out.startswith(f"{NAME}: nothing new on origin\n")
    repos.fsck(here.root)


def test_transcripts_come_where_they_are_asked_for(here: Hand, there: Hand) -> None:
    fetch(here, "--evidence")
    ref = here.refs.evidence(RUN)
    assert here.tip(ref) == there.tip(ref)


def test_a_clone_of_main_alone_without_tags(remote: Path, there: Hand, tmp_path: Path) -> None:
    """Nothing hangs on what a person has configured to be fetched."""
    alone = Hand(sharing.clone(f"file://{remote}", tmp_path / "c", "--single-branch", "--no-tags"))
    fetch(alone)
    assert alone.tip(COPY) == there.tip(there.refs.branch)
    assert without_branch(sharing.travelling(alone.root)) == without_branch(sharing.travelling(there.root))


def test_what_is_behind_goes_forward_together(here: Hand, there: Hand) -> None:
    old = started(here)
    first = there.tip(there.refs.best) or ""
    new = there.grow("three")
    there.entry(3, [(there.refs.best, first, new)])
    there.set(there.refs.best, new)
    there.set(there.refs.published, new)
    there.set(there.refs.tasks, there.commit("more tasks", there.tip(there.refs.tasks)))
    send(there)
    done = json.loads(fetch(here, "--json").out)
    assert {one["ref"]: (one["old"], one["new"]) for one in done["moved"]} == {
        ref: (there.git("rev-parse", f"{ref}^") if ref != there.refs.published else old + "", there.tip(ref))
        for ref in (there.refs.branch, there.refs.best, there.refs.journal(RUN), there.refs.tasks)
    } | {there.refs.published: (there.git("rev-parse", f"{new}~2"), new)}
    assert sharing.travelling(here.root) == sharing.travelling(there.root)
    assert done["left"] == []
    assert here.git("reflog", "-1", "--format=%gs", here.refs.branch) == "skillgit: fetch from origin"


def test_what_is_ahead_stays(here: Hand, there: Hand) -> None:
    started(here)
    here.grow("three")
    here.entry(3)
    before = sharing.travelling(here.root)
    assert fetch(here).err == ""
    assert sharing.travelling(here.root) == before


def test_a_branch_that_is_checked_out_stays_with_its_journals(here: Hand, there: Hand, tmp_path: Path) -> None:
    started(here)
    here.git("worktree", "add", "-q", str(tmp_path / "linked"), f"skill/{NAME}")
    before = sharing.travelling(here.root)
    there.grow("three")
    there.entry(3)
    send(there)
    done = fetch(here)
    assert done.err == (
        f"note: origin has newer steps of {NAME}, but skill/{NAME} is checked out at {tmp_path / 'linked'}: "
        "switch that work tree to another branch and fetch again\n"
    )
    assert sharing.travelling(here.root) == before
    assert here.tip(COPY) == there.tip(there.refs.branch)
    here.git("worktree", "remove", str(tmp_path / "linked"))
    fetch(here)
    assert sharing.travelling(here.root) == sharing.travelling(there.root)


def test_a_skill_in_training_stays_and_what_came_waits(here: Hand, there: Hand) -> None:
    started(here)
    before = sharing.travelling(here.root)
    there.grow("three")
    there.entry(3)
    send(there)
    repo = Repository.open(here.root)
    with SkillLock.acquire(repo, NAME, "train"):
        done = fetch(here)
    repo.close()
    assert f"skill {NAME} is in use by process " in done.err
    assert "fetch again afterwards" in done.err
    assert sharing.travelling(here.root) == before
    assert here.tip(COPY) == there.tip(there.refs.branch)
    fetch(here)
    assert sharing.travelling(here.root) == sharing.travelling(there.root)


def test_branches_that_have_gone_apart_are_said_and_left(here: Hand, there: Hand) -> None:
    started(here)
    mine = here.grow("of the second machine")
    here.entry(3)
    there.grow("of the first")
    there.grow("of the first, too")
    there.entry(1, run=LATER)
    rejected = there.reject(4, run=LATER)
    send(there)
    journal, best = here.tip(here.refs.journal(RUN)), here.tip(here.refs.best)
    done = fetch(here)
    assert done.err == (
        f"note: origin/skill/{NAME} has 2 commits that yours lacks, and yours has others: "
        f"`skillgit train {NAME}` re-bases your steps onto it and gates them again\n"
    )
    assert here.tip(here.refs.branch) == mine
    assert here.tip(here.refs.best) == best
    assert repos.refs(here.root, here.refs.journals_prefix) == {
        here.refs.journal(RUN): journal,
        here.refs.journal(LATER): there.tip(there.refs.journal(LATER)),
    }
    assert here.tip(rejected) == there.tip(rejected)


def test_a_journal_that_was_written_on_two_machines_is_said(here: Hand, there: Hand) -> None:
    started(here)
    mine = here.entry(3, [(here.refs.best, None, here.tip(here.refs.best) or "")])
    there.entry(3)
    send(there)
    done = fetch(here)
    assert done.err == f"note: runs/{NAME}/{RUN} and origin's have gone apart: ours stays at {mine[:12]}\n"
    assert here.tip(here.refs.journal(RUN)) == mine


@pytest.mark.parametrize("kind", ["tag", "rejected"])
def test_another_value_of_what_never_changes_is_said_and_ours_stays(here: Hand, there: Hand, kind: str) -> None:
    make = (lambda hand: hand.tag("v2")) if kind == "tag" else (lambda hand: hand.reject(8))
    ref = make(here)
    make(there) if kind == "tag" else there.set(ref, there.commit("another"))
    if kind == "tag":
        there.git("tag", "-f", "-a", "-m", "Another", f"skill/{NAME}/v2", "main")
    send(there)
    ours = here.tip(ref)
    done = fetch(here)
    short = ref.removeprefix("refs/tags/").removeprefix("refs/skillgit/")
    said = f"note: {short} is another one on origin; such a ref never changes, and ours stays: "
    assert done.err.startswith(said)
    assert len(done.err.splitlines()) == 1
    assert here.tip(ref) == ours
    assert json.loads(fetch(here, "--json").out)["conflicts"] == [ref]
    assert here.tip(here.refs.best) == there.tip(there.refs.best), "the rest came"
    typed(here, done.err)
    assert here.tip(ref) == there.tip(ref)
    assert here.tip(f"refs/tags/skill/{NAME}/v3") == (ours if kind == "tag" else None)
    send(here)


def test_configured_refspecs_and_pruning_take_no_part(here: Hand, there: Hand) -> None:
    started(here)
    ours = here.grow("three")
    own = here.reject(9)
    here.git("config", "--add", "remote.origin.fetch", "+refs/skillgit/*:refs/skillgit/*")
    here.git("config", "--add", "remote.origin.fetch", "+refs/heads/*:refs/heads/*")
    for key in ("fetch.prune", "fetch.pruneTags", "remote.origin.prune", "remote.origin.pruneTags"):
        here.git("config", key, "true")
    here.git("config", "remote.origin.tagOpt", "--tags")
    mine = here.tag("v9")
    there.git("tag", "private")
    there.git("push", "-q", "origin", "private")
    there.reject(5)
    send(there)
    fetch(here)
    assert here.tip(here.refs.branch) == ours
    assert here.tip(own) is not None
    assert here.tip(mine) is not None
    assert here.tip(here.refs.evidence(RUN)) is None
    assert here.tip("refs/tags/private") is None
    assert here.tip(there.refs.rejected(RUN, 5, 1)) is not None


def test_many_rejected_candidates_at_once(here: Hand, there: Hand) -> None:
    """More than git could look for one by one."""
    tip = there.tip(there.refs.branch)
    refs = [there.refs.rejected(LATER, step, 1) for step in range(1, 2501)]
    there.git("update-ref", "--stdin", input="".join(f"create {ref} {tip}\n" for ref in refs))
    send(there)
    other = here.set(refs[0], here.git("rev-parse", "main"))
    here.set(f"refs/skillgit/pruned/{NAME}", here.git("hash-object", "-w", "--stdin", input=f"{refs[1]}\n"))
    done = json.loads(fetch(here, "--json").out)
    assert (done["pruned"], done["conflicts"]) == (1, [refs[0]])
    found = repos.refs(here.root, f"{here.refs.rejected_prefix}{LATER}")
    assert found == {refs[0]: other, **dict.fromkeys(refs[2:], tip)}


def test_notes_come_and_are_united(here: Hand, there: Hand) -> None:
    subject = here.git("rev-parse", "main")
    for machine, by in ((there, "first"), (here, "second")):
        repo = Repository.open(machine.root)
        add_note(repo, subject, {"by": by})
        repo.close()
    send(there)
    assert fetch(here).out.endswith("notes: fetched from origin\n")
    repo = Repository.open(here.root)
    assert [fact["by"] for fact in read_notes(repo, subject)] == ["second", "first"]
    repo.close()
    assert len(here.git("rev-list", "--parents", "-1", NOTES).split()) == 3
    assert "notes" not in fetch(here).out
    repos.fsck(here.root)


@pytest.mark.parametrize(
    "options", [("--depth=1", "--no-single-branch"), ("--filter=blob:none",), ("--filter=tree:0",)]
)
def test_shallow_and_partial_clones(remote: Path, there: Hand, tmp_path: Path, options: tuple[str, ...]) -> None:
    repos.git(remote, "config", "uploadpack.allowFilter", "true")
    part = Hand(sharing.clone(f"file://{remote}", tmp_path / "c", *options))
    shallow = (part.root / ".git/shallow").exists()
    fetch(part)
    started(part)
    there.grow("three")
    there.entry(3)
    send(there)
    fetch(part)
    assert sharing.travelling(part.root) == sharing.travelling(there.root)
    assert (part.root / ".git/shallow").exists() == shallow, "its history is as short as it was"
    tip = part.grow("four")
    send(part)
    assert repos.refs(remote, part.refs.branch) == {part.refs.branch: tip}


def test_a_shallow_clone_says_what_is_missing(remote: Path, there: Hand, tmp_path: Path) -> None:
    part = Hand(sharing.clone(f"file://{remote}", tmp_path / "c", "--depth=1", "--no-single-branch"))
    started(part)
    part.grow("of the shallow one")
    there.grow("of the whole one")
    send(there)
    done = fetch(part)
    assert "that yours lacks, and yours has others" in done.err
    mend = "note: this clone is shallow, so older commits are not here: git fetch --unshallow origin"
    assert done.err.splitlines()[-1] == mend


def test_skills_that_the_remote_has_beside_those_of_the_configuration(here: Hand, there: Hand) -> None:
    others = Hand(there.root, "others")
    tip = others.grow("of the others")
    assert cli.call(there.root, "push", "origin", "others").code == 0
    assert [line.split(":")[0] for line in fetch(here).out.splitlines()] == ["others", "others", NAME, NAME]
    assert here.tip("refs/remotes/origin/skill/others") == tip


def test_only_the_skills_that_are_named(here: Hand, there: Hand) -> None:
    assert cli.call(there.root, "push", "origin", "others").code == 2
    Hand(there.root, "others").grow("of the others")
    assert cli.call(there.root, "push", "origin", "others").code == 0
    fetch(here, "origin", "others")
    assert here.tip("refs/remotes/origin/skill/others") is not None
    assert here.tip(here.refs.best) is None
    done = fetch(here, "origin", "nobody", code=2)
    assert done.last.startswith("skillgit: error: there is no skill 'nobody', neither here nor there; ")


def test_a_repository_without_a_configuration(remote: Path, there: Hand, tmp_path: Path) -> None:
    empty = Hand(repos.make_repo(tmp_path / "c", {"a": "1"}))
    empty.git("remote", "add", "origin", str(remote))
    fetch(empty)
    assert empty.tip(empty.refs.best) == there.tip(there.refs.best)


def test_a_remote_that_is_not_there(here: Hand, remote: Path) -> None:
    remote.rename(remote.with_name("gone.git"))
    done = fetch(here, code=2)
    assert done.last.startswith("skillgit: error: origin cannot be reached: ")
    assert done.last.endswith("; make `git ls-remote origin` work")


def test_names_in_a_remote_that_we_never_write_are_left_there(here: Hand, there: Hand, remote: Path) -> None:
    tip = repos.git(remote, "rev-parse", "main")
    odd: list[Any] = ["best/../x", f"rejected/{NAME}/{RUN}/1-1", f"rejected/{NAME}/odd", "best/Upper", "best/con"]
    for name in odd[1:]:
        repos.git(remote, "update-ref", f"refs/skillgit/{name}", tip)
    fetch(here)
    for name in odd[1:]:
        assert here.tip(f"refs/skillgit/{name}") is None
        assert here.tip(f"refs/skillgit/remotes/origin/{name}") is None
