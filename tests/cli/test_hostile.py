"""Whoever can push can write anything: what looks at a skill ends in words, prints no control characters, and neither
moves nor believes what is not ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import repos, sharing, training
from support.cli import Done, call
from support.training import DOCUMENT, SKILL, Yard, mixed, trained_once

from skillgit.train.archive import history

EVIL = "\x1b[31m\x9b2J\u202eEVIL\x07"
NO_RUN = "7zzzzzzzzzzzzzzzzzzzzzzzzz"
LOOKING = [
    "log topics --graph --rejected",
    "log topics --json --rejected",
    "show topics",
    "show topics tip",
    "show topics tip --json",
    "status",
    "status topics --json",
    "diff topics best tip",
    "diff topics best tip --word-diff",
    "diff topics best tip --json",
    "blame topics tip",
    "blame topics tip --json",
    "compare topics topics@tip topics@01",
    "compare topics topics@tip --json",
    "rejected list topics --sort close",
    "rejected list topics --json",
    "rejected show topics 7zz/1",
    "rejected show topics 7zz/1 --json",
    "verify topics",
    "verify topics --json",
    "doctor --offline",
    "doctor --offline --json",
    "doctor topics --repair",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with trained_once(tmp_path_factory.mktemp("hostile") / "repo", mixed(), ["train.num_epochs=1"]) as made:
        yield made


@pytest.fixture
def here(trained: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    repos.plain_environment(monkeypatch)
    return training.copied(trained, tmp_path / "repo", monkeypatch)


def plain(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").isprintable()


def look(where: Path, command: str) -> Done:
    """One command of those that look: it may find something wrong, and has to say it."""
    done = call(where, *command.split(" "))
    assert done.code in (0, 2), (command, done.err)
    assert plain(done.out), command
    assert plain(done.err), command
    if command.endswith("--json") and done.out:
        json.loads(done.out)
    return done


def test_commits_and_notes_with_control_characters(here: Yard) -> None:
    message = f"Subject {EVIL}\n\nSkill-Name: topics\nSkill-Run: {NO_RUN}\nSkill-Step: 1\nSkill-Kind: a{EVIL}\n"
    text = here.text() + f"\nSay {EVIL}.\n"
    tip = here.commit_on(training.BRANCH, {DOCUMENT: text}, message)
    here.git("update-ref", f"refs/skillgit/rejected/{SKILL}/{NO_RUN}/00001-01", tip)
    note = json.dumps({"kind": "note", "text": EVIL, "by": EVIL, "at": EVIL}, ensure_ascii=False)
    odd = json.dumps({"kind": "score", "split": "val", "hard": "1e999999999", "soft": "1", "tasks": 1})
    for at in (tip, here.git("rev-parse", f"{tip}:{DOCUMENT}")):
        here.git("notes", "--ref=skillgit", "append", "-F", "-", at, input=f"{note}\n{odd}\n{'[' * 9000}\n")
    for command in LOOKING:
        look(here.root, command)


@pytest.mark.parametrize(
    "ref", ["foo/bar", f"{NO_RUN}0", "caf\u00e9\u202eodd", f"{NO_RUN}/00001-01", NO_RUN.upper(), "zzz"]
)
def test_refs_that_are_not_named_as_ours(here: Yard, ref: str) -> None:
    """Of journals they are none, and `doctor` says so; elsewhere nobody looks at them."""
    before = look(here.root, "log topics --json").out
    for space in ("runs", "rejected", "evidence"):
        here.git("update-ref", f"refs/skillgit/{space}/{SKILL}/{ref}", "main")
    for command in LOOKING:
        if "7zz/" not in command:
            look(here.root, command)
    assert look(here.root, "log topics --json").out == before
    named = [row["problem"] for row in json.loads(look(here.root, "doctor --offline --json").out)]
    assert any(f"refs/skillgit/runs/{SKILL}/" in text and "is no journal" in text for text in named if text)


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_journals_that_are_no_commits(here: Yard, kind: str) -> None:
    here.git("tag", "-a", "-m", "x", "plain", "main")
    of = {"blob": f"main:{DOCUMENT}", "tree": "main^{tree}", "tag": "refs/tags/plain"}[kind]
    before = look(here.root, "log topics --json").out
    ref = f"refs/skillgit/runs/{SKILL}/{NO_RUN}"
    here.git("update-ref", ref, of)
    assert look(here.root, "log topics --json").out == before
    assert f"git update-ref -d {ref}" in look(here.root, "doctor --offline").out
    for command in LOOKING:
        if "7zz/" not in command:
            look(here.root, command)


def test_runs_are_those_that_git_lists_as_commits_with_the_name_of_one(here: Yard) -> None:
    repo = training.Repository.open(here.root)
    for ref in ("zzz", "a/b", NO_RUN.upper()):
        here.git("update-ref", f"refs/skillgit/runs/{SKILL}/{ref}", "main")
    (found,) = history.runs(repo, SKILL)
    assert found == tuple(
        here.git("for-each-ref", "--format=%(refname:lstrip=4) %(objectname)", f"refs/skillgit/runs/{SKILL}/0*").split()
    )


def test_a_remote_whose_refs_are_no_commits(here: Yard, tmp_path: Path) -> None:
    """git itself lets nobody push such a branch; all other refs may be anything."""
    remote = tmp_path / "r.git"
    here.git("clone", "-q", "--mirror", ".", str(remote))
    blob = here.git("rev-parse", f"main:{DOCUMENT}")
    odd = {
        "best": f"refs/skillgit/best/{SKILL}",
        "journal": f"refs/skillgit/runs/{SKILL}/{NO_RUN}",
        "tasks": f"refs/skillgit/tasks/{SKILL}",
        "rejected": f"refs/skillgit/rejected/{SKILL}/{NO_RUN}/00001-01",
        "tag": f"refs/tags/skill/{SKILL}/v7",
        "main": "refs/skillgit/heads/main",
    }
    for ref in odd.values():
        repos.git(remote, "update-ref", ref, blob)
    clone = sharing.clone(remote, tmp_path / "clone")
    head = repos.refs(clone, "refs/heads/")
    done = look(clone, "fetch")
    for what in ("best", "journal", "tasks"):
        assert f"{odd[what].removeprefix('refs/skillgit/')} on origin is no commit, and was left there" in done.err
        assert odd[what] not in repos.refs(clone, "refs/skillgit/")
    assert repos.refs(clone, "refs/heads/") == head
    repos.git(clone, "branch", f"skill/{SKILL}", f"refs/remotes/origin/skill/{SKILL}")
    for command in LOOKING:
        look(clone, command)
