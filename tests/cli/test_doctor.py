"""`skillgit doctor`: what is wrong, and the mend."""

from __future__ import annotations

import json

import pytest
from support import cli, repos, training
from support.place import Place
from support.server import error, serve
from support.training import BEST_REF, BRANCH, SKILL

LOOKS = ["repository", "identity", "refs", "git settings", "configuration"]
SKILLS = [f"{SKILL}: {what}" for what in ("document", "environment", "history", "branch", "target", "optimizer")]


def test_all_is_well(place: Place) -> None:
    before, count = place.seen(), place.server.count
    done = cli.call(place.root, "doctor")
    assert (done.code, done.err) == (0, "")
    assert [line.split(": ")[0] for line in done.out.splitlines()] == [
        *(f"ok    {what}" for what in LOOKS),
        *(f"ok    {SKILL}" for _ in SKILLS),
    ]
    assert place.server.count == count + 2, "one short call to each model"
    assert place.seen() == before


def test_as_json(place: Place) -> None:
    rows = json.loads(cli.call(place.root, "doctor", "--json").out)
    assert [list(row) for row in rows] == [["what", "ok", "detail", "problem", "repaired"]] * 11
    assert [row["what"] for row in rows] == LOOKS + SKILLS
    assert all(row["ok"] and row["problem"] is None for row in rows)


def test_offline_asks_nobody(place: Place) -> None:
    count = place.server.count
    rows = json.loads(cli.call(place.root, "doctor", "--offline", "--json").out)
    assert [row["what"] for row in rows] == LOOKS + SKILLS[:4]
    assert place.server.count == count


def test_a_wrong_key_is_a_3(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: error(401, "bad key")) as server:
        training.point_at(monkeypatch, server.env())
        done = cli.call(place.root, "doctor", "--json")
    assert done.code == 3
    wrong = [row for row in json.loads(done.out) if not row["ok"]]
    assert [row["what"] for row in wrong] == [f"{SKILL}: target", f"{SKILL}: optimizer"]
    assert wrong[0]["problem"].endswith(": bad key; check OPENAI_API_KEY")


def test_a_wrong_configuration_ends_the_looking(place: Place) -> None:
    place.configure("version: 1", "version: 2")
    done = cli.call(place.root, "doctor")
    assert done.code == 2
    assert done.out.splitlines()[-1].startswith("wrong configuration: skillgit.yaml:1: version: 2 is not known")


def test_several_skills_are_all_looked_at(place: Place) -> None:
    text = (place.root / "skillgit.yaml").read_text()
    (place.root / "skillgit.yaml").write_text(text + text.partition("skills:\n")[2].replace("  topics:", "  again:"))
    rows = json.loads(cli.call(place.root, "doctor", "--offline", "--json").out)
    assert [row["what"] for row in rows[5:]] == [
        f"{name}: {what}" for name in ("again", SKILL) for what in ("document", "environment", "history", "branch")
    ]
    rows = json.loads(cli.call(place.root, "doctor", SKILL, "--offline", "--json").out)
    assert [row["what"] for row in rows] == LOOKS + SKILLS[:4], "one of them alone"


def test_after_training(place: Place) -> None:
    outcome = place.trained()
    found = cli.call(place.root, "doctor", "--offline").out
    assert f"ok    {SKILL}: branch: run {outcome['run']}, step 2, finished\n" in found
    assert f"ok    {SKILL}: history: 1 run, 3 entries, " in found


def test_a_skill_that_is_not_there(place: Place) -> None:
    assert place.refused("doctor", "topic").startswith("skillgit.yaml: no skill 'topic'; did you mean 'topics'?")


def test_repair_moves_refs_and_asks_nobody(place: Place) -> None:
    place.trained()
    before, count = repos.refs(place.root), place.server.count
    place.git("update-ref", "-d", BEST_REF)
    place.git("update-ref", BRANCH, f"{BRANCH}~1")
    found = cli.call(place.root, "doctor", "--offline")
    assert found.code == 2
    wrong = [line for line in found.out.splitlines() if line.startswith("wrong ")]
    best, tip = before[BEST_REF][:12], before[BRANCH][:12]
    back = place.git("rev-parse", BRANCH)[:12]
    with_ = f"with `skillgit doctor --repair {SKILL}` it is set to"
    assert wrong == [
        f"wrong {SKILL}: branch: skill/{SKILL} was rewound to {back}; {with_} {tip}",
        f"wrong {SKILL}: best: {BEST_REF} is missing; {with_} {best}",
    ]
    done = cli.call(place.root, "doctor", "--repair", SKILL)
    assert (done.code, done.err) == (0, "")
    fixed = [line for line in done.out.splitlines() if line.startswith("fixed ")]
    assert fixed == [
        f"fixed {SKILL}: branch: skill/{SKILL} was rewound to {back}: set to {tip}",
        f"fixed {SKILL}: best: {BEST_REF} is missing: set to {best}",
    ]
    assert (repos.refs(place.root), place.server.count) == (before, count)
    assert cli.call(place.root, "doctor", "--repair").code == 0


def test_repair_as_json_says_what_it_did_and_what_remains(place: Place) -> None:
    place.trained()
    place.git("update-ref", "-d", BEST_REF)
    place.git("config", "--add", "remote.origin.fetch", "+refs/skillgit/*:refs/skillgit/*")
    done = cli.call(place.root, "doctor", "--repair", "--json")
    assert done.code == 2, "a refspec is the person's"
    rows = {row["what"]: row for row in json.loads(done.out)}
    best = rows[f"{SKILL}: best"]
    assert (best["ok"], best["repaired"].split(": ")[0]) == (True, f"{BEST_REF} is missing")
    settings = rows["git settings"]
    assert (settings["ok"], settings["repaired"]) == (False, None)


def test_what_only_has_to_be_said_ends_with_0(place: Place) -> None:
    place.git("config", "core.logAllRefUpdates", "false")
    done = cli.call(place.root, "doctor", "--offline")
    assert done.code == 0
    assert "note  git settings: core.logAllRefUpdates is off" in done.out


def test_many_of_a_kind_are_cut(place: Place) -> None:
    place.trained()
    run = str(json.loads(cli.call(place.root, "log", SKILL, "--json").out)[0]["run"])
    tip, message = place.git("rev-parse", BRANCH), "x\n\nSkill-Name: topics\nSkill-Score: 1.0\nSkill-Blob: 1"
    for number in range(7):
        tip = place.git("commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", f"{message}{number}")
    place.git("update-ref", f"refs/skillgit/rejected/{SKILL}/{run}/00099-01", tip)
    done = cli.call(place.root, "doctor", "--offline")
    lines = [line for line in done.out.splitlines() if f"{SKILL}: scores: " in line]
    assert len(lines) == 6
    assert lines[-1] == f"note  {SKILL}: scores: 2 more of the same kind"
