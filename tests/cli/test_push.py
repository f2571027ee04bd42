"""`skillgit push` against real remotes; what they have is read by git."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, sharing
from support.sharing import LATER, RUN, Hand

from skillgit.store.notes import add_note, read_notes
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository

NAME = "topics"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return sharing.bare(tmp_path / "r.git")


@pytest.fixture
def here(tmp_path: Path, remote: Path) -> Hand:
    made = sharing.hand(tmp_path / "a")
    sharing.share(made.root, remote)
    return made


def push(hand: Hand, *arguments: str, code: int = 0) -> cli.Done:
    done = cli.call(hand.root, "push", *arguments)
    assert done.code == code, done.err
    return done


def told(hand: Hand, *arguments: str) -> Any:
    return json.loads(push(hand, *arguments, "--json").out)


def other(remote: Path, where: Path) -> Hand:
    """A second machine that has fetched everything, and has the branch."""
    made = Hand(sharing.clone(remote, where))
    assert cli.call(where, "fetch").code == 0
    made.git("update-ref", made.refs.branch, f"refs/remotes/origin/skill/{NAME}")
    return made


def note(root: Path, oid: str, **fact: object) -> None:
    repo = Repository.open(root)
    add_note(repo, oid, fact)
    repo.close()


def facts(root: Path, oid: str) -> list[dict[str, Any]]:
    repo = Repository.open(root)
    try:
        return read_notes(repo, oid)
    finally:
        repo.close()


def test_all_that_is_shared_goes_and_no_transcript(here: Hand, remote: Path) -> None:
    before = repos.refs(remote)
    shown = push(here, "--dry-run")
    assert repos.refs(remote) == before, "a dry run sends nothing"
    parts = "branch, best, 1 journal, 2 tags, 1 rejected candidate, published, tasks"
    assert shown.out == f"{NAME}: would send {parts} to origin\n"
    assert push(here).out == f"{NAME}: sent {parts} to origin\n"
    assert sharing.travelling(remote) == sharing.travelling(here.root)
    assert len(sharing.travelling(remote)) == 8
    assert set(repos.refs(remote)) - set(sharing.travelling(remote)) == {"refs/heads/main"}
    assert push(here).out == f"{NAME}: nothing new for origin\n"
    repos.fsck(remote)


def test_transcripts_go_where_they_are_asked_for(here: Hand, remote: Path) -> None:
    done = push(here, "origin", NAME, "--evidence")
    assert "evidence of 1 run" in done.out
    ref = here.refs.evidence(RUN)
    assert repos.refs(remote, ref) == {ref: here.tip(ref)}


def test_the_fetched_copies_follow_a_push(here: Hand) -> None:
    push(here)
    copies = repos.refs(here.root, "refs/skillgit/remotes/origin")
    assert copies == {
        ref.replace("refs/skillgit/", "refs/skillgit/remotes/origin/"): oid
        for ref, oid in sharing.travelling(here.root).items()
        if re.match(r"refs/skillgit/(best|runs|published|tasks)/", ref)
    }
    assert here.tip("refs/remotes/origin/skill/topics") == here.tip(here.refs.branch)
    # Where a clone follows main alone, git would not keep the branch's copy; we do.
    here.git("config", "remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main")
    tip = here.grow("three")
    push(here)
    assert here.tip("refs/remotes/origin/skill/topics") == tip


def test_json_names_every_ref(here: Hand, remote: Path) -> None:
    push(here)
    old = here.tip(here.refs.branch)
    new = here.grow("three")
    found = told(here)
    assert found == {
        "remote": "origin",
        "dry_run": False,
        "skills": [NAME],
        "sent": [
            {
                "ref": here.refs.branch,
                "skill": NAME,
                "kind": "branch",
                "action": "forward",
                "old": old,
                "new": new,
            }
        ],
        "same": 7,
        "left": [],
        "notes": "none",
    }
    assert repos.refs(remote, here.refs.branch) == {here.refs.branch: new}


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_both_object_formats(tmp_path: Path, object_format: str) -> None:
    remote = sharing.bare(tmp_path / "r.git", object_format=object_format)
    made = sharing.hand(tmp_path / "a", object_format=object_format)
    sharing.share(made.root, remote)
    note(made.root, made.git("rev-parse", "main"), kind="x")
    push(made)
    assert sharing.travelling(remote, NOTES) == sharing.travelling(made.root, NOTES)
    second = other(remote, tmp_path / "b")
    assert sharing.travelling(second.root, NOTES) == sharing.travelling(remote, NOTES)
    tip = second.grow("three")
    push(second)
    assert repos.refs(remote, second.refs.branch) == {second.refs.branch: tip}


def test_another_object_format_is_the_remotes_refusal(tmp_path: Path) -> None:
    remote = sharing.bare(tmp_path / "r.git", object_format="sha256")
    made = sharing.hand(tmp_path / "a")
    made.git("remote", "add", "origin", str(remote))
    done = push(made, code=2)
    assert len(done.err.splitlines()) == 1
    assert repos.refs(remote) == {}


def test_a_branch_with_unseen_commits_is_refused_before_anything_is_sent(
    here: Hand, remote: Path, tmp_path: Path
) -> None:
    push(here)
    second = other(remote, tmp_path / "b")
    here.grow("of the first machine")
    here.grow("of the first machine, too")
    push(here)
    second.grow("of the second")
    second.reject(9)
    before = repos.refs(remote)
    done = push(second, code=2)
    tip = (here.tip(here.refs.branch) or "")[:12]
    mend = "run `skillgit fetch origin`, then `skillgit train topics`: your steps are re-based onto it and gated again"
    assert done.last == f"skillgit: error: origin's skill/topics is at {tip}, which is not here; {mend}"
    assert repos.refs(remote) == before
    assert push(second, "--dry-run", code=2).last == done.last
    assert cli.call(second.root, "fetch").code == 0
    done = push(second, code=2)
    assert done.last == f"skillgit: error: origin's skill/topics has 2 commits that yours lacks; {mend}"
    assert repos.refs(remote) == before
    # What makes it right by hand, too: a merge that has both.
    merged = second.git(
        "commit-tree", f"{second.refs.branch}^{{tree}}", "-m", "both",
        "-p", second.refs.branch, "-p", "refs/remotes/origin/skill/topics",
    )  # fmt: skip
    second.set(second.refs.branch, merged)
    push(second)
    assert repos.refs(remote, second.refs.branch) == {second.refs.branch: merged}


def test_a_branch_that_is_only_behind_needs_a_fetch(here: Hand, remote: Path, tmp_path: Path) -> None:
    push(here)
    second = other(remote, tmp_path / "b")
    here.grow("three")
    push(here)
    second.git("fetch", "-q")
    done = push(second, code=2)
    what = "origin's skill/topics has 1 commit that yours lacks"
    assert done.last == f"skillgit: error: {what}; run `skillgit fetch origin`, then push again"
    assert cli.call(second.root, "fetch").code == 0
    push(second)


def test_a_journal_that_another_machine_went_on_with(here: Hand, remote: Path, tmp_path: Path) -> None:
    push(here)
    second = other(remote, tmp_path / "b")
    here.entry(3)
    second.entry(3, [(second.refs.best, None, second.tip(second.refs.best) or "")])
    push(here)
    before = repos.refs(remote)
    done = push(second, code=2)
    assert f"origin's runs/topics/{RUN} is at " in done.last
    assert "run `skillgit fetch origin`" in done.last
    assert repos.refs(remote) == before


@pytest.mark.parametrize("kind", ["tag", "rejected"])
def test_what_never_changes_is_refused_by_name(here: Hand, remote: Path, tmp_path: Path, kind: str) -> None:
    ref = here.tag("v2") if kind == "tag" else here.reject(8)
    there = repos.git(remote, "rev-parse", "main")
    repos.git(remote, "update-ref", ref, there)
    before = repos.refs(remote)
    done = push(here, code=2)
    short = ref.removeprefix("refs/tags/").removeprefix("refs/skillgit/")
    mine = (here.tip(ref) or "")[:12]
    assert f"origin has another {short}: {there[:12]} there, {mine} here" in done.last
    assert repos.refs(remote) == before


def test_best_goes_back_only_over_a_value_that_was_superseded(here: Hand, remote: Path, tmp_path: Path) -> None:
    push(here)
    second = other(remote, tmp_path / "b")
    first, last = (here.git("rev-parse", f"{here.refs.branch}{at}") for at in ("^", ""))
    # The tasks grew, and the older document measures better: best goes back, as an entry of the journal says.
    here.entry(3, [(here.refs.best, last, first)])
    here.set(here.refs.best, first)
    moved = next(one for one in told(here)["sent"] if one["kind"] == "best")
    assert (moved["action"], moved["old"], moved["new"]) == ("move", last, first)
    assert repos.refs(remote, here.refs.best) == {here.refs.best: first}
    # The other machine's goes back too: its training is told of it by the journal.
    assert cli.call(second.root, "fetch").code == 0
    assert second.tip(second.refs.best) == first


def test_a_best_that_no_training_here_has_compared_stays(here: Hand, remote: Path) -> None:
    push(here)
    base = here.tip(here.refs.best) or ""
    theirs = here.commit("theirs", base)
    repos.git(here.root, "push", "-q", "origin", f"+{theirs}:{here.refs.best}")
    here.set(here.refs.best, here.commit("ours", base))
    here.grow("three")
    done = push(here)
    assert done.err == (
        f"note: best/topics was not sent: origin's is {theirs[:12]}, and no training here has compared the two\n"
    )
    assert repos.refs(remote, here.refs.best) == {here.refs.best: theirs}
    assert repos.refs(remote, here.refs.branch) == {here.refs.branch: here.tip(here.refs.branch)}


def test_a_best_that_is_not_here_is_refused(here: Hand, remote: Path, tmp_path: Path) -> None:
    push(here)
    second = other(remote, tmp_path / "b")
    unseen = second.commit("unseen", second.tip(second.refs.best))
    second.git("push", "-q", "origin", f"+{unseen}:{second.refs.best}")
    here.set(here.refs.best, here.commit("ours", here.tip(here.refs.best)))
    done = push(here, code=2)
    assert f"origin's best/topics is {unseen[:12]}, which is not here" in done.last


def test_the_pre_push_hook_sees_the_refs_and_may_refuse(here: Hand, remote: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f'echo "$1 evidence=$SKILLGIT_PUSH_EVIDENCE" > {seen}; cat >> {seen}; echo "not on Fridays" >&2; exit 1'
    hook = sharing.hook(here.root, "pre-push", script)
    before = repos.refs(remote)
    done = push(here, code=2)
    assert done.last == "skillgit: error: a hook here refused the push: not on Fridays; see pre-push"
    assert repos.refs(remote) == before
    lines = seen.read_text().splitlines()
    assert lines[0] == "origin evidence="
    assert {line.split()[2] for line in lines[1:]} == set(sharing.travelling(here.root))
    assert push(here, "--evidence", code=2).code == 2
    assert seen.read_text().splitlines()[0] == "origin evidence=1"
    assert push(here, "--dry-run").code == 0
    hook.unlink()
    push(here)


@pytest.mark.parametrize("name", ["pre-receive", "update", "reference-transaction"])
def test_a_server_that_says_no_gets_nothing_half(here: Hand, remote: Path, name: str) -> None:
    push(here)
    here.grow("three")
    here.reject(4)
    if name == "update":
        script = 'case $1 in *rejected*) printf "no \\033[31mred\\033[0m candidates\\n"; exit 1;; esac'
    elif name == "pre-receive":
        script = 'printf "no \\033[31mred\\033[0m candidates\\n"; exit 1'
    else:
        script = 'if [ "$1" = prepared ]; then echo "no red candidates" >&2; exit 1; fi; cat > /dev/null'
    sharing.hook(remote, name, script)
    before = repos.refs(remote)
    done = push(here, code=2)
    assert repos.refs(remote) == before
    assert len(done.err.splitlines()) == 1
    assert "\033" not in done.err
    if name == "reference-transaction":  # git drops what it said
        assert done.last == "skillgit: error: origin refused the push: ref updates aborted by hook"
    else:
        named = r"skillgit: error: origin refused refs/\S+( and 1 more)?: (pre-receive )?hook declined: "
        assert re.fullmatch(named + r"no \\x1b\[31mred\\x1b\[0m candidates", done.last), done.last


def test_somebody_was_faster(here: Hand, remote: Path, tmp_path: Path) -> None:
    push(here)
    second = other(remote, tmp_path / "b")
    theirs = second.grow("theirs")
    here.grow("ours")
    here.reject(4)
    # Our pre-push hook runs after the listing: in that moment the other machine pushes.
    line = f"git -C {second.root} push -q origin {theirs}:{second.refs.branch}"
    sharing.hook(here.root, "pre-push", f"unset GIT_DIR; {line}; cat > /dev/null")
    done = push(here, code=2)
    assert "somebody was faster: run `skillgit fetch origin`, then push again" in done.last
    assert repos.refs(remote, here.refs.branch) == {here.refs.branch: theirs}
    assert len(repos.refs(remote, here.refs.rejected_prefix)) == 1, "nothing else was sent"


def test_a_remote_that_cannot_do_all_at_once(here: Hand, remote: Path) -> None:
    repos.git(remote, "config", "receive.advertiseAtomic", "false")
    done = push(here)
    assert done.err == "note: origin cannot take all refs at once or none: they go one by one\n"
    assert sharing.travelling(remote) == sharing.travelling(here.root)


@pytest.mark.parametrize("setting", ["receive.denyNonFastForwards", "receive.denyDeletes", "receive.fsckObjects"])
def test_strict_remotes(here: Hand, remote: Path, setting: str) -> None:
    repos.git(remote, "config", setting, "true")
    push(here)
    assert sharing.travelling(remote) == sharing.travelling(here.root)
    repos.fsck(remote)


def test_what_a_person_configured_for_other_pushes_is_not_mixed_in(here: Hand, remote: Path) -> None:
    here.git("branch", "private")
    here.git("tag", "-a", "-m", "x", "private-tag", here.refs.branch)
    for key, value in {
        "remote.origin.push": "+refs/heads/*:refs/heads/*",
        "remote.origin.mirror": "true",
        "push.followTags": "true",
        "push.recurseSubmodules": "on-demand",
    }.items():
        here.git("config", key, value)
    push(here)
    assert set(repos.refs(remote)) == {"refs/heads/main", *sharing.travelling(here.root)}


def test_other_refs_under_our_names_stay(here: Hand, remote: Path) -> None:
    here.set("refs/skillgit/pruned/topics", here.git("hash-object", "-w", "--stdin", input="x\n"))
    here.set(f"refs/skillgit/rejected/topics/{RUN}/odd", here.git("rev-parse", "main"))
    here.git("tag", "skill/topics/mine")
    push(here)
    assert set(repos.refs(remote)) == {"refs/heads/main", *sharing.travelling(here.root)} - {
        f"refs/skillgit/rejected/topics/{RUN}/odd",
        "refs/tags/skill/topics/mine",
        "refs/skillgit/pruned/topics",  # it names no candidate of ours
    }


def test_so_many_refs_that_no_command_line_holds_them(here: Hand, remote: Path) -> None:
    tip = here.tip(here.refs.branch)
    kept = here.reject(7)
    here.set(f"refs/skillgit/rejected/topics/{RUN}/odd", here.git("rev-parse", "main"))
    refs = [here.refs.rejected(LATER, step, 1) for step in range(1, 2501)]
    here.git("update-ref", "--stdin", input="".join(f"create {ref} {tip}\n" for ref in refs))
    here.set(f"refs/skillgit/pruned/{NAME}", here.git("hash-object", "-w", "--stdin", input=f"{kept}\n"))
    done = push(here)
    assert "2501 rejected candidates" in done.out
    found = repos.refs(remote, here.refs.rejected_prefix)
    assert set(found) == {*refs, here.refs.rejected(RUN, 3, 1)}
    assert push(here).out == f"{NAME}: nothing new for origin\n"


def test_notes_of_two_machines_are_united(here: Hand, remote: Path, tmp_path: Path) -> None:
    subject = here.git("rev-parse", "main")
    push(here)
    second = other(remote, tmp_path / "b")
    note(here.root, subject, by="first", n=1)
    assert push(here).out.endswith("notes: sent to origin\n")
    note(second.root, subject, by="second", n=1)
    note(second.root, second.git("rev-parse", "main:skillgit.yaml"), by="second", n=2)
    assert push(second).out.endswith("notes: sent to origin, united with those of origin\n")
    assert told(second)["notes"] == "same"
    lines = repos.git(remote, "notes", "--ref=skillgit", "show", subject).splitlines()
    assert sorted(json.loads(line)["by"] for line in lines) == ["first", "second"]
    assert cli.call(here.root, "fetch").code == 0
    assert here.tip(NOTES) == repos.refs(remote, NOTES)[NOTES]
    repos.fsck(remote)


def test_no_note_is_lost_when_machines_push_at_once(here: Hand, remote: Path, tmp_path: Path) -> None:
    subject = here.git("rev-parse", "main")
    push(here)
    machines = [other(remote, tmp_path / f"m{n}") for n in range(3)]
    for n, machine in enumerate(machines):
        for k in range(3):
            note(machine.root, subject, machine=n, k=k)
    pushing = [
        subprocess.Popen(
            [sys.executable, "-m", "skillgit", "push"], cwd=machine.root, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for machine in machines
    ]
    errors = [one.communicate()[1].decode() for one in pushing]
    assert [one.returncode for one in pushing] == [0, 0, 0], errors
    assert cli.call(here.root, "fetch").code == 0
    found = {(fact["machine"], fact["k"]) for fact in facts(here.root, subject)}
    assert found == {(n, k) for n in range(3) for k in range(3)}


def test_over_http(here: Hand, tmp_path: Path) -> None:
    remote = sharing.bare(tmp_path / "served" / "r.git")
    with sharing.http_server(remote.parent) as address:
        here.git("remote", "set-url", "origin", f"{address}/r.git")
        here.git("push", "-q", "origin", "main")
        note(here.root, here.git("rev-parse", "main"), kind="x")
        push(here)
        assert sharing.travelling(remote, NOTES) == sharing.travelling(here.root, NOTES)
        first = here.git("rev-parse", f"{here.refs.branch}^")
        here.entry(3, [(here.refs.best, here.tip(here.refs.best), first)])
        here.set(here.refs.best, first)
        push(here)
        assert repos.refs(remote, here.refs.best) == {here.refs.best: first}
        second = Hand(sharing.clone(f"{address}/r.git", tmp_path / "b"))
        assert cli.call(second.root, "fetch").code == 0
        assert second.tip(here.refs.best) == first


def test_an_address_with_credentials_is_never_shown(here: Hand, tmp_path: Path) -> None:
    remote = sharing.bare(tmp_path / "served" / "r.git")
    with sharing.http_server(remote.parent, refuse=True) as address:
        secret = address.replace("://", "://somebody:hunter2@")
        here.git("remote", "set-url", "origin", f"{secret}/r.git")
        done = push(here, code=2)
        assert "403" in done.last
        missing = f"{secret}/none.git"
        here.git("remote", "set-url", "origin", missing)
        unread = push(here, code=2)
        assert unread.last.startswith("skillgit: error: origin cannot be reached: ")
    for text in (done.err, unread.err, done.out, unread.out):
        assert "hunter2" not in text
        assert "somebody" not in text


def test_another_address_for_pushes_is_the_one_that_counts(here: Hand, remote: Path, tmp_path: Path) -> None:
    writable = sharing.bare(tmp_path / "w.git")
    here.git("remote", "set-url", "--push", "origin", str(writable))
    push(here)
    assert sharing.travelling(writable) == sharing.travelling(here.root)
    assert sharing.travelling(remote) == {}
    assert push(here).out == f"{NAME}: nothing new for origin\n"
    here.git("remote", "set-url", "--add", "--push", "origin", str(remote))
    assert "origin has 2 push addresses" in push(here, code=2).last


def test_several_skills(here: Hand, remote: Path) -> None:
    second = Hand(here.root, "others")
    second.grow("of the others")
    both = (here.root / "skillgit.yaml").read_text() + (
        "  others:\n    document: skills/others/SKILL.md\n    env: builtin/opscli\n"
    )
    (here.root / "skillgit.yaml").write_text(both)
    assert push(here, "origin", "others").out == "others: sent branch to origin\n"
    assert set(sharing.travelling(remote)) == {second.refs.branch}
    assert [line.split(":")[0] for line in push(here).out.splitlines()] == ["others", NAME]
    assert sharing.travelling(remote) == sharing.travelling(here.root)


def test_names_that_nobody_knows(here: Hand) -> None:
    done = push(here, "origin", "topcis", code=2)
    assert done.last == ("skillgit: error: there is no skill 'topcis', neither here nor there; did you mean 'topics'?")
    done = push(here, NAME, code=2)
    mend = f"the remote comes first: `skillgit push origin {NAME}`"
    assert done.last == f"skillgit: error: {NAME} is a skill, and no remote; {mend}"
    assert cli.call(here.root, *mend.split("`")[1].split()[1:]).code == 0
    mend = f"the remote comes first: `skillgit fetch origin {NAME} others`"
    done = cli.call(here.root, "fetch", NAME, "others")
    assert (done.code, done.last) == (2, f"skillgit: error: {NAME} is a skill, and no remote; {mend}")
    assert push(here, "nowhere", code=2).last == (
        "skillgit: error: there is no remote 'nowhere'; known remotes: origin"
    )


def test_in_a_linked_work_tree_and_in_a_bare_repository(here: Hand, remote: Path, tmp_path: Path) -> None:
    here.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    done = cli.call(tmp_path / "linked", "push")
    assert (done.code, done.err) == (0, "")
    assert sharing.travelling(remote) == sharing.travelling(here.root)
    mirror = tmp_path / "mirror.git"
    repos.git(tmp_path, "clone", "-q", "--bare", str(here.root), str(mirror))
    repos.git(mirror, "fetch", "-q", str(here.root), "refs/skillgit/*:refs/skillgit/*")
    second = sharing.bare(tmp_path / "second.git")
    repos.git(mirror, "remote", "add", "second", str(second))
    done = cli.call(mirror, "push", "second")
    assert (done.code, done.err) == (0, "")
    assert sharing.travelling(second) == sharing.travelling(here.root)


def test_no_identity_and_no_terminal_are_needed(here: Hand, remote: Path) -> None:
    here.git("config", "--unset", "user.email")
    here.git("config", "--unset", "user.name")
    done = cli.start(here.root, "push", env={"PATH": os.environ["PATH"]})
    assert done.code == 0, done.err
    assert sharing.travelling(remote) == sharing.travelling(here.root)
