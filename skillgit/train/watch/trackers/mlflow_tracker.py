"""MLflow (`pip install 'skillgit[mlflow]'`).

MLFLOW_TRACKING_URI says where runs go (an SQLite file in git's own folder where unset), MLFLOW_EXPERIMENT_NAME under
which name (`skillgit/<skill>` where unset).
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any

from skillgit.train.events import Event, RunFinished, RunStarted, StepFinished
from skillgit.train.watch.trackers import Numbers, Training, extra

RUN = "skillgit.run"
"""The tag by which a resumed run finds its MLflow run."""

MOST = 100
"""Parameters that MLflow takes at once."""


class MlflowTracker:
    """One MLflow run per run of ours. The client it uses knows no active run, so it can live in a thread.

    Raises:
        ConfigError: the extra is not installed.
    """

    name = "MLflow"

    def __init__(self, training: Training) -> None:
        self._client_of: Any = extra("mlflow.tracking", "MlflowClient").MlflowClient
        self._entities: Any = extra("mlflow.entities", "Metric")
        # What it says of its tables would run into the display.
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        self._training = training
        self._numbers = Numbers()
        self._client: Any = None
        self._run: str | None = None

    def __call__(self, event: Event) -> None:
        """Log what concerns the run as a whole and its steps."""
        if isinstance(event, RunStarted):
            self._begin(event)
        elif isinstance(event, StepFinished) and self._run is not None:
            self._log({**self._numbers.step(event), "epoch": float(event.epoch)}, event.step)
            place = f"{event.step:05d}" + ("-slow-update" if event.kind == "slow-update" else "")
            self._client.set_tag(self._run, f"skillgit.decision.{place}", event.decision)
        elif isinstance(event, RunFinished) and self._run is not None:
            for key, value in self._numbers.summary(event).items():
                self._client.set_tag(self._run, f"skillgit.{key}", str(value))
            self._end("FINISHED")

    def close(self) -> None:
        """A run that is still open was interrupted or failed; the next command goes on with it."""
        self._end("KILLED")

    def _begin(self, event: RunStarted) -> None:
        training = self._training
        uri, artifacts = os.environ.get("MLFLOW_TRACKING_URI"), None
        if not uri:
            training.folder.mkdir(parents=True, exist_ok=True)
            uri, artifacts = f"sqlite:///{training.folder / 'mlflow.db'}", (training.folder / "mlruns").as_uri()
        self._client = client = self._client_of(tracking_uri=uri)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or f"skillgit/{training.skill}"
        experiment = self._experiment(name, artifacts)
        known = client.search_runs([experiment], f"tags.`{RUN}` = '{event.run}'", max_results=1)
        if known:
            self._run = known[0].info.run_id
            client.update_run(self._run, status="RUNNING")
            return
        tags = {RUN: event.run, "skillgit.skill": training.skill}
        self._run = client.create_run(experiment, run_name=f"{training.skill} {event.run}", tags=tags).info.run_id
        flat = {**training.flat(), "epochs": event.epochs, "steps": event.steps}
        params = [self._entities.Param(key, str(value)) for key, value in flat.items()]
        for start in range(0, len(params), MOST):
            client.log_batch(self._run, params=params[start : start + MOST])

    def _experiment(self, name: str, artifacts: str | None) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        return str(self._client.create_experiment(name, artifact_location=artifacts))

    def _log(self, numbers: dict[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [self._entities.Metric(key, value, now, step) for key, value in numbers.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def _end(self, status: str) -> None:
        run, self._run = self._run, None
        if run is not None:
            self._client.set_terminated(run, status)
