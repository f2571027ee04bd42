"""Estimates, by hand-worked numbers and against a real training."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from support import training
from support.scripted import Scripted
from support.training import Yard
from support.world import TopicWorld

from skillgit.config import SkillSettings
from skillgit.train.archive import documents
from skillgit.train.spend.budget import Budget
from skillgit.train.spend.estimate import estimate, too_small
from skillgit.train.spend.estimate_stages import Split, Survey, survey
from skillgit.train.start import base_of

SECTIONS: dict[str, dict[str, Any]] = {
    "train": {"num_epochs": 2, "batch_size": 10},
    "gradient": {"minibatch_size": 5},
    "evaluation": {"eval_test": True},
}


NOTES = {"use_skill_aware_reflection": True, "skill_aware_consolidate_threshold": 3}


def given(*, speculates: bool = True, form: Any = "full", target: str = "openai/gpt-4o-mini", **more: Any) -> Survey:
    """20 train, 12 val and 8 test tasks, a document of 100 tokens, inputs of 30, answers of 5."""
    sections = {name: {**SECTIONS.get(name, {}), **more.get(name, {})} for name in {*SECTIONS, *more}}
    settings = SkillSettings.model_validate({"document": "skills/a/SKILL.md", "env": "envs/a", **sections})
    return Survey(
        settings=settings,
        train=Split(20, 30, 5),
        val=Split(12, 30, 5),
        test=Split(8, 30, 5),
        document_tokens=100,
        form=form,
        speculates=speculates,
        target=target,
        optimizer="anthropic/claude-sonnet-4-5",
        in_flight=4,
    )


def calls(survey: Survey) -> dict[tuple[str, str], tuple[int, int]]:
    return {(row.stage, row.role): (row.low.calls, row.high.calls) for row in estimate(survey).rows}


def test_calls_by_stage() -> None:
    assert calls(given()) == {
        ("baseline", "target"): (12, 12),
        ("rollout", "target"): (20, 40),  # the second epoch may meet the same document
        ("speculation", "target"): (0, 30),  # a wrong guess in each step but the last
        ("reflect", "optimizer"): (4, 8),  # 6 of 10 fail: two minibatches; 3 fail: one, and one of successes
        ("merge", "optimizer"): (0, 4),  # 2 x 4 edits in one group of 8
        ("select", "optimizer"): (0, 4),
        ("gate", "target"): (16, 48),  # 4 steps, 4 in flight or all 12
        ("compare", "target"): (0, 40),  # 20 tasks under two documents
        ("slow update", "optimizer"): (0, 1),
        ("slow update", "target"): (0, 12),
        ("meta memory", "optimizer"): (0, 1),
        ("test", "target"): (8, 16),
    }


@pytest.mark.parametrize(
    ("more", "stage", "expected"),
    [
        ({"evaluation": {"racing": False}}, "gate", (48, 48)),
        ({"evaluation": {"gate_mode": "paired"}}, "gate", (48, 48)),
        ({"evaluation": {"gate_mode": "paired", "no_regression": True}}, "gate", (16, 48)),
        ({"evaluation": {"use_gate": False}}, "gate", (48, 48)),
        ({"evaluation": {"repeats": 3}}, "baseline", (36, 36)),
        ({"optimizer": {"proposals": 2}}, "gate", (16, 96)),
        ({"optimizer": {"proposals": 2}}, "reflect", (4, 16)),
        ({"train": {"accumulation": 2}}, "gate", (8, 24)),  # 2 steps
        ({"gradient": {"success_minibatches": 0}}, "reflect", (4, 12)),  # 6 fail: two, and one of 4 successes
        ({"gradient": {"minibatch_size": 2, "merge_batch_size": 4}}, "merge", (0, 32)),  # 5 x 4 in fours: 5 + 2 + 1
        ({"optimizer": {"skill_update_mode": "rewrite_from_suggestions"}}, "rewrite", (4, 4)),
        (
            {"optimizer": {"skill_update_mode": "rewrite_from_suggestions", "lr_control_mode": "autonomous"}},
            "select",
            (0, 4),
        ),
        ({"optimizer": {"skill_update_mode": "full_rewrite_minibatch"}}, "reflect", (4, 12)),  # no rate: successes too
        ({"optimizer": {"skill_update_mode": "full_rewrite_minibatch"}}, "merge", (0, 4)),  # 3 documents
        ({"gradient": {"proposer": "examples"}, "optimizer": {"max_tokens": 500}}, "shorten", (0, 4)),
        ({"gradient": {"proposer": "both"}}, "reflect", (4, 8)),
        ({"gradient": {"proposer": "both"}, "optimizer": {"max_tokens": 500}}, "shorten", (0, 4)),
        ({"gradient": {"proposer": "mine"}}, "merge", (0, 4)),  # 4 edits
        ({"gradient": {"proposer": "mine"}, "optimizer": {"lr_scheduler": "autonomous"}}, "select", (0, 8)),
        ({"optimizer": {"lr_control_mode": "none"}}, "merge", (0, 28)),  # 3 x 16 in eights: 6 + 1
        ({"optimizer": NOTES}, "shorten", (0, 4)),
        ({"optimizer": {**NOTES, "max_growth": 0.5}}, "shorten", (0, 8)),
        ({"optimizer": {**NOTES, "max_growth": 0.5}, "gradient": {"proposer": "both"}}, "shorten", (0, 8)),
        ({"optimizer": {"lr_scheduler": "autonomous"}}, "select", (0, 8)),
        ({"optimizer": {"max_tokens": 500}}, "shorten", (0, 4)),
        ({"train": {"num_epochs": 3}}, "compare", (0, 80)),
        ({"train": {"num_epochs": 3}}, "meta memory", (0, 2)),
    ],
)
def test_what_settings_change(more: dict[str, Any], stage: str, expected: tuple[int, int]) -> None:
    rows = [row for row in estimate(given(**more)).rows if row.stage == stage]
    assert (rows[0].low.calls, rows[0].high.calls) == expected


@pytest.mark.parametrize(
    ("more", "gone"),
    [
        ({"speculates": False}, {"speculation"}),
        ({"form": "compact"}, {"merge", "select", "compare", "slow update", "meta memory"}),
        ({"gradient": {"proposer": "examples"}}, {"reflect", "merge", "select"}),
        ({"gradient": {"proposer": "mine"}}, {"reflect", "select"}),  # what a plugin asks is not known
        ({"optimizer": {"skill_update_mode": "rewrite_from_suggestions"}}, {"merge", "select"}),
        ({"optimizer": {"skill_update_mode": "rewrite_from_suggestions", "max_tokens": 9}}, {"merge", "select"}),
        ({"optimizer": {"skill_update_mode": "full_rewrite_minibatch", "max_tokens": 9}}, {"select"}),
        ({"optimizer": {"lr_control_mode": "none"}}, {"select"}),
        (
            {"form": "compact", "optimizer": {"skill_update_mode": "full_rewrite_minibatch"}},
            {"select", "compare", "slow update", "meta memory"},
        ),
        ({"optimizer": {"use_slow_update": False}}, {"slow update"}),
        ({"optimizer": {"use_slow_update": False, "use_meta_skill": False}}, {"compare", "slow update", "meta memory"}),
        ({"evaluation": {"eval_test": False}}, {"test"}),
        ({"train": {"num_epochs": 1}}, {"compare", "slow update", "meta memory"}),
    ],
)
def test_what_settings_leave_out(more: dict[str, Any], gone: set[str]) -> None:
    stages = {row.stage for row in estimate(given()).rows}
    assert stages - {row.stage for row in estimate(given(**more)).rows} == gone


def test_one_shot_is_one_step() -> None:
    found = calls(given(train={"one_shot": True}))
    assert found["rollout", "target"] == (20, 20)
    assert found["reflect", "optimizer"] == (1, 1)
    assert found["gate", "target"] == (4, 12)
    assert estimate(given(train={"one_shot": True})).steps == 1


def test_tokens_and_money() -> None:
    rows = {row.stage: row for row in estimate(given()).rows}
    # 12 calls, each the document, the input, and a reply of 200.
    assert (rows["baseline"].low.input_tokens, rows["baseline"].low.output_tokens) == (12 * 130, 12 * 200)
    # USD 0.15 and 0.60 per million.
    price = Decimal(12 * 130) * Decimal("0.15e-6") + Decimal(12 * 200) * Decimal("0.6e-6")
    assert rows["baseline"].usd == (price, price)
    # At the high end the document grows by 4 steps of 4 edits of 60 tokens: 580 in the mean.
    assert rows["rollout"].high.input_tokens == 40 * (580 + 30)
    # Instructions, the document, and 5 attempts with input, answer, reply and tags; a reply with 4 edits.
    assert rows["reflect"].low.input_tokens == 4 * (500 + 100 + 5 * (30 + 5 + 200 + 25))
    assert rows["reflect"].low.output_tokens == 4 * (150 + 4 * 60)


def test_a_length_budget_bounds_the_growth() -> None:
    rows = {row.stage: row for row in estimate(given(optimizer={"max_tokens": 300})).rows}
    assert rows["rollout"].high.input_tokens == 40 * (200 + 30)


def test_a_price_depends_on_the_length_of_a_call_and_not_on_their_number() -> None:
    """This model's price doubles above 200,000 tokens of one call."""
    (row,) = [row for row in estimate(given(train={"num_epochs": 1000})).rows if row.stage == "reflect"]
    assert row.low.input_tokens > 200_000
    assert row.usd is not None
    assert row.usd[0] == Decimal(row.low.input_tokens) * Decimal("3e-6") + Decimal(row.low.output_tokens) * Decimal(
        "15e-6"
    )


def test_an_unknown_price_leaves_no_sum() -> None:
    found = estimate(given(target="openai/nobody-knows-it"))
    assert found.usd is None
    assert found.to_json()["total"]["usd"] is None
    assert found.table()[-1].endswith("-")


def test_what_is_printed() -> None:
    found = estimate(given())
    shown = found.to_json()
    assert json.loads(json.dumps(shown)) == shown
    assert shown["total"]["calls"] == [60, 216]
    assert shown["stages"][1]["calls"] == [20, 40]
    lines = [line.split() for line in found.table()]
    assert lines[0] == ["stage", "role", "calls", "tokens", "USD"]
    assert lines[2][:4] == ["rollout", "target", "20..40", "6,600..32,400"]
    assert lines[-1][:2] == ["total", "60..216"]


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        # 12 baseline + 20 train (all of them) + 3 reflections + 3 x 4 at the gate
        (Budget(max_calls=47), None),
        (
            Budget(max_calls=46),
            "--max-calls 46 pays for less than the baseline and 3 steps: that takes at least 47 calls",
        ),
        (Budget(max_tokens=1000), "that takes about 21390 tokens"),
        (Budget(max_usd=Decimal("0.01")), "that takes about 0.0408 USD"),
        (Budget(max_usd=Decimal(1), max_minutes=0.1), None),
    ],
)
def test_a_budget_that_is_too_small(budget: Budget, sentence: str | None) -> None:
    said = too_small(budget, estimate(given()))
    assert said is sentence if sentence is None else sentence in (said or "")


CHOSEN = {
    "model": (),
    "no limit": ("optimizer.lr_control_mode=none", "gradient.merge_batch_size=2"),
    "autonomous": ("optimizer.lr_control_mode=autonomous", "optimizer.proposals=2"),
    "examples": ("gradient.proposer=examples", "optimizer.max_tokens=14"),
    "both": (
        "gradient.proposer=both",
        "optimizer.max_tokens=14",
        *(f"optimizer.{k}={v}".lower() for k, v in NOTES.items()),
    ),
    "suggestions": ("optimizer.skill_update_mode=rewrite_from_suggestions", "optimizer.lr_scheduler=autonomous"),
    "short suggestions": ("optimizer.skill_update_mode=rewrite_from_suggestions", "optimizer.max_tokens=60"),
    "whole": ("optimizer.skill_update_mode=full_rewrite_minibatch", "gradient.merge_batch_size=2"),
    "whole, compact": ("optimizer.skill_update_mode=full_rewrite_minibatch", "gradient.prompts=compact"),
    "one shot": ("train.one_shot=true",),
}


@pytest.mark.parametrize("name", CHOSEN)
async def test_every_call_has_a_row(yard: Callable[..., Yard], name: str) -> None:
    """Whoever proposes, and however the document is updated: the optimizer's calls are within what was said."""
    world = TopicWorld(8, 1)
    models = Scripted(world)
    here = yard(world, responder=models, config=training.configuration(gradient="{minibatch_size: 2}"))
    async with training.session(here.root, overrides=CHOSEN[name]) as opened:
        document = documents.read(opened.repo, base_of(opened.repo, opened.settings), training.DOCUMENT)
        found = estimate(survey(opened, document.text))
    await here.train(*CHOSEN[name])
    high = {row.stage: row.high.calls for row in found.rows if row.role == "optimizer"}
    asked = Counter(ROWS[kind] for kind in models.asked)
    assert {stage: (number, high.get(stage, 0)) for stage, number in asked.items() if number > high.get(stage, 0)} == {}
    if name == "examples":
        assert asked == {"shorten": asked["shorten"]}
        assert asked["shorten"] > 0


ROWS = {
    **dict.fromkeys(("failures", "successes", "suggest", "minibatch", "one_shot"), "reflect"),
    **dict.fromkeys(("merge", "merge_rewrites"), "merge"),
    **dict.fromkeys(("select", "rate"), "select"),
    **dict.fromkeys(("shorten", "consolidate"), "shorten"),
    "rewrite": "rewrite",
}
"""By the kind of a scripted call, the row that prices it."""


@pytest.mark.parametrize("racing", ["true", "false"])
async def test_a_real_training_lies_within(yard: Callable[..., Yard], racing: str) -> None:
    here = yard(training.mixed())
    overrides = ["train.speculate=false", f"evaluation.racing={racing}"]
    async with training.session(here.root, overrides=overrides) as opened:
        document = documents.read(opened.repo, base_of(opened.repo, opened.settings), training.DOCUMENT)
        found = estimate(survey(opened, document.text))
    await here.train(*overrides)
    made = len(here.server.calls)
    assert found.low.calls <= made <= found.high.calls
    assert len(here.steps) - 1 <= found.steps
