"""`skillgit train`: its options and what it says; the loop itself is tested in tests/train."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import cli, training
from support.place import TRAIN, Place
from support.server import Answer, serve
from support.training import SKILL


def settings_of(place: Place) -> dict[str, Any]:
    return training.journal(place.root).info.settings


def test_for_people(place: Place) -> None:
    done = cli.call(place.root, *TRAIN)
    (status,) = json.loads(cli.call(place.root, "status", "--json").out)
    assert done.out.splitlines() == [
        f"val rose: 0.0% -> {status['best_score'] * 100:.1f}% (all epochs are done)",
        f"best document: {status['best'][:12]}; see `skillgit log {SKILL}`",
        f"bring it to the base branch with `skillgit merge {SKILL} --into main`",
    ]
    assert done.err.splitlines()[0] == "note: val has only 8 tasks: one task is 12 points of the score"


def test_set_reaches_the_run(place: Place) -> None:
    place.trained("--set", "train.batch_size=8", "--set", "train.seed=7", "--set", "evaluation.racing=false")
    found = settings_of(place)
    chosen = {key: found["train"][key] for key in ("num_epochs", "batch_size", "seed")}
    assert (chosen, found["evaluation"]["racing"]) == ({"num_epochs": 1, "batch_size": 8, "seed": 7}, False)
    assert "batch_size: 4" in (place.root / "skillgit.yaml").read_text()


def test_an_unfinished_run_keeps_its_settings_unless_fresh(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: Answer("") if training.is_reflection(call) else Answer("unknown")) as server:
        training.point_at(monkeypatch, server.env())
        place.configure("batch_size: 4", "batch_size: 2")
        first = Place(place.root, server).refused(*TRAIN, code=3, calls=True, moved=True)
        assert "gave no usable reply" in first
    training.point_at(monkeypatch, place.server.env())
    run = training.journal(place.root).info.run
    refused = cli.call(place.root, *TRAIN, "--set", "train.seed=7", "--json")
    assert (refused.code, refused.err.splitlines()[-1]) == (
        2,
        "skillgit: error: --set train.seed=7: the unfinished run began with 42; "
        "go on without it, or start a new run with --fresh",
    )
    place.configure("batch_size: 2", "batch_size: 2, seed: 7")
    done = cli.call(place.root, *TRAIN, "--json")
    assert json.loads(done.out)["run"] == run
    assert (
        "note: the unfinished run keeps the settings it began with: train.seed is 42; --fresh starts a new run\n"
        in done.err
    )
    assert f"run {run} of {SKILL} goes on after step 2\n" in done.err
    assert settings_of(place)["train"]["seed"] == 42


def test_fresh_gives_an_unfinished_run_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: Answer("") if training.is_reflection(call) else Answer("unknown")) as server:
        training.point_at(monkeypatch, server.env())
        place.configure("batch_size: 4", "batch_size: 2")
        Place(place.root, server).refused(*TRAIN, code=3, calls=True, moved=True)
    training.point_at(monkeypatch, place.server.env())
    run = training.journal(place.root).info.run
    done = cli.call(place.root, *TRAIN, "--fresh", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["run"] != run
    assert f"note: run {run} was given up after step 2\n" in done.err


def test_exit_code(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.call(place.root, *TRAIN, "--exit-code").code == 0
    with serve(lambda call: Answer('{"edits": []}' if training.is_reflection(call) else "unknown")) as server:
        training.point_at(monkeypatch, server.env())
        for options, code in ((("--exit-code",), 1), ((), 0)):
            done = cli.call(place.root, *TRAIN, *options)
            assert (done.code, done.out.splitlines()[0]) == (code, "val stayed: 0.0% -> 0.0% (all epochs are done)")
    assert "bring it to the base branch" not in done.out
