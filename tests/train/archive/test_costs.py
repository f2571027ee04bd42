"""What an entry cost, by role."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from skillgit.train.archive.costs import Spent, by_role


def row(role: str, model: str, calls: int, tokens: int, stage: str = "gate") -> dict[str, Any]:
    found = {"role": role, "stage": stage, "model": model, "calls": calls}
    return {**found, "input_tokens": tokens, "cached_tokens": 0, "output_tokens": 1}


def test_rows_add_up_by_role() -> None:
    rows = [row("target", "x/y", 2, 10), row("target", "x/y", 3, 20, "rollout"), row("optimizer", "x/y", 1, 5)]
    assert by_role({"rows": rows, "usd": None}) == [Spent("optimizer", 1, 6, None), Spent("target", 5, 32, None)]


def test_one_role_cost_what_the_record_says() -> None:
    assert by_role({"rows": [row("target", "x/y", 2, 10)], "usd": "0.4300"}) == [
        Spent("target", 2, 11, Decimal("0.43"))
    ]


def test_prices_of_two_roles_are_looked_up() -> None:
    """gpt-4o-mini's list price is 0.15 dollars for a million tokens in, 0.60 out; a local model costs nothing."""
    rows = [row("target", "openai/gpt-4o-mini", 1, 1_000_000), row("optimizer", "local/x", 1, 5)]
    found = by_role({"rows": rows, "usd": "0.1500"})
    assert [(spent.role, spent.to_json()["usd"]) for spent in found] == [("optimizer", "0.0000"), ("target", "0.1500")]


@pytest.mark.parametrize("cost", [{}, {"rows": None}, {"rows": [{}]}, {"rows": [1]}, {"rows": [], "usd": "much"}])
def test_what_is_no_cost_is_none(cost: dict[str, Any]) -> None:
    assert by_role(cost) == []
