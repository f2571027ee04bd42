"""Weights & Biases (`pip install 'skillgit[wandb]'`).

What W&B itself reads from the environment counts: WANDB_PROJECT (`skillgit` where unset), WANDB_ENTITY, WANDB_MODE
(`offline` needs no account), WANDB_DIR (git's own folder where unset, so that the work tree stays clean).
"""

from __future__ import annotations

import os
from typing import Any

from skillgit.errors import ConfigError
from skillgit.train.events import Event, RunFinished, RunStarted, StepFinished
from skillgit.train.watch.trackers import Numbers, Training, extra

LOGIN = "run `wandb login`, or set WANDB_MODE=offline"


class WandbTracker:
    """One W&B run per run of ours, under the same id, so that a resumed run goes on there too.

    Raises:
        ConfigError: the extra is not installed, or there is no key. W&B may ask for one on a terminal, which is why
            it is opened before the display begins.
    """

    name = "W&B"

    def __init__(self, training: Training) -> None:
        self._wandb: Any = extra("wandb", "init")
        self._training = training
        self._numbers = Numbers()
        self._run: Any = None
        try:
            self._wandb.login()
        except self._wandb.errors.Error as error:
            raise ConfigError(f"--track wandb: {error}".rstrip("."), mend=LOGIN) from None

    def __call__(self, event: Event) -> None:
        """Log what concerns the run as a whole and its steps."""
        if isinstance(event, RunStarted):
            self._begin(event)
        elif isinstance(event, StepFinished) and self._run is not None:
            decision = "slow_update_decision" if event.kind == "slow-update" else "decision"
            numbers = {**self._numbers.step(event), "epoch": event.epoch, decision: event.decision}
            self._run.log(numbers, step=event.step)
        elif isinstance(event, RunFinished) and self._run is not None:
            self._run.summary.update(self._numbers.summary(event))
            self._finish(0)

    def close(self) -> None:
        """A run that is still open was interrupted or failed; the next command goes on with it."""
        self._finish(1)

    def _begin(self, event: RunStarted) -> None:
        training, wandb = self._training, self._wandb
        folder = os.environ.get("WANDB_DIR") or str(training.folder)
        os.makedirs(folder, exist_ok=True)
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or "skillgit",
            id=event.run,
            resume="allow",
            name=f"{training.skill} {event.run}",
            group=training.skill,
            config={**training.flat(), "epochs": event.epochs, "steps": event.steps},
            dir=folder,
            # Its own words would run into the display; what git knows is ours to tell.
            settings=wandb.Settings(console="off", silent=True, disable_git=True, save_code=False),
        )

    def _finish(self, code: int) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.finish(exit_code=code)
