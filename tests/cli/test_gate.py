"""`skillgit gate --calibrate`: against a target that is not always of one mind, and one that is."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.place import Place
from support.server import Answer, Call, Server, serve
from support.training import DOCUMENT, SKILL
from support.world import SEED_DOCUMENT, TopicWorld

WORLD = TopicWorld(8, 5)  # 16 val tasks
CONFIG = training.configuration(evaluation="{gate_mode: strict}")


class Moody:
    """Answers as the world does; every other task of val is right in some attempts and wrong in others."""

    def __init__(self, world: TopicWorld) -> None:
        self._world, self._lock = world, threading.Lock()
        self._asked: Counter[str] = Counter()
        self.noisy = {row["input"] for row in world.tasks["val"] if int(row["id"][-1]) % 2 == 0}

    def __call__(self, call: Call) -> Answer:
        with self._lock:
            self._asked[call.user] += 1
            attempt = self._asked[call.user]
        luck = hashlib.sha256(f"{call.user}/{attempt}".encode()).digest()[0]
        return Answer("unknown") if call.user in self.noisy and luck < 128 else self._world(call)


def made(root: Path, patch: pytest.MonkeyPatch, server: Server) -> Place:
    training.make(root, WORLD, config=CONFIG, document=WORLD.perfect_document())
    training.point_at(patch, server.env())
    return Place(root, server)


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with serve(Moody(WORLD)) as server:
        yield made(tmp_path / "r", monkeypatch, server)


@pytest.fixture
def steady(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with serve(WORLD) as server:
        yield made(tmp_path / "r", monkeypatch, server)


def calibrated(place: Place, *arguments: str) -> dict[str, Any]:
    done = cli.call(place.root, "gate", "--calibrate", SKILL, *arguments, "--json")
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def notes(place: Place) -> list[dict[str, Any]]:
    lines = place.git("notes", "--ref=skillgit", "show", f"main:{DOCUMENT}").splitlines()
    return [json.loads(line) for line in lines]


def test_a_noisy_target(noisy: Place) -> None:
    found = calibrated(noisy)
    assert noisy.server.count == 4 * 16  # distinct trials
    assert list(found) == [
        *("skill", "commit", "blob", "val", "target", "metric", "tasks", "trials", "repeats", "errors", "mean"),
        *("deviation", "error", "floor", "flips", "gate_mode", "modes", "warning"),
    ]
    assert (found["skill"], found["target"], found["metric"]) == (SKILL, "openai/sim", "hard")
    assert (found["tasks"], found["trials"], found["repeats"], found["errors"]) == (16, 4, 1, 0)
    assert found["flips"]
    assert all(int(task[-1]) % 2 == 0 for task in found["flips"])
    # Of four attempts one or three right differ in 3 of 6 pairs, two in 4 of 6.
    assert set(found["flips"].values()) <= {0.5, round(4 / 6, 6)}
    assert found["error"] > 0
    assert found["floor"] == pytest.approx(1.645 * found["error"], abs=1e-5)
    strict, paired = found["modes"]["strict"], found["modes"]["paired"]
    assert list(strict) == ["pairs", "accepted", "indecisive", "share", "least", "detectable"]
    assert (strict["pairs"], strict["least"], paired["least"]) == (12, 1 / 16, 4 / 16)
    assert strict["share"] > 0.2  # a coin decides
    assert paired["share"] <= 0.08
    assert paired["detectable"] == pytest.approx(max(0.25, 2 * found["error"]), abs=1e-5)
    assert found["warning"].startswith("val is noisy: two measurements of one document differ by ")
    assert "the strict gate accepts 6.2 points; use gate_mode: paired" in found["warning"]


def test_it_is_remembered_and_costs_nothing_again(noisy: Place) -> None:
    found = calibrated(noisy)
    (note,) = notes(noisy)
    assert note == {
        "kind": "calibration",
        "val": found["val"],
        "target": "openai/sim",
        "settings": note["settings"],
        "metric": "hard",
        "tasks": 16,
        "trials": 4,
        "mean": note["mean"],
        "deviation": pytest.approx(found["deviation"], abs=1e-6),
        "error": pytest.approx(found["error"], abs=1e-6),
        "median_error": pytest.approx(found["error"], abs=1e-6),
        "noisy": len(found["flips"]),
        "at": note["at"],
    }
    assert calibrated(noisy) == found
    assert noisy.server.count == 64
    calibrated(noisy, "--trials", "6")
    assert noisy.server.count == 96  # the first four are known
    repos.fsck(noisy.root)
    assert [ref for ref in repos.refs(noisy.root) if ref.startswith("refs/skillgit/")] == []


def test_for_people(noisy: Place) -> None:
    found = calibrated(noisy)
    done = cli.call(noisy.root, "gate", "--calibrate", SKILL)
    lines = done.out.splitlines()
    mean, count = found["mean"] * 100, len(found["flips"])
    assert lines[0] == (
        f"{SKILL} at {found['commit'][:12]}: {mean:.1f}% hard in 4 trials of 16 val tasks with openai/sim"
    )
    assert lines[1].startswith(f"noise: the score of {count} of 16 tasks changes between trials: val-0")
    assert "points from trial to trial" in lines[2]
    assert lines[4].startswith("strict (configured): ")
    assert lines[5].startswith("paired: ")
    assert lines[5].endswith(" pairs); 25.0 points; " + f"{found['modes']['paired']['detectable'] * 100:.1f} points")
    assert lines[-1] == f"warning: {found['warning']}"


def test_a_steady_target(steady: Place) -> None:
    half = WORLD.perfect_document().splitlines()[:-4]
    repos.commit(steady.root, {DOCUMENT: "\n".join(half) + "\n"}, "Half of the rules")
    found = calibrated(steady, "--trials", "3")
    assert (0 < found["mean"] < 1, found["deviation"], found["error"], found["floor"]) == (True, 0, 0, 0)
    assert (found["flips"], found["warning"]) == ({}, None)
    for mode, against in found["modes"].items():
        assert (mode, against["accepted"], against["share"]) == (mode, 0, 0)
    assert found["modes"]["strict"]["detectable"] == 1 / 16
    done = cli.call(steady.root, "gate", "--calibrate", SKILL, "--trials", "3")
    assert done.out.splitlines()[1] == "noise: none, no task's score changed between trials"
    assert "warning" not in done.out


@pytest.mark.parametrize(
    ("document", "score"), [(WORLD.perfect_document(), "100.0%"), (SEED_DOCUMENT, "0.0%")], ids=["ceiling", "floor"]
)
def test_a_document_that_cannot_show_noise(steady: Place, document: str, score: str) -> None:
    if document == SEED_DOCUMENT:
        repos.commit(steady.root, {DOCUMENT: document}, "No rule")
    done = cli.call(steady.root, "gate", "--calibrate", SKILL, "--trials", "3")
    unseen = (
        f"noise cannot be seen on the calibrated document, where every val task scores {score} in all 3 trials; "
        "calibrate again after an acceptance, or on another document (--rev)"
    )
    assert done.out.splitlines()[1] == unseen
    assert "none" not in done.out
    assert "warning" not in done.out
    assert done.out.splitlines()[3] == "strict (configured): 0.0% (0 of 6 pairs); 6.2 points; -"
    found = calibrated(steady, "--trials", "3")
    assert found["warning"] == f"the strict gate does not look at noise, and {unseen}"
    assert {against["detectable"] for against in found["modes"].values()} == {None}
    assert unseen in cli.call(steady.root, "train", SKILL).err


def test_the_gate_and_another_revision(steady: Place) -> None:
    repos.commit(steady.root, {DOCUMENT: "# Tickets\n\nAnswer with the code.\n"}, "Worse")
    steady.configure("gate_mode: strict", "gate_mode: margin, epsilon: 0.2, repeats: 2")
    found = calibrated(steady, "--rev", "HEAD~1", "--trials", "2")
    assert (found["commit"], found["mean"]) == (steady.git("rev-parse", "HEAD~1"), 1)
    assert (found["repeats"], steady.server.count) == (2, 2 * 2 * 16)
    assert (found["gate_mode"], found["modes"]["margin"]["least"]) == ("margin", 4 / 16)
    assert calibrated(steady, "--trials", "2")["mean"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing option '--calibrate'"),
        (("--calibrate", "topcis"), "skillgit.yaml: no skill 'topcis'; did you mean 'topics'?"),
        (("--calibrate", SKILL, "--trials", "1"), "Invalid value for '--trials': 1 is not in the range 2<=x<=64"),
        (("--calibrate", SKILL, "--rev", "nowhere"), "nowhere: no such revision; name a commit, a branch or a tag"),
    ],
)
def test_refused_before_any_call(steady: Place, arguments: tuple[str, ...], said: str) -> None:
    assert steady.refused("gate", *arguments).startswith(said)


def test_an_unknown_gate_is_refused_before_any_call(steady: Place) -> None:
    steady.configure("gate_mode: strict", "gate_mode: pairde")
    message = steady.refused("gate", "--calibrate", SKILL)
    assert message == "evaluation.gate_mode: there is no 'pairde'; did you mean 'paired'?"


def test_a_broken_target_is_no_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: Answer(status=500)) as server:
        place = made(tmp_path / "r", monkeypatch, server)
        assert "attempts all failed" in place.refused("gate", "--calibrate", SKILL, code=3, calls=True)
