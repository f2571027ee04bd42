"""Experiment trackers: listeners that bring a run's numbers to where a team looks at runs.

`train --track NAME` takes `wandb`, `mlflow`, or an installed plugin's name:

[project.entry-points."skillgit.callbacks"]
our-dashboard = "our_package:make"      # make(training: Training) -> a listener, with a close() if it likes

A tracker gets numbers, names and decisions: no text of documents, tasks, replies or verdicts.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from skillgit.errors import ConfigError
from skillgit.train.events import RunFinished, StepFinished
from skillgit.train.plugins import CALLBACKS, Border, load
from skillgit.train.watch.callbacks import Background

BUILT_IN = {
    "mlflow": "skillgit.train.watch.trackers.mlflow_tracker:MlflowTracker",
    "wandb": "skillgit.train.watch.trackers.wandb_tracker:WandbTracker",
}


@dataclass(frozen=True, slots=True)
class Training:
    """What a tracker is made with.

    Args:
        skill: its name.
        settings: sections of the skill's settings as plain values: `{"train": {"num_epochs": 4, …}, …}`.
        models: `provider/model` by role.
        folder: where a tracker may keep local files; outside of the work tree.
    """

    skill: str
    settings: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, str]
    folder: Path

    def flat(self) -> dict[str, Any]:
        """Settings as `train.num_epochs`, models as `models.target`: one level, as trackers show them."""
        sections = {**self.settings, "models": self.models}
        return {f"{name}.{key}": value for name, section in sections.items() for key, value in section.items()}


class Closing(Protocol):
    """A listener that is closed when the command ends."""

    def __call__(self, event: Any) -> None: ...

    def close(self) -> None: ...


def open_tracker(name: str, training: Training) -> Closing:
    """A tracker as a listener. It runs in a thread of its own: a slow server holds no step up.

    Raises:
        ConfigError: no such tracker, its extra is not installed, or it cannot be made.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        make = getattr(importlib.import_module(module), attribute)
        return Background(make(training))
    make = load(CALLBACKS, name, sorted(BUILT_IN))
    with Border(f"{CALLBACKS}: {name!r}"):
        listener = make(training)
    if not callable(listener):
        raise ConfigError(f"{CALLBACKS}: {name!r} gives no listener", mend="its factory returns a callable")
    return Background(listener)


def extra(module: str, has: str) -> ModuleType:
    """An optional package.

    Args:
        module: to be imported; the extra has the name of its first part.
        has: a name that the real one has: the folder `wandb` that W&B leaves behind can be imported as well.

    Raises:
        ConfigError: the extra is not installed.
    """
    name = module.partition(".")[0]
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        found, problem = None, f": {error}"
    else:
        problem = ""
    if found is None or not hasattr(found, has):
        raise ConfigError(f"--track {name}: it is not installed{problem}", mend=f"pip install 'skillgit[{name}]'")
    return found


@dataclass(slots=True)
class Numbers:
    """What trackers show, counted over the events of one command."""

    accepted: int = 0
    rejected: int = 0
    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    first: float | None = None
    best: float | None = None
    decisions: list[str] = field(default_factory=list)

    def step(self, event: StepFinished) -> dict[str, float]:
        """Count a step.

        Returns: its numbers by name: `score` (or `score_at_most`, where racing ended the measurement), `before`,
            `best`, `accepted` (0 or 1), `edits`, `calls`, `tokens`, `usd` of the step, and `total_…` of the command.
            What is not known is left out. A slow update's own numbers are `slow_update_score` and so on: it has the
            number of its epoch's last step, whose numbers they must not replace.
        """
        accepted = event.decision.startswith(("accept", "forced"))
        self.accepted += accepted
        self.rejected += event.decision == "reject"
        self.calls += event.calls
        self.tokens += event.tokens
        self.usd = None if self.usd is None or event.usd is None else self.usd + float(event.usd)
        self.decisions.append(event.decision)
        scores = {
            "score": event.score if event.maximum is None else None,
            "score_at_most": event.maximum,
            "before": event.before,
            "best": event.best,
        }
        shown = {name: float(value) for name, value in scores.items() if value is not None}
        self.best = shown.get("best", self.best)
        self.first = self.best if self.first is None else self.first
        counts = {"accepted": accepted, "edits": event.edits, "calls": event.calls, "tokens": event.tokens}
        totals = {"total_calls": self.calls, "total_tokens": self.tokens}
        money = {"usd": None if event.usd is None else float(event.usd), "total_usd": self.usd}
        found = {**shown, **counts, **totals, **{name: value for name, value in money.items() if value is not None}}
        own = "slow_update_" if event.kind == "slow-update" else ""
        return {name if name.startswith(("best", "total_")) else own + name: float(v) for name, v in found.items()}

    def summary(self, event: RunFinished) -> dict[str, float | str]:
        """The numbers at the end of a run: `best` and its `gain` over what the command began with, and the counts."""
        found: dict[str, float | str] = {
            "reason": event.reason,
            "steps": event.steps,
            "accepted": event.accepted,
            "rejected": event.rejected,
            "total_calls": self.calls,
            "total_tokens": self.tokens,
        }
        if self.usd is not None:
            found["total_usd"] = self.usd
        if self.best is not None and self.first is not None:
            found.update(best=self.best, gain=self.best - self.first)
        return found
