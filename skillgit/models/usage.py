"""What a run spends: tokens by role and stage, priced in US dollars where the price is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from skillgit.models.base import Json, Usage


def usd(model_name: str, usage: Usage) -> Decimal | None:
    """The list price of some usage, 0 for local models.

    Some prices depend on how long one call is, and usage is a sum over many: its mean call is priced, so often as
    there are calls.

    Args:
        model_name: `provider/model`.

    Returns: None where the model's price is not known.
    """
    provider, _, model = model_name.partition("/")
    if provider == "local":
        return Decimal(0)
    # Its price table takes a sixth of a second to load, and only reports need it.
    import genai_prices

    def price(tokens: Sequence[int]) -> Decimal:
        fresh, cached, output = tokens
        counted = genai_prices.Usage(input_tokens=fresh + cached, cache_read_tokens=cached, output_tokens=output)
        return Decimal(genai_prices.calc_price(counted, model, provider_id=provider).total_price)

    calls, cached = max(1, usage.calls), min(usage.cached_tokens, usage.input_tokens)
    means = [divmod(total, calls) for total in (usage.input_tokens - cached, cached, usage.output_tokens)]
    try:
        return price([mean for mean, _ in means]) * calls + price([rest for _, rest in means])
    except LookupError:
        return None


@dataclass(frozen=True, slots=True)
class Spent:
    """One row of a ledger."""

    role: str
    stage: str
    model: str
    usage: Usage


class Ledger:
    """Usage by role, stage and model. Ledgers add up: one per step, one per run."""

    def __init__(self, rows: Iterable[Spent] = ()) -> None:
        self._usage: dict[tuple[str, str, str], Usage] = {}
        for row in rows:
            self.add(row.role, row.stage, row.model, row.usage)

    def add(self, role: str, stage: str, model: str, usage: Usage) -> None:
        """Count the usage of a reply.

        Args:
            role: `target`, `optimizer` or `judge`.
            model: `provider/model`.
        """
        key = (role, stage, model)
        self._usage[key] = self._usage.get(key, Usage()) + usage

    def rows(self) -> tuple[Spent, ...]:
        """All rows, sorted by role, stage and model."""
        return tuple(Spent(*key, self._usage[key]) for key in sorted(self._usage))

    def total(self, *, role: str | None = None, stage: str | None = None) -> Usage:
        """The sum over all rows, or over those of a role, a stage, or both."""
        wanted = (row for row in self.rows() if role in (None, row.role) and stage in (None, row.stage))
        return sum((row.usage for row in wanted), Usage())

    def usd(self) -> Decimal | None:
        """The price of all rows; None as soon as one of them has no known price, since a part would mislead."""
        prices = [usd(row.model, row.usage) for row in self.rows()]
        known = [price for price in prices if price is not None]
        return sum(known, Decimal(0)) if len(known) == len(prices) else None

    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is not known, to be reported in tokens only."""
        return tuple(sorted({row.model for row in self.rows() if usd(row.model, row.usage) is None}))

    def __add__(self, other: Ledger) -> Ledger:
        return Ledger((*self.rows(), *other.rows()))

    def to_json(self) -> list[Json]:
        """Plain JSON for the journal."""
        return [
            {
                "role": row.role,
                "stage": row.stage,
                "model": row.model,
                "calls": row.usage.calls,
                "input_tokens": row.usage.input_tokens,
                "cached_tokens": row.usage.cached_tokens,
                "output_tokens": row.usage.output_tokens,
            }
            for row in self.rows()
        ]

    @classmethod
    def from_json(cls, rows: Iterable[Mapping[str, Json]]) -> Ledger:
        """The inverse of `to_json`."""
        return cls(
            Spent(
                row["role"],
                row["stage"],
                row["model"],
                Usage(row["calls"], row["input_tokens"], row["cached_tokens"], row["output_tokens"]),
            )
            for row in rows
        )
