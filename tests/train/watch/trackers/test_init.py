"""How trackers are opened, and what they count."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from support.trackers import FINISHED, STEPS, training
from support.training import Watcher

from skillgit.errors import ConfigError
from skillgit.train import plugins
from skillgit.train.events import Note
from skillgit.train.watch.trackers import BUILT_IN, Numbers, Training, open_tracker


def test_the_numbers_of_steps() -> None:
    numbers = Numbers()
    numbers.step(STEPS[0])
    assert numbers.step(STEPS[1]) == {
        "score": 0.75,
        "before": 0.5,
        "best": 0.75,
        "accepted": 1.0,
        "edits": 2.0,
        "calls": 30.0,
        "tokens": 900.0,
        "total_calls": 40.0,
        "total_tokens": 1000.0,
        "usd": 0.25,
        "total_usd": pytest.approx(0.3),
    }
    early = numbers.step(STEPS[2])
    assert early["score_at_most"] == 0.25
    assert early.keys().isdisjoint({"score", "usd", "total_usd"})
    assert early["accepted"] == 0.0
    slow = Numbers().step(replace(STEPS[1], kind="slow-update", decision="forced"))
    assert (slow["slow_update_score"], slow["slow_update_accepted"], slow["best"], slow["total_calls"]) == (
        0.75,
        1,
        0.75,
        30,
    )
    assert "score" not in slow, "a slow update has the number of a step"
    assert numbers.summary(FINISHED) == {
        "reason": "all epochs are done",
        "steps": 2,
        "accepted": 1,
        "rejected": 1,
        "total_calls": 70,
        "total_tokens": 1900,
        "best": 0.75,
        "gain": 0.25,
    }


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_missing_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (name, f"{name}.tracking"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"--track {name}: it is not installed.*pip install 'skillgit\[{name}\]'"):
        open_tracker(name, training(tmp_path))


def test_a_folder_of_that_name_is_no_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "wandb", types.ModuleType("wandb"))
    with pytest.raises(ConfigError, match="not installed"):
        open_tracker("wandb", training(tmp_path))


def test_a_plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[Training] = []
    watcher = Watcher()
    module = types.ModuleType("their_package")

    def make(given: Training) -> Watcher:
        made.append(given)
        return watcher

    def nothing(_: Training) -> None: ...

    def broken(_: Training) -> None:
        raise KeyError("token")

    for function in (make, nothing, broken):
        setattr(module, function.__name__, function)
    monkeypatch.setitem(sys.modules, "their_package", module)
    points = [EntryPoint(name, f"their_package:{name}", "skillgit.callbacks") for name in ("make", "nothing", "broken")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints(p for p in points if p.group == group))
    opened = open_tracker("make", training(tmp_path))
    opened(Note("hello"))
    opened.close()
    assert made == [training(tmp_path)]
    assert watcher.notes == ["hello"]
    with pytest.raises(ConfigError, match="'nothing' gives no listener"):
        open_tracker("nothing", training(tmp_path))
    with pytest.raises(ConfigError, match="'broken': KeyError"):
        open_tracker("broken", training(tmp_path))
    with pytest.raises(ConfigError, match="did you mean 'mlflow'"):
        open_tracker("mlflw", training(tmp_path))
