"""What a run will cost, before any of it is spent: calls, tokens and money by stage. Pure.

Every figure is a range. The low end is a run that takes all its steps with one candidate each, all of them rejected as
early as racing can; the high end one that repeats nothing, accepts everything and needs every call that there can be.
docs/budget.md states the assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from skillgit.models.base import Json, Usage
from skillgit.train.spend.budget import Budget
from skillgit.train.spend.estimate_stages import Row, Sizes, Survey, least, stages

STEPS = 3
"""A budget has to pay for the baseline and so many steps."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A run's cost by stage.

    Args:
        steps: of the whole run. least: the baseline and the first `STEPS` steps, as rows with their low ends alone.
    """

    steps: int
    rows: tuple[Row, ...]
    least: tuple[Row, ...]

    @property
    def low(self) -> Usage:
        """All rows' low ends together."""
        return sum((row.low for row in self.rows), Usage())

    @property
    def high(self) -> Usage:
        """All rows' high ends together."""
        return sum((row.high for row in self.rows), Usage())

    @property
    def usd(self) -> tuple[Decimal, Decimal] | None:
        """None as soon as one price is not known, since a part would mislead."""
        return _sum_usd(self.rows)

    def to_json(self) -> dict[str, Json]:
        """Stable keys; every number is a pair of low and high."""
        return {
            "steps": self.steps,
            "stages": [
                {"stage": row.stage, "role": row.role, "model": row.model, **_numbers(row.low, row.high, row.usd)}
                for row in self.rows
            ],
            "total": _numbers(self.low, self.high, self.usd),
        }

    def table(self) -> list[str]:
        """Lines for people: a row per stage, and the sum."""
        cells = [("stage", "role", "calls", "tokens", "USD")]
        cells += [(row.stage, row.role, *_shown(row.low, row.high, row.usd)) for row in self.rows]
        cells.append(("total", "", *_shown(self.low, self.high, self.usd)))
        widths = [max(len(line[column]) for line in cells) for column in range(5)]
        return [
            "  ".join(text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in enumerate(row)).rstrip()
            for row in (list(zip(line, widths, strict=True)) for line in cells)
        ]


def estimate(given: Survey) -> Estimate:
    """Calls, tokens and money of a whole new run."""
    sizes = Sizes(given)
    rows = tuple(row for row in stages(sizes) if row.high.calls)
    return Estimate(sizes.steps, rows, tuple(least(sizes, min(STEPS, sizes.steps))))


def too_small(budget: Budget, estimated: Estimate) -> str | None:
    """Whether a budget cannot pay for the baseline and three steps, in a sentence with the number that it takes.

    Time is not estimated, so `max_minutes` is never too small.
    """
    usage, price = sum((row.low for row in estimated.least), Usage()), _sum_usd(estimated.least)
    steps = min(STEPS, estimated.steps)
    what = f"pays for less than the baseline and {steps} step{'' if steps == 1 else 's'}"
    if budget.max_calls is not None and budget.max_calls < usage.calls:
        return f"--max-calls {budget.max_calls} {what}: that takes at least {usage.calls} calls"
    if budget.max_tokens is not None and budget.max_tokens < usage.tokens:
        return f"--max-tokens {budget.max_tokens} {what}: that takes about {usage.tokens} tokens"
    if budget.max_usd is not None and price is not None and budget.max_usd < price[0]:
        return f"--max-usd {budget.max_usd} {what}: that takes about {price[0]:.4f} USD"
    return None


def _sum_usd(rows: Sequence[Row]) -> tuple[Decimal, Decimal] | None:
    prices = [row.usd for row in rows]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return None
    return sum((low for low, _ in known), Decimal(0)), sum((high for _, high in known), Decimal(0))


def _numbers(low: Usage, high: Usage, price: tuple[Decimal, Decimal] | None) -> dict[str, Json]:
    return {
        "calls": [low.calls, high.calls],
        "input_tokens": [low.input_tokens, high.input_tokens],
        "output_tokens": [low.output_tokens, high.output_tokens],
        "usd": None if price is None else [f"{amount:.4f}" for amount in price],
    }


def _shown(low: Usage, high: Usage, price: tuple[Decimal, Decimal] | None) -> tuple[str, str, str]:
    money = "-" if price is None else _range(f"{price[0]:.4f}", f"{price[1]:.4f}")
    return _range(f"{low.calls:,}", f"{high.calls:,}"), _range(f"{low.tokens:,}", f"{high.tokens:,}"), money


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low}..{high}"
