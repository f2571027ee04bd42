"""What an entry of a journal cost, by role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from skillgit.models.usage import Ledger, usd


@dataclass(frozen=True, slots=True)
class Spent:
    """What one role spent. `usd` is None where a price is not known."""

    role: str
    calls: int
    tokens: int
    usd: Decimal | None

    def to_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {"role": self.role, "calls": self.calls, "tokens": self.tokens, "usd": _text(self.usd)}


def by_role(cost: Mapping[str, Any]) -> list[Spent]:
    """The roles of a record's cost, in order of their names, at today's list prices.

    Where one role spent it all, its price is the record's own. No price is looked up where the record had none.
    """
    try:
        ledger = Ledger.from_json(cost.get("rows") or ())
        total = None if cost.get("usd") is None else Decimal(str(cost["usd"]))
    except (KeyError, TypeError, ValueError, InvalidOperation):
        return []
    rows = ledger.rows()
    roles = sorted({row.role for row in rows})
    found = []
    for role in roles:
        usage = ledger.total(role=role)
        price = total if not total or len(roles) == 1 else _price(rows, role)
        found.append(Spent(role, usage.calls, usage.tokens, price))
    return found


def _price(rows: tuple[Any, ...], role: str) -> Decimal | None:
    prices = [usd(row.model, row.usage) for row in rows if row.role == role]
    known = [price for price in prices if price is not None]
    return sum(known, Decimal(0)) if len(known) == len(prices) else None


def _text(price: Decimal | None) -> str | None:
    return None if price is None else f"{price:.4f}"
