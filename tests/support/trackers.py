"""The events of a small run, for tests of what listens."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from skillgit.train.events import RunFinished, RunStarted, StepFinished
from skillgit.train.watch.trackers import Training

HALF, BETTER = Fraction(1, 2), Fraction(3, 4)
STARTED = RunStarted("topics", "01k9x0c5v2m8q4t7b3n6r1d9sf", 2, 2, None)
BASELINE = StepFinished(0, 1, "baseline", HALF, None, None, HALF, 0, "", 10, 100, Decimal("0.05"))
ACCEPTED = StepFinished(1, 1, "accept-best", BETTER, None, HALF, BETTER, 2, "ok", 30, 900, Decimal("0.25"))
REJECTED = StepFinished(2, 2, "reject", None, Fraction(1, 4), BETTER, BETTER, 1, "no", 30, 900, None)
STEPS = (BASELINE, ACCEPTED, REJECTED)
FINISHED = RunFinished("all epochs are done", 2, 1, 1)


def training(folder: Path) -> Training:
    """What a tracker of that run is made with."""
    models = {"target": "openai/sim", "optimizer": "anthropic/sim"}
    return Training("topics", {"train": {"num_epochs": 2}}, models, folder)
