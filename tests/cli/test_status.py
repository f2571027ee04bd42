"""`skillgit status`, `log` and `rejected` before there is anything to show, and in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support import cli, repos
from support.place import Place
from support.training import BEST, BRANCH, DOCUMENT, SKILL

from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository


@pytest.mark.parametrize(
    ("arguments", "text", "value"),
    [
        (("status",), f"{SKILL}: {DOCUMENT}\n  not trained here yet: `skillgit train {SKILL}`\n", None),
        (("log", SKILL), f"{SKILL} was not trained yet: `skillgit train {SKILL}`\n", []),
        (("rejected", "list", SKILL), f"{SKILL} has no rejected candidates\n", []),
    ],
)
def test_before_training(place: Place, arguments: tuple[str, ...], text: str, value: object) -> None:
    assert cli.call(place.root, *arguments) == cli.Done(0, text, "")
    found = json.loads(cli.call(place.root, *arguments, "--json").out)
    if value is not None:
        assert found == value
    else:
        assert (found[0]["branch"], found[0]["best"], found[0]["merged"]) == (None, None, False)


def test_no_skills(place: Place) -> None:
    (place.root / "skillgit.yaml").write_text("version: 1\nskills: {}\n")
    assert cli.call(place.root, "status").out == "skillgit.yaml has no skills: `skillgit init --skill NAME`\n"
    assert json.loads(cli.call(place.root, "status", "--json").out) == []


def test_a_branch_that_nobody_trained_is_not_offered_for_merging(place: Place) -> None:
    place.git("branch", f"skill/{SKILL}")
    assert cli.call(place.root, "status").out.splitlines()[1:] == [
        f"  branch   skill/{SKILL} at {place.git('rev-parse', 'main')[:12]}",
        f"  not trained here yet: `skillgit train {SKILL}`",
    ]


def test_commits_of_people_are_counted_until_they_are_measured(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place.trained()
    other = tmp_path_factory.mktemp("other") / "w"
    place.git("worktree", "add", "-q", str(other), f"skill/{SKILL}")
    text = (other / DOCUMENT).read_text()
    for number in (1, 2):
        repos.commit(other, {DOCUMENT: f"{text}\nLine {number}.\n"}, "By hand")
    place.git("worktree", "remove", str(other))
    assert "  note     2 commits on the branch are not measured yet\n" in cli.call(place.root, "status").out
    tip = place.git("rev-parse", BRANCH)
    place.trained()
    assert place.git("merge-base", tip, BRANCH) == tip
    assert "not measured yet" not in cli.call(place.root, "status").out


def test_a_run_that_had_nothing_to_do_does_not_hide_what_was_accepted(place: Place) -> None:
    place.configure("num_epochs: 1", "num_epochs: 4")
    first = place.trained()
    assert first["reason"] == "val is at its ceiling"
    line = f"  steps    {first['accepted']} accepted in this run, {first['rejected']} rejected kept"
    assert cli.call(place.root, "status").out.splitlines()[-1] == line
    second = place.trained()
    assert (second["steps"], second["accepted"], int(str(first["accepted"])) > 0) == (0, 0, True)
    out = cli.call(place.root, "status").out.splitlines()
    assert out[-2].startswith(f"  run      {second['run']}, step 0 of ")
    assert out[-1] == line.replace("this run", f"run {first['run']}")
    (found,) = json.loads(cli.call(place.root, "status", "--json").out)
    assert (found["run"], found["accepted_run"]) == (second["run"], first["run"])
    assert found["accepted"] == first["accepted"]


def test_a_remote_that_went_on(place: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    place.trained()
    bare = repos.make_repo(tmp_path_factory.mktemp("bare") / "b.git", bare=True)
    place.git("remote", "add", "origin", str(bare))
    place.git("push", "-q", "origin", f"{BRANCH}:{BRANCH}")
    place.git("fetch", "-q", "origin")
    assert f"  remote   origin/skill/{SKILL} is where the branch is\n" in cli.call(place.root, "status").out
    clone = tmp_path_factory.mktemp("clone") / "c"
    place.git("clone", "-q", "-b", f"skill/{SKILL}", str(bare), str(clone))
    repos.identify(clone)
    for number in (1, 2):
        repos.commit(clone, {"x.txt": f"{number}\n"}, "Theirs")
    repos.git(clone, "push", "-q", "origin", f"skill/{SKILL}")
    place.git("fetch", "-q", "origin")
    out = cli.call(place.root, "status").out
    assert f"  remote   the branch is 2 commits behind origin/skill/{SKILL}, as last fetched\n" in out
    tip = place.git("commit-tree", f"{BRANCH}^{{tree}}", "-p", BRANCH, "-m", "Mine")
    place.git("update-ref", BRANCH, tip)
    place.git("update-ref", f"refs/skillgit/published/{SKILL}", f"{BRANCH}~1")
    out = cli.call(place.root, "status").out
    line = f"the branch is 1 commit ahead of and 2 commits behind origin/skill/{SKILL}, as last fetched"
    assert f"  remote   {line}\n" in out
    assert "  note     1 commit on the branch is not measured yet\n" in out
    first = place.git("rev-parse", f"{BRANCH}~1")[:12]
    assert f"  review   {first} was pushed for review, the branch has 1 more commit\n" in out
    (found,) = json.loads(cli.call(place.root, "status", "--json").out)
    assert found["remotes"] == [
        {
            "remote": "origin",
            "ref": f"refs/remotes/origin/skill/{SKILL}",
            "commit": place.git("rev-parse", f"origin/skill/{SKILL}"),
            "ahead": 1,
            "behind": 2,
        }
    ]


def test_who_works_on_it(place: Place) -> None:
    repo = Repository.open(place.root)
    with SkillLock.acquire(repo, SKILL, "train\x1b[1m") as lock:
        who = f"process {os.getpid()} (train\\x1b[1m) on {lock.owner.host} since {lock.owner.started}"
        assert f"  lock     held by {who}\n" in cli.call(place.root, "status").out
        lock.expect([BRANCH])  # what a killed owner leaves
    path = place.root / f".git/skillgit/locks/{SKILL}.lock"
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    path.write_text(path.read_text().replace(f'"pid": {os.getpid()}', f'"pid": {int(gone.stdout)}'))
    out = cli.call(place.root, "status").out
    assert f"  lock     left by process {int(gone.stdout)} " in out
    assert ", which has ended: the next command takes it over\n" in out


def test_refs_that_are_gone_name_their_mend(place: Place) -> None:
    place.trained()
    best, branch = f"refs/skillgit/best/{SKILL}", BRANCH
    whole = cli.call(place.root, "status").out
    mend = "is missing: `skillgit doctor --repair` brings it back"
    for gone, line in ((best, f"  best     {best} {mend}\n"), (branch, f"  branch   skill/{SKILL} {mend}\n")):
        place.git("update-ref", "-d", gone)
        out = cli.call(place.root, "status").out
        assert line in out
        assert "not trained here yet" not in out
        (found,) = json.loads(cli.call(place.root, "status", "--json").out)
        assert found["missing"] == [gone]
        assert cli.call(place.root, "doctor", "--repair").code == 0
        assert cli.call(place.root, "status").out == whole
    for ref in (best, branch):
        place.git("update-ref", "-d", ref)
    assert cli.call(place.root, "status").out.count(mend) == 2


def test_a_clone_that_fetched_has_no_branch_yet(place: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    place.trained()
    bare = repos.make_repo(tmp_path_factory.mktemp("bare") / "b.git", bare=True)
    place.git("remote", "add", "origin", str(bare))
    place.git("push", "-q", "origin", "main")
    assert cli.call(place.root, "push").code == 0
    clone = tmp_path_factory.mktemp("clone") / "c"
    place.git("clone", "-q", "-b", "main", str(bare), str(clone))
    repos.identify(clone)
    assert cli.call(clone, "fetch").code == 0
    out = cli.call(clone, "status").out
    assert f"  branch   not here yet: `skillgit train {SKILL}` starts from origin/skill/{SKILL}\n" in out
    assert "missing" not in out
    (found,) = json.loads(cli.call(clone, "status", "--json").out)
    assert (found["branch"], found["missing"], found["fetched_only"]) == (None, [], True)
    # Without the fetched branch there is nothing to start from but the journals.
    repos.git(clone, "update-ref", "-d", f"refs/remotes/origin/skill/{SKILL}")
    assert f"  branch   skill/{SKILL} is missing: " in cli.call(clone, "status").out


def test_what_the_base_has(place: Place) -> None:
    """In words; that they agree with what a merge does is shown where it is decided."""
    place.trained()

    def base() -> str:
        (line,) = [line for line in cli.call(place.root, "status").out.splitlines() if line.startswith("  base ")]
        return line.removeprefix("  base     ")

    assert base() == f"main does not have the best document: `skillgit merge {SKILL} --into main`"
    assert cli.call(place.root, "merge", SKILL).code == 0
    assert base() == "main has the best document"
    merged = (place.root / DOCUMENT).read_text()
    repos.commit(place.root, {BEST: "Mine.\n"}, "A copy")
    assert base() == (
        f"main has the best document, and another best_skill.md: `skillgit merge {SKILL} --into main` writes it anew"
    )
    assert "nobody measured it" not in cli.call(place.root, "status").out
    repos.commit(place.root, {DOCUMENT: merged + "\nMore.\n", BEST: merged}, "By hand")
    assert (
        base() == "main has people's document, to which the best one adds nothing: train again, it starts from theirs"
    )
    assert "differs from its best_skill.md: nobody measured it\n" in cli.call(place.root, "status").out
    repos.commit(place.root, {BEST: merged + "\nMore.\n"}, "As merged")
    assert base() == "main has the best document, merged with what people changed there"
    place.git("mv", DOCUMENT, "moved.md")
    place.git("commit", "-q", "-m", "Moved")
    assert base() == f"main has no {DOCUMENT}: it was deleted or renamed there"
    place.git("checkout", "-q", f"skill/{SKILL}")
    place.configure("into: main", "into: nowhere")
    assert base() == "there is no branch nowhere"


def test_the_training_branch_is_no_base(place: Place) -> None:
    """Its tip may have another document than the best one; that is nobody's change of a base."""
    place.configure("merge: {into: main}", "merge: {}")
    place.trained()
    place.git("checkout", "-q", f"skill/{SKILL}")
    assert f"  base     skill/{SKILL} has the best document\n" in cli.call(place.root, "status").out
    repos.commit(place.root, {DOCUMENT: (place.root / DOCUMENT).read_text() + "\nMore.\n"}, "By hand")
    line = f"skill/{SKILL} does not have the best document: `skillgit merge {SKILL} --into BRANCH`"
    assert f"  base     {line}\n" in cli.call(place.root, "status").out
