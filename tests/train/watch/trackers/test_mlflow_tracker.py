"""MLflow: against a stand-in for its client always, against the real one where it is installed."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from support.trackers import FINISHED, STARTED, STEPS, training

from skillgit.train.watch.trackers import open_tracker
from skillgit.train.watch.trackers.mlflow_tracker import MlflowTracker

REAL = importlib.util.find_spec("mlflow") is not None


class FakeClient:
    """The part of MLflow's client that is used, with one store for all clients."""

    experiments: dict[str, str]
    runs: dict[str, dict[str, Any]]
    uris: list[str]

    def __init__(self, tracking_uri: str) -> None:
        self.uris.append(tracking_uri)

    def get_experiment_by_name(self, name: str) -> Any:
        found = self.experiments.get(name)
        return None if found is None else types.SimpleNamespace(experiment_id=found)

    def create_experiment(self, name: str, artifact_location: str | None) -> str:
        return self.experiments.setdefault(name, str(len(self.experiments)))

    def search_runs(self, experiments: list[str], query: str, max_results: int) -> list[Any]:
        found = [run for run in self.runs.values() if f"'{run['tags']['skillgit.run']}'" in query]
        return [types.SimpleNamespace(info=types.SimpleNamespace(run_id=run["id"])) for run in found]

    def create_run(self, experiment: str, run_name: str, tags: dict[str, str]) -> Any:
        ident = f"r{len(self.runs)}"
        self.runs[ident] = {"id": ident, "tags": tags, "metrics": [], "params": {}, "status": ["RUNNING"]}
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=ident))

    def log_batch(self, run: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(params) <= 100
        self.runs[run]["metrics"] += metrics
        self.runs[run]["params"].update(params)

    def set_tag(self, run: str, key: str, value: str) -> None:
        self.runs[run]["tags"][key] = value

    def update_run(self, run: str, status: str) -> None:
        self.runs[run]["status"].append(status)

    set_terminated = update_run


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    client = type("Client", (FakeClient,), {"experiments": {}, "runs": {}, "uris": []})
    tracking, entities = types.ModuleType("mlflow.tracking"), types.ModuleType("mlflow.entities")
    tracking.MlflowClient = client  # type: ignore[attr-defined]
    entities.Metric = lambda *fields: fields  # type: ignore[attr-defined]
    entities.Param = lambda *fields: fields  # type: ignore[attr-defined]
    for module in (types.ModuleType("mlflow"), tracking, entities):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    return client


def test_a_run_is_logged(fake: type[FakeClient], tmp_path: Path) -> None:
    tracker = MlflowTracker(training(tmp_path / "new"))
    for event in (STARTED, *STEPS, FINISHED):
        tracker(event)
    tracker.close()
    assert fake.uris == [f"sqlite:///{tmp_path}/new/mlflow.db"]
    assert fake.experiments == {"skillgit/topics": "0"}
    (run,) = fake.runs.values()
    assert run["params"]["train.num_epochs"] == "2"
    metrics = {(name, step): value for name, value, _, step in run["metrics"]}
    assert (metrics["score", 1], metrics["score_at_most", 2], metrics["total_calls", 2]) == (0.75, 0.25, 70.0)
    assert run["tags"]["skillgit.decision.00001"] == "accept-best"
    assert run["tags"]["skillgit.reason"] == FINISHED.reason
    assert run["status"] == ["RUNNING", "FINISHED"]


def test_a_resumed_run_goes_on_in_its_own(fake: type[FakeClient], tmp_path: Path) -> None:
    for events in ((STARTED, *STEPS[:2]), (STARTED, *STEPS[2:], FINISHED)):
        tracker = MlflowTracker(training(tmp_path))
        for event in events:
            tracker(event)
        tracker.close()
    (run,) = fake.runs.values()
    assert run["status"] == ["RUNNING", "KILLED", "RUNNING", "FINISHED"]
    assert {step for _, _, _, step in run["metrics"]} == {0, 1, 2}


@pytest.mark.skipif(not REAL, reason="the extra is not installed")
@pytest.mark.filterwarnings("ignore")
def test_the_real_one_in_its_own_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    for events in ((STARTED, *STEPS[:2]), (STARTED, *STEPS[2:], FINISHED)):
        tracker = open_tracker("mlflow", training(tmp_path / "kept"))
        for event in events:
            tracker(event)
        tracker.close()
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/kept/mlflow.db")
    experiment = client.get_experiment_by_name("skillgit/topics")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["models.optimizer"] == "anthropic/sim"
    assert run.data.tags["skillgit.decision.00002"] == "reject"
    history = client.get_metric_history(run.info.run_id, "best")
    assert [(metric.step, metric.value) for metric in history] == [(0, 0.5), (1, 0.75), (2, 0.75)]
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["kept"]
