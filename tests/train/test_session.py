"""What a run is opened with: identities, the gate's words, and the ledger."""

from __future__ import annotations

from collections.abc import Callable

from support import training
from support.training import Yard
from support.world import TopicWorld

from skillgit.models.base import Usage
from skillgit.models.usage import Ledger

MakeYard = Callable[..., Yard]


async def test_what_scores_compare_by(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1))

    async def digest(*overrides: str) -> str:
        async with training.session(here.root, overrides=overrides) as session:
            return session.val_digest

    first = await digest()
    assert await digest("train.seed=7", "evaluation.no_regression=true") == first
    assert await digest("evaluation.repeats=3") != first
    text = (here.root / "envs/topics/val.jsonl").read_text()
    lines = text.splitlines(keepends=True)
    (here.root / "envs/topics/val.jsonl").write_text("".join(lines[::-1]))
    assert await digest() == first  # the order in the file does not count
    (here.root / "envs/topics/val.jsonl").write_text("".join(lines[:-1]))
    assert await digest() != first


async def test_the_gate_in_words(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1))
    overrides = ["evaluation.no_regression=true", "evaluation.repeats=2", "evaluation.gate_metric=soft"]
    async with training.session(here.root, overrides=overrides) as session:
        assert session.gate_text(missing=0) == "strict soft no_regression n=8 repeats=2"
        assert session.gate_text(missing=1) == "strict soft no_regression n=7 missing=1 repeats=2"
        assert (session.gate.no_regression, session.gate.min_coverage) == (True, 0.9)
        assert session.model_names == {"target": "openai/sim", "optimizer": "anthropic/sim"}
        assert session.target_identity["name"] == "openai/sim"
        assert session.refs.branch == training.BRANCH


async def test_spending_is_counted_by_role_and_stage(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1))
    async with training.session(here.root) as session:
        session.spender("target", "gate")(Usage(1, 100, 0, 10))
        session.spender("target", "gate")(Usage(1, 50, 0, 5))
        session.spender("optimizer", "reflect")(Usage(1, 1000, 500, 100))
        cost = session.cost()
        assert (cost["calls"], cost["tokens"], cost["usd"]) == (3, 1265, None)  # nobody sells these models
        assert Ledger.from_json(cost["rows"]).rows() == session.ledger.rows()
        session.ledger = Ledger()
        session.spender("target", "rollout")(Usage(1, 1, 0, 1))
        assert session.cost()["calls"] == 1


async def test_a_price_is_said_where_it_is_known(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1))
    async with training.session(here.root, target="openai/gpt-4o", optimizer=False) as session:
        session.spender("target", "gate")(Usage(1, 1_000_000, 0, 0))
        assert float(session.cost()["usd"]) > 0
