"""Options in any combination: what is recorded is true of the documents, and the gate keeps its word."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from support import repos, training
from support.scripted import Scripted, first
from support.server import Call
from support.training import BRANCH, Yard
from support.world import Kinds, TopicWorld

from skillgit import config
from skillgit.errors import ConfigError

MakeYard = Callable[..., Yard]
OPTIONS: dict[str, list[Any]] = {
    "train.accumulation": [1, 2],
    "train.batch_size": [4, 5, 16],
    "train.patience": [0, 3],
    "train.speculate": ["true", "false"],
    "train.one_shot": ["false", "false", "false", "true"],
    "train.parent": ["tip", "pareto"],
    "gradient.minibatch_size": [2, 8],
    "gradient.merge_batch_size": [2, 8],
    "gradient.failure_only": ["true", "false"],
    "gradient.success_minibatches": [0, 1],
    "gradient.proposer": ["model", "examples", "both"],
    "gradient.prompts": ["full", "full", "full", "compact"],
    "optimizer.learning_rate": [2, 4],
    "optimizer.lr_scheduler": ["constant", "linear", "cosine", "autonomous"],
    "optimizer.lr_control_mode": ["fixed", "autonomous", "none"],
    "optimizer.skill_update_mode": ["patch", "patch", "rewrite_from_suggestions", "full_rewrite_minibatch"],
    "optimizer.proposals": [1, 1, 2, 3],
    "optimizer.use_slow_update": ["true", "false"],
    "optimizer.slow_update_samples": [3, 20],
    "optimizer.longitudinal_pair_policy": ["mixed", "changed", "unchanged"],
    "optimizer.use_meta_skill": ["true", "false"],
    "optimizer.use_skill_aware_reflection": ["true", "false"],
    "optimizer.skill_aware_consolidate_threshold": [0, 1],
    "optimizer.max_tokens": [0, 0, 30],
    "optimizer.max_growth": [0, 0, 2.0],
    "evaluation.use_gate": ["true", "true", "false"],
    "evaluation.gate_mode": ["strict", "strict", "paired", "margin"],
    "evaluation.gate_metric": ["hard", "soft", "mixed"],
    "evaluation.no_regression": ["true", "false"],
    "evaluation.repeats": [1, 2],
    "evaluation.racing": ["true", "false"],
    "evaluation.sel_env_num": [0, 9],
    "evaluation.eval_test": ["true", "false"],
    "evaluation.test_env_num": [0, 3],
    "evaluation.slow_update_gate_with_selection": ["true", "false"],
    "evaluation.semantic_density": [0, 0.2],
}
SEEDS = (0, 3, 8, 9, 16, 29)
ACCEPTED = ("baseline", "accept", "accept-best", "forced")


def models_of(seed: int) -> Scripted:
    """Right, wrong and useless lines, reminders, and guidance that helps or harms; all as the prompt decides."""
    world = TopicWorld(8, seed, kinds=Kinds(55, 25))
    topics = sorted(world.codes)

    def failures(call: Call) -> Any:
        prompt = first(call) if "<skill>" in first(call) else call.user
        failing = world.failing(prompt)
        notes = [f"Look at {topic}." for topic in failing[:1] if "appendix_notes" in call.system]
        return {**json.loads(world.propose(prompt)), "appendix_notes": notes}

    def guidance(call: Call) -> Any:
        topic = topics[len(first(call)) % 8]
        return {"guidance": world.rule(topic) if len(first(call)) % 3 else f"- {topic}: gone"}

    return Scripted(world, failures=failures, guidance=guidance)


def clash(chosen: dict[str, Any]) -> bool:
    """Whether one of the settings would do nothing, so that the configuration refuses them."""
    try:
        config.parse(
            training.configuration(), overrides=[(training.SKILL, key, str(value)) for key, value in chosen.items()]
        )
    except ConfigError as error:
        return " does nothing with " in str(error)
    return False


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_record_is_true(yard: MakeYard, seed: int) -> None:
    chance = random.Random(seed)
    drawn = iter(lambda: {key: chance.choice(values) for key, values in OPTIONS.items()}, None)
    chosen = next(each for each in drawn if not clash(each))
    models = models_of(seed)
    here = yard(models.world, responder=models, config=training.configuration(train="{num_epochs: 3}"))
    outcome = await here.train(*(f"{key}={value}" for key, value in chosen.items()))
    assert outcome.finished
    repos.fsck(here.root)
    rows = {row["id"]: row for row in models.world.tasks["val"]}

    def right(blob: str, task: str) -> bool:
        row = rows[task]
        return models.world.target(here.git("cat-file", "-p", blob), row["input"]) == row["answer"]

    for step in here.steps:
        measured = [(step.document, step.scores), *((other["document"], other["scores"]) for other in step.others)]
        for blob, scores in measured:
            for task, trials in scores.items():
                assert {Fraction(trial[0]) for trial in trials} == {Fraction(right(blob, task))}, (step.step, task)
        if step.commits:
            assert here.git("rev-parse", f"{step.commits[-1]}:{training.DOCUMENT}") == step.document
    accepted = [step for step in here.steps if step.decision in ACCEPTED]
    assert here.git("rev-parse", f"{BRANCH}:{training.DOCUMENT}") == accepted[-1].document
    heights = [sum(right(step.document, task) for task in here.steps[0].scores) for step in accepted]
    best = training.journal(here.root).state.best
    assert sum(right(best, task) for task in here.steps[0].scores) == max(heights)
    if "forced" not in {step.decision for step in accepted}:
        assert heights == sorted(set(heights))
