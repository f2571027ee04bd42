"""`skillgit doctor`: what is wrong, and the mend."""

from __future__ import annotations

import json

import pytest
from support import cli, training
from support.place import Place
from support.server import error, serve
from support.training import SKILL

LOOKS = ["repository", "identity", "refs", "configuration"]
SKILLS = [f"{SKILL}: {what}" for what in ("document", "environment", "branch", "target", "optimizer")]


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
    assert [list(row) for row in rows] == [["what", "ok", "detail", "problem"]] * 9
    assert [row["what"] for row in rows] == LOOKS + SKILLS
    assert all(row["ok"] and row["problem"] is None for row in rows)


def test_offline_asks_nobody(place: Place) -> None:
    count = place.server.count
    rows = json.loads(cli.call(place.root, "doctor", "--offline", "--json").out)
    assert [row["what"] for row in rows] == LOOKS + SKILLS[:3]
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
    assert [row["what"] for row in rows[4:]] == [
        f"{name}: {what}" for name in ("again", SKILL) for what in ("document", "environment", "branch")
    ]


def test_after_training(place: Place) -> None:
    outcome = place.trained()
    found = cli.call(place.root, "doctor", "--offline").out
    assert f"ok    {SKILL}: branch: run {outcome['run']}, step 2, finished\n" in found
