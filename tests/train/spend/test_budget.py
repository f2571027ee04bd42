"""Budgets, and the meter that keeps them without losing what was paid for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from support import training
from support.training import Yard

from skillgit.errors import ConfigError, UsageError
from skillgit.execute.pool import map_bounded
from skillgit.models.base import Usage
from skillgit.store.locks import SkillLock
from skillgit.train.loop import train
from skillgit.train.spend.budget import Budget, BudgetSpent, Meter, Spent, exhausted, require_prices

PRICED = "openai/gpt-4o-mini"


@pytest.mark.parametrize(
    ("budget", "spent", "sentence"),
    [
        (Budget(max_calls=200), Spent(calls=203), "the budget of 200 calls is used up (203)"),
        (Budget(max_calls=200), Spent(calls=199, tokens=10**9), None),
        (Budget(max_tokens=1000), Spent(tokens=1000), "the budget of 1000 tokens is used up (1000)"),
        (Budget(max_usd=Decimal("0.50")), Spent(usd=Decimal("0.51239")), "the budget of 0.50 USD is used up (0.5124)"),
        (Budget(max_usd=Decimal("0.50")), Spent(usd=Decimal("0.4999")), None),
        (Budget(max_minutes=1.5), Spent(seconds=90), "the budget of 1.5 minutes is used up (1.5)"),
        (Budget(max_minutes=1.5), Spent(seconds=89.9), None),
        (Budget(), Spent(10**9, 10**9, Decimal(10**9), 10**9), None),
    ],
)
def test_exhausted(budget: Budget, spent: Spent, sentence: str | None) -> None:
    assert exhausted(budget, spent) == sentence


def test_a_limit_of_nothing_is_refused() -> None:
    assert not Budget()
    assert Budget(max_minutes=0.1)
    with pytest.raises(UsageError, match="--max-calls 0 leaves nothing"):
        Budget(max_calls=0)


def test_dollars_need_prices() -> None:
    require_prices(Budget(max_usd=Decimal(1)), [PRICED, "local/anything"])
    require_prices(Budget(max_tokens=1), ["openai/nobody-knows-it"])
    with pytest.raises(ConfigError, match=r"openai/nobody-knows-it is not known; use --max-tokens"):
        require_prices(Budget(max_usd=Decimal(1)), [PRICED, "openai/nobody-knows-it"])


def test_what_is_counted() -> None:
    now = [100.0]
    meter = Meter(Budget(max_usd=Decimal(1)), clock=lambda: now[0])
    meter.add(PRICED, Usage(1, 1_000_000, 0, 0))
    meter.add("local/anything", Usage(2, 5, 0, 6))
    now[0] = 130.0
    assert meter.spent == Spent(3, 1_000_011, Decimal("0.15"), 30.0)
    assert meter.reason is None
    meter.add(PRICED, Usage(1, 6_000_000, 0, 0))
    assert meter.reason == "the budget of 1 USD is used up (1.0500)"


class Work:
    """Attempts of two turns of the event loop, scored and cached after the reply, as a rollout is."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.begun: list[int] = []
        self.cached: list[int] = []

    async def __call__(self, item: int) -> None:
        async with self.meter.unit():
            self.begun.append(item)
            await asyncio.sleep(0.001 * (1 + item % 3))
            self.meter.add("fake/model", Usage(1, 10, 0, 2))
            await asyncio.sleep(0.001)  # scoring
            self.cached.append(item)


@pytest.mark.parametrize(
    ("budget", "least", "most"),
    [
        (Budget(max_calls=10), 10, 10),  # never overrun: a call is reserved
        (Budget(max_tokens=120), 10, 13),  # by what is in flight
    ],
)
async def test_a_batch_ends_at_the_budget_and_loses_nothing(budget: Budget, least: int, most: int) -> None:
    work = Work(Meter(budget))
    with pytest.raises(BudgetSpent, match="is used up"):
        await map_bounded(range(50), work, limit=4)
    assert least <= len(work.begun) <= most
    assert sorted(work.cached) == sorted(work.begun)


async def test_nothing_is_lost_where_stages_overlap() -> None:
    """The gate's batch and a speculative one in a task group: whichever raises first cancels the other."""
    work = Work(Meter(Budget(max_calls=11)))

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(map_bounded(range(20), work, limit=4))
            group.create_task(map_bounded(range(100, 120), work, limit=4))

    with pytest.raises(ExceptionGroup) as raised:
        await both()
    assert raised.value.subgroup(BudgetSpent) is not None
    assert len(work.cached) == len(work.begun) == 11


async def test_a_failed_call_gives_back_what_it_had_reserved() -> None:
    meter = Meter(Budget(max_calls=2))
    served = []

    async def one(item: int) -> None:
        async with meter.unit():
            await asyncio.sleep(0.001)
            if item < 2:
                return  # no reply, nothing to pay
            meter.add("fake/model", Usage(1))
            served.append(item)

    with pytest.raises(BudgetSpent):
        await map_bounded(range(6), one, limit=3)
    assert len(served) == 2


async def test_time_runs_out_between_units() -> None:
    now = [0.0]
    meter = Meter(Budget(max_minutes=1), clock=lambda: now[0])
    async with meter.unit():
        now[0] = 61.0
    with pytest.raises(BudgetSpent, match=r"1 minutes is used up \(1\.0\)"):
        async with meter.unit():
            pytest.fail("nothing begins any more")


async def _with_budget(here: Yard, budget: Budget, overrides: list[str]) -> bool:
    """One command. Returns: whether the run is finished."""
    async with training.session(here.root, here.watcher, overrides=overrides) as opened:
        opened.meter = Meter(budget)
        with SkillLock.acquire(opened.repo, training.SKILL) as lock, contextlib.suppress(BudgetSpent):
            await train(opened, lock)
    return bool(training.journals(here.root)) and training.journal(here.root).state.status == "finished"


async def test_a_run_in_small_budgets_pays_for_nothing_twice(yard: Callable[..., Yard], tmp_path: Path) -> None:
    overrides = ["train.speculate=false", "evaluation.racing=false"]
    with pytest.MonkeyPatch.context() as patch, training.yard(tmp_path / "whole", patch, training.mixed()) as whole:
        await whole.train(*overrides)
        calls = len(whole.server.calls)
        decisions = [step.decision for step in whole.steps]
    here = yard(training.mixed())
    spent = []
    while not await _with_budget(here, Budget(max_calls=13), overrides):
        spent.append(len(here.server.calls))
    assert [step.decision for step in here.steps] == decisions
    assert len(here.server.calls) == calls
    assert spent == [13 * command for command in range(1, len(spent) + 1)]
    assert len(spent) == (calls - 1) // 13
