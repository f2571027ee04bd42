"""Usage and prices, worked out by hand."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from skillgit.models.base import Usage
from skillgit.models.usage import Ledger, Spent, usd

MINI = "openai/gpt-4o-mini"  # USD per million tokens: input 0.15, cached input 0.075, output 0.60
HAIKU = "anthropic/claude-3-5-haiku-latest"  # input 0.80, cache read 0.08, output 4.00


@pytest.mark.parametrize(
    ("model", "usage", "price"),
    [
        # 600,000 fresh at 0.15 + 400,000 cached at 0.075 + 100,000 out at 0.60
        (MINI, Usage(3, 1_000_000, 400_000, 100_000), "0.18"),
        # 500,000 fresh at 0.80 + 500,000 cached at 0.08 + 10,000 out at 4.00
        (HAIKU, Usage(1, 1_000_000, 500_000, 10_000), "0.48"),
        (MINI, Usage(), "0"),
        ("local/qwen2.5-coder-0.5b", Usage(9, 10_000, 0, 10_000), "0"),
        # More cached than read at all is a server's slip: all of it is priced as cached.
        (MINI, Usage(1, 1_000_000, 2_000_000, 0), "0.075"),
    ],
)
def test_prices(model: str, usage: Usage, price: str) -> None:
    assert usd(model, usage) == Decimal(price)


@pytest.mark.parametrize("model", ["openai/no-such-model-of-anyone", "nobody/gpt-4o-mini"])
def test_unknown_models_have_no_price(model: str) -> None:
    assert usd(model, Usage(1, 100, 0, 100)) is None


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.add("target", "rollout", MINI, Usage(2, 1000, 200, 50))
    ledger.add("target", "gate", MINI, Usage(3, 1500, 900, 60))
    ledger.add("target", "rollout", MINI, Usage(1, 500, 0, 25))
    ledger.add("optimizer", "reflect", HAIKU, Usage(1, 4000, 0, 700))
    return ledger


def test_rows_and_totals(ledger: Ledger) -> None:
    assert ledger.rows() == (
        Spent("optimizer", "reflect", HAIKU, Usage(1, 4000, 0, 700)),
        Spent("target", "gate", MINI, Usage(3, 1500, 900, 60)),
        Spent("target", "rollout", MINI, Usage(3, 1500, 200, 75)),
    )
    assert ledger.total() == Usage(7, 7000, 1100, 835)
    assert ledger.total().tokens == 7835
    assert ledger.total(role="target") == Usage(6, 3000, 1100, 135)
    assert ledger.total(role="target", stage="gate") == Usage(3, 1500, 900, 60)
    assert ledger.total(stage="merge") == Usage()


def test_price_of_a_ledger(ledger: Ledger) -> None:
    # target: (3000 - 1100) * 0.15 + 1100 * 0.075 + 135 * 0.60 = 448.5 millionths
    # optimizer: 4000 * 0.80 + 700 * 4.00 = 6000 millionths
    assert ledger.usd() == Decimal("0.0064485")
    assert ledger.unpriced() == ()
    assert Ledger().usd() == 0


def test_one_unknown_price_leaves_tokens_only(ledger: Ledger) -> None:
    ledger.add("judge", "gate", "openai/in-house", Usage(1, 10, 0, 1))
    assert ledger.usd() is None
    assert ledger.unpriced() == ("openai/in-house",)


def test_ledgers_add_up_and_survive_the_journal(ledger: Ledger) -> None:
    both = ledger + ledger
    assert both.total() == Usage(14, 14000, 2200, 1670)
    assert ledger.total() == Usage(7, 7000, 1100, 835)
    again = Ledger.from_json(json.loads(json.dumps(both.to_json())))
    assert again.rows() == both.rows()


def test_many_short_calls_are_not_priced_as_a_long_one() -> None:
    """This model's price doubles above 200,000 tokens of one call; the tokens of 7 calls do not divide evenly."""
    together = Usage(7, 700_001, 0, 70)
    assert usd("anthropic/claude-sonnet-4-5", together) == Decimal("3e-6") * 700_001 + Decimal("15e-6") * 70
    assert usd("anthropic/claude-sonnet-4-5", Usage(1, 700_001, 0, 0)) == Decimal("6e-6") * 700_001
