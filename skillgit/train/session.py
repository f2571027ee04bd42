"""Everything outside of the loop that a run touches: repository, environment, models, cache, and who watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from skillgit.config import SkillSettings
from skillgit.envs.contract import Environment, Task
from skillgit.envs.digests import val_digest
from skillgit.models.base import Model, Usage
from skillgit.models.cache import CallCache
from skillgit.models.usage import Ledger
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.events import Event, Listener
from skillgit.train.gate import GateSettings, gate_settings
from skillgit.train.schedule import chosen
from skillgit.train.scoring.rollout import Roller
from skillgit.train.scoring.scores import Metric, metric_of
from skillgit.train.speculation import Ahead
from skillgit.train.spend.budget import Meter


@dataclass(slots=True)
class Session:
    """One skill, opened for training or measuring.

    Args:
        explicit: `section.key` of what the command line set.
        ledger: what the current step has spent so far.
    """

    name: str
    settings: SkillSettings
    repo: Repository
    environment: Environment
    target: Model
    optimizer: Model | None
    cache: CallCache
    listener: Listener
    explicit: frozenset[str] = frozenset()
    ledger: Ledger = field(default_factory=Ledger)
    ahead: Ahead = field(default_factory=Ahead)
    meter: Meter = field(default_factory=Meter)

    @property
    def refs(self) -> SkillRefs:
        """Names of the skill's refs."""
        return SkillRefs(self.name)

    @property
    def train(self) -> tuple[Task, ...]:
        """The train tasks that runs use: all, or a seeded choice of `train_size`."""
        return chosen(self.environment.tasks("train"), self.settings.train.train_size, f"{self._seed}/train")

    @property
    def val(self) -> tuple[Task, ...]:
        """The tasks that the gate measures on: all, or a seeded choice of `sel_env_num`."""
        return chosen(self.environment.tasks("val"), self.settings.evaluation.sel_env_num, f"{self._seed}/val")

    @property
    def test(self) -> tuple[Task, ...]:
        """The tasks that `eval_test` scores: all, or a seeded choice of `test_env_num`."""
        return chosen(self.environment.tasks("test"), self.settings.evaluation.test_env_num, f"{self._seed}/test")

    @property
    def _seed(self) -> int:
        return self.settings.train.seed

    @property
    def form(self) -> Literal["full", "compact"]:
        """Of the prompts: small local models can follow only the compact ones."""
        wanted = self.settings.gradient.prompts
        if wanted == "auto":
            return "compact" if self.optimizer is not None and self.optimizer.name.startswith("local/") else "full"
        return wanted

    @property
    def speculates(self) -> bool:
        """Whether the next mini-batch may be rolled out ahead: a target that takes one call at a time has no slots
        to spare, and the embedded model's calls are the machine's own time."""
        local = self.target.name.startswith("local/")
        return self.settings.train.speculate and self.target.in_flight > 1 and not local

    @property
    def val_digest(self) -> str:
        """`Skill-Val`: scores compare only where it is equal."""
        return val_digest(self.environment, repeats=self.settings.evaluation.repeats, tasks=self.val)

    @property
    def target_identity(self) -> dict[str, Any]:
        """The target and all that changes its replies."""
        return {"name": self.target.name, "settings": dict(self.target.settings)}

    @property
    def metric(self) -> Metric:
        """What the gate compares."""
        return metric_of(self.settings.evaluation)

    @property
    def gate(self) -> GateSettings:
        """The gate's rule."""
        return gate_settings(self.settings.evaluation)

    def gate_text(self, *, missing: int, rule: str | None = None) -> str:
        """`Skill-Gate`: the rule in a word, the metric, tasks that were compared, those that were not, repeats.

        Args:
            rule: another than the skill's own.
        """
        chosen = self.settings.evaluation
        mode = rule or chosen.gate_mode
        extra = " no_regression" if chosen.no_regression and rule is None else ""
        lost = f" missing={missing}" if missing else ""
        n = len(self.val) - missing
        asked = {"paired": f" z={chosen.z:g}", "margin": f" epsilon={chosen.epsilon:g}"}.get(mode, "")
        return f"{mode} {self.metric}{asked}{extra} n={n}{lost} repeats={chosen.repeats}"

    @property
    def model_names(self) -> dict[str, str]:
        """By role."""
        optimizer = self.optimizer.name if self.optimizer else ""
        return {"target": self.target.name, "optimizer": optimizer}

    def roller(self, stage: str) -> Roller:
        """Makes rollouts whose usage counts as the target's in this stage."""
        spender = self.spender("target", stage)
        return Roller(
            self.environment, self.target, self.cache, on_usage=spender, flights=self.ahead.flights, meter=self.meter
        )

    def spender(self, role: Literal["target", "optimizer"], stage: str) -> Callable[[Usage], None]:
        """Counts usage in the ledger and against the budget."""
        name = self.model_names[role]

        def spend(usage: Usage) -> None:
            self.ledger.add(role, stage, name, usage)
            self.meter.add(name, usage)

        return spend

    def cost(self) -> dict[str, Any]:
        """What the step has spent, as records keep it: totals, `usd` where all prices are known, and the rows."""
        total, usd = self.ledger.total(), self.ledger.usd()
        return {
            "calls": total.calls,
            "tokens": total.tokens,
            "usd": None if usd is None else f"{usd:.4f}",
            "rows": self.ledger.to_json(),
        }

    def tell(self, event: Event) -> None:
        """Tell who watches."""
        self.listener(event)

    async def close(self) -> None:
        """Give everything back."""
        await self.ahead.close(cancel=True)
        await self.environment.close()
        await self.target.close()
        if self.optimizer is not None and self.optimizer is not self.target:
            await self.optimizer.close()
        self.cache.close()
