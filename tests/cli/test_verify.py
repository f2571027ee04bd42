"""`skillgit verify`: what it prints, and how it ends."""

from __future__ import annotations

import json

import pytest
from support import cli, tampering
from support.place import Place
from support.training import BEST_REF, BRANCH, SKILL, trailer


@pytest.fixture
def trained(place: Place) -> Place:
    """One epoch of two steps."""
    place.trained()
    return place


def test_nothing_differs(trained: Place) -> None:
    before, count = trained.seen(), trained.server.count
    refs = [ref for ref in trained.git("for-each-ref", "--format=%(refname)").split() if "/rejected/" in ref]
    commits = trained.git("rev-list", "--count", BRANCH, *refs, "^main")
    done = cli.call(trained.root, "verify", SKILL)
    assert (done.code, done.err) == (0, "")
    # The baseline and two candidates have a score; val has 8 tasks, and a rejection ends early.
    assert done.out.startswith(f"{commits} commits, 3 journal entries, 3 scores checked, ")
    assert done.out.endswith(" attempts in the evidence, 0 differ\n")
    again = cli.call(trained.root, "verify", SKILL, "--rescore")
    assert (again.code, again.err) == (0, "")
    assert " replies scored again, 0 differ\n" in again.out
    assert (trained.seen(), trained.server.count) == (before, count)


def test_what_differs_is_a_line_each(trained: Place) -> None:
    tip, score = trained.git("rev-parse", BRANCH), trailer(trained.root, BRANCH, "Skill-Score")
    forged = tampering.amended(trained.root, tip, f"Skill-Score: {score}", "Skill-Score: 1.000000")
    for ref in (BRANCH, BEST_REF):
        trained.git("update-ref", ref, forged)
    done = cli.call(trained.root, "verify", SKILL)
    assert done.code == 2
    first, last = done.out.splitlines()
    assert first == f"differs {forged[:12]}: Skill-Score: written 1.000000, computed {score}"
    assert last.endswith(", 1 differ")


def test_as_json(trained: Place) -> None:
    run = str(json.loads(cli.call(trained.root, "log", SKILL, "--json").out)[0]["run"])
    done = cli.call(trained.root, "verify", SKILL, "--run", run[:20].upper(), "--json")
    found = json.loads(done.out)
    keys = ["skill", "runs", "commits", "entries", "scores", "attempts", "replies", "differences", "unchecked"]
    assert list(found) == keys
    assert (found["skill"], found["runs"], found["entries"], found["differences"]) == (SKILL, [run], 3, [])
    ref = tampering.journal_ref(trained.root, SKILL)
    tampering.rewrite(trained.root, ref, lambda _, files: files["state.json"].update(accepted_count=99))
    done = cli.call(trained.root, "verify", SKILL, "--json")
    assert done.code == 2
    rows = json.loads(done.out)["differences"]
    assert all(list(row) == ["where", "what", "written", "computed"] for row in rows)
    assert {(row["what"], row["written"]) for row in rows} == {("state.accepted_count", "99")}


def test_text_of_others_cannot_move_the_cursor(trained: Place) -> None:
    ref = tampering.journal_ref(trained.root, SKILL)
    tampering.rewrite(trained.root, ref, lambda _, files: files["run.json"].update(skill="x\x1b[2J\ny"))
    done = cli.call(trained.root, "verify", SKILL)
    assert done.code == 2
    assert "\x1b" not in done.out
    assert r"x\x1b[2J y" in done.out


def test_what_cannot_be_checked_is_a_note(trained: Place) -> None:
    (trained.root / "envs/topics/val.jsonl").write_text('{"id": "val-000", "input": "x", "answer": "y"}\n')
    done = cli.call(trained.root, "verify", SKILL, "--rescore")
    assert done.code == 0
    assert done.err.startswith("note: not checked: replies: val tasks or scoring changed since they were measured (")


def test_refusals(place: Place) -> None:
    assert place.refused("verify", SKILL) == (
        f"there is no journal of {SKILL} here; run `skillgit fetch`, or see `skillgit log {SKILL}`"
    )
    assert place.refused("verify", "topic").startswith("skillgit.yaml: no skill 'topic'; did you mean 'topics'?")
