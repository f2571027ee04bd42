"""One step's optimizer whose replies a script makes, with an environment on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from support import environments
from support.training import MemoryCache, ScriptedModel

from skillgit.envs.contract import Attempt, Score
from skillgit.models.base import Request, Usage
from skillgit.train.propose.optimizer_calls import CallLog, OptimizerCalls, StepOptimizer
from skillgit.train.scoring.rollout import Rollout


class Bench:
    """A `StepOptimizer` that answers with the replies in order; what is no text is written as JSON."""

    def __init__(self, folder: Path, replies: Sequence[Any] = (), *, reveal: str = "answer", meta: str = "") -> None:
        settings = f"description: Some tasks.\nextract: whole\nscorer: exact\nreveal: {reveal}\n"
        self.environment = environments.load(environments.write_env(folder / "env", settings))
        script = iter(reply if isinstance(reply, str) else json.dumps(reply) for reply in replies)
        self.model = ScriptedModel(lambda _: next(script))
        self.cache = MemoryCache()
        self.log = CallLog()
        calls = OptimizerCalls(self.model, self.cache, "r1", on_usage=lambda _: None)
        self.optimizer = StepOptimizer(calls, 4, self.log, self.environment, meta)

    @property
    def requests(self) -> list[Request]:
        """What was asked."""
        return self.model.requests

    @property
    def prompt(self) -> str:
        """The user turn of the only request."""
        (request,) = self.model.requests
        return request.turns[0].text


def rollout(
    ident: str, hard: float | None, reply: str = "a reply", *, soft: float | None = None, trial: int = 0
) -> Rollout:
    """A scored attempt at the task `ident`, or an errored one."""
    task = environments.task(f"answer of {ident}", id=ident, input=f"input of {ident}")
    if hard is None:
        return Rollout(task, trial, None, "busy", Usage())
    score = Score(Fraction(hard), Fraction(hard if soft is None else soft), f"why {ident}")
    return Rollout(task, trial, Attempt(reply, reply, score), None, Usage())
