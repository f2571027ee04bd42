"""W&B: against a stand-in for its module always, against the real one where it is installed."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from support.trackers import FINISHED, STARTED, STEPS, training

from skillgit.errors import ConfigError
from skillgit.train.watch.trackers import open_tracker
from skillgit.train.watch.trackers.wandb_tracker import WandbTracker


class FakeRun:
    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, Any]]] = []
        self.summary: dict[str, Any] = {}
        self.ended: list[int] = []

    def log(self, data: dict[str, Any], step: int) -> None:
        self.logged.append((step, data))

    def finish(self, exit_code: int) -> None:
        self.ended.append(exit_code)


class FakeWandb(types.ModuleType):
    """The part of W&B's interface that is used."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.errors = types.SimpleNamespace(Error=type("Error", (Exception,), {}))
        self.run = FakeRun()
        self.begun: dict[str, Any] = {}
        self.key = True

    def login(self) -> bool:
        if not self.key:
            raise self.errors.Error("No API key configured.")
        return True

    def Settings(self, **settings: Any) -> dict[str, Any]:
        return settings

    def init(self, **given: Any) -> FakeRun:
        self.begun = given
        return self.run


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeWandb:
    module = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", module)
    for name in ("WANDB_PROJECT", "WANDB_DIR"):
        monkeypatch.delenv(name, raising=False)
    return module


def test_a_run_is_logged(fake: FakeWandb, tmp_path: Path) -> None:
    tracker = WandbTracker(training(tmp_path / "new"))
    for event in (STARTED, *STEPS, FINISHED):
        tracker(event)
    tracker.close()
    assert fake.begun["id"] == STARTED.run
    assert (fake.begun["project"], fake.begun["resume"]) == ("skillgit", "allow")
    assert fake.begun["dir"] == str(tmp_path / "new")
    assert fake.begun["config"]["train.num_epochs"] == 2
    assert fake.begun["config"]["models.target"] == "openai/sim"
    assert [step for step, _ in fake.run.logged] == [0, 1, 2]
    last = fake.run.logged[1][1]
    assert (last["decision"], last["score"], last["total_calls"]) == ("accept-best", 0.75, 40.0)
    assert fake.run.summary["reason"] == FINISHED.reason
    assert fake.run.ended == [0]


def test_an_interrupted_run_is_left_to_go_on(fake: FakeWandb, tmp_path: Path) -> None:
    tracker = WandbTracker(training(tmp_path))
    tracker(STARTED)
    tracker.close()
    assert fake.run.ended == [1]


def test_no_key_is_said_before_anything(fake: FakeWandb, tmp_path: Path) -> None:
    fake.key = False
    with pytest.raises(ConfigError, match="No API key configured; run `wandb login`, or set WANDB_MODE=offline"):
        open_tracker("wandb", training(tmp_path))


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="the extra is not installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_real_one_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    tracker = open_tracker("wandb", training(tmp_path / "kept"))
    for event in (STARTED, *STEPS, FINISHED):
        tracker(event)
    tracker.close()
    files = list((tmp_path / "kept").glob(f"wandb/offline-run-*/run-{STARTED.run}.wandb"))
    assert len(files) == 1
    written = files[0].read_bytes()
    for word in (b"accept-best", b"score_at_most", b"total_tokens", FINISHED.reason.encode(), b"openai/sim"):
        assert word in written
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["kept"]
