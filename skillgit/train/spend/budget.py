"""Budgets of one command: calls, tokens, money and time, and the meter that holds a run to them.

A budget is an end like any other (exit code 0): the run stays where it is, and the same command goes on from there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from decimal import Decimal

from skillgit.errors import ConfigError, UsageError
from skillgit.models.base import Usage
from skillgit.models.usage import usd


class BudgetSpent(Exception):
    """The budget is used up, and nothing that was paid for is under way any more.

    No SkillgitError: nothing failed, so nothing that counts, retries or reports failures may catch it; the loop alone
    does, and ends the command. `reason` is the sentence of `exhausted`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that one command may spend; None is no limit.

    Args:
        max_calls: model calls that were answered. max_tokens: input and output of all roles together.
        max_usd: at list prices. max_minutes: by the clock, waiting included.

    Raises:
        UsageError: a limit that is not above 0.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_usd: Decimal | None = None
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not value > 0:
                option = "--" + limit.name.replace("_", "-")
                raise UsageError(f"{option} {value} leaves nothing to spend", mend="give a number above 0")

    def __bool__(self) -> bool:
        return any(getattr(self, limit.name) is not None for limit in fields(self))


@dataclass(frozen=True, slots=True)
class Spent:
    """What this command has spent. `usd` is None where a model's price is not known, or nobody asked."""

    calls: int = 0
    tokens: int = 0
    usd: Decimal | None = None
    seconds: float = 0.0


def exhausted(budget: Budget, spent: Spent) -> str | None:
    """Which limit is reached, in a sentence; None where there is room for another call. The first one counts."""
    if budget.max_calls is not None and spent.calls >= budget.max_calls:
        return f"the budget of {budget.max_calls} calls is used up ({spent.calls})"
    if budget.max_tokens is not None and spent.tokens >= budget.max_tokens:
        return f"the budget of {budget.max_tokens} tokens is used up ({spent.tokens})"
    if budget.max_usd is not None and spent.usd is not None and spent.usd >= budget.max_usd:
        return f"the budget of {budget.max_usd} USD is used up ({spent.usd:.4f})"
    if budget.max_minutes is not None and spent.seconds >= budget.max_minutes * 60:
        return f"the budget of {budget.max_minutes:g} minutes is used up ({spent.seconds / 60:.1f})"
    return None


def require_prices(budget: Budget, models: Iterable[str]) -> None:
    """A budget in dollars can be kept only where every model has a price.

    Args:
        models: `provider/model` of every role.

    Raises:
        ConfigError: names the first model without a known price; to be called before any call is made.
    """
    if budget.max_usd is None:
        return
    for model in models:
        if usd(model, Usage(1, 1, 0, 1)) is None:
            raise ConfigError(f"--max-usd: the price of {model} is not known", mend="use --max-tokens instead")


class Meter:
    """Counts what a command spends, and lets a unit of work begin only while there is budget for it.

    A unit is one attempt or one optimizer call, from before its first request until its answer is in the call cache.
    A unit that has begun is finished; once the budget is used up, the next ones wait until all that have begun are
    done, and only then raise. So whatever cancels the rest of a batch when one of its workers raises (`map_bounded`,
    a task group, a speculation that is given up) finds nothing in flight: all that was paid for is in the cache, and
    the same command resumes at the same step without paying again.

    `max_calls` reserves a call for every unit that has begun, so that it is overrun only by units that need more than
    one call (a firmer retry, a conversation); tokens, money and time by at most the units in flight.

    Args:
        clock: seconds that only grow; time counts from when the meter is made.
    """

    def __init__(self, budget: Budget | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget or Budget()
        self._clock = clock
        self._began = clock()
        self._usage = Usage()
        self._usd: Decimal | None = None if self.budget.max_usd is None else Decimal(0)
        self._open = 0
        self._changed = asyncio.Event()

    @property
    def spent(self) -> Spent:
        """So far."""
        return Spent(self._usage.calls, self._usage.tokens, self._usd, self._clock() - self._began)

    @property
    def reason(self) -> str | None:
        """Why the command should end at the next safe point, None while there is budget."""
        return exhausted(self.budget, self.spent)

    def add(self, model: str, usage: Usage) -> None:
        """Count a reply.

        Args:
            model: `provider/model`.
        """
        self._usage += usage
        if self._usd is not None:
            price = usd(model, usage)
            self._usd = None if price is None else self._usd + price
        self._wake()

    @asynccontextmanager
    async def unit(self) -> AsyncIterator[None]:
        """Around an attempt or an optimizer call that the cache does not answer.

        Raises:
            BudgetSpent: before the block is entered.
        """
        await self._admit()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._wake()

    async def _admit(self) -> None:
        while True:
            reason = self.reason
            if reason is None and self._has_a_call_left():
                return
            if reason is not None and not self._open:
                raise BudgetSpent(reason)
            # Units that have begun give back what they had reserved, or use the budget up.
            await self._changed.wait()

    def _has_a_call_left(self) -> bool:
        most = self.budget.max_calls
        return most is None or self._usage.calls + self._open < most

    def _wake(self) -> None:
        """Let all that wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()
