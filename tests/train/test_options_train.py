"""What each key under `train:` does to a run. docs/skillopt.md names these tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support import training
from support.scripted import Scripted, patch, skill
from support.training import BRANCH, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.train.events import StageStarted, UnitDone

MakeYard = Callable[..., Yard]


def world(topics: int = 8) -> TopicWorld:
    return TopicWorld(topics, 1)


def silent(**more: Any) -> Scripted:
    """An optimizer that never has an idea: steps cost their rollouts alone."""
    return Scripted(world(), failures=lambda _: patch(), **more)


def start(yard: MakeYard, models: Scripted, train: str, **more: Any) -> Yard:
    return yard(models.world, responder=models, config=training.configuration(train=train), **more)


def attempted(models: Scripted, split: str) -> set[str]:
    """Ids of the tasks of a split that the target was asked about."""
    ids = {row["input"]: row["id"] for row in models.world.tasks[split]}
    return {ids[call.user] for call in models.of("target") if call.user in ids}


async def test_num_epochs(yard: MakeYard) -> None:
    here = start(yard, silent(), "{num_epochs: 3, batch_size: 16}")
    outcome = await here.train()
    assert (outcome.reason, [step.epoch for step in here.steps[1:]]) == ("all epochs are done", [1, 2, 3])
    assert [ref[-8:] for ref in here.refs("refs/tags/")] == ["epoch-01", "epoch-02", "epoch-03"]


async def test_train_size(yard: MakeYard) -> None:
    models = silent()
    here = start(yard, models, "{num_epochs: 2, batch_size: 3, train_size: 5}")
    await here.train()
    assert [len(step.batch) for step in here.steps[1:]] == [3, 2, 3, 2]
    assert attempted(models, "train") == set(here.steps[1].batch) | set(here.steps[2].batch)
    assert len(attempted(models, "train")) == 5
    # Another seed, other tasks: the choice is not simply the file's first ones.
    await here.train("train.seed=7", fresh=True)
    assert len(attempted(models, "train")) > 5


@pytest.mark.parametrize(("batch", "together", "sizes"), [(4, 1, [4, 4, 4, 4]), (4, 2, [8, 8]), (6, 1, [6, 6, 4])])
async def test_batch_size_and_accumulation(yard: MakeYard, batch: int, together: int, sizes: list[int]) -> None:
    models = silent()
    here = start(yard, models, f"{{num_epochs: 1, batch_size: {batch}, accumulation: {together}}}")
    await here.train()
    assert [len(step.batch) for step in here.steps[1:]] == sizes
    assert attempted(models, "train") == {row["id"] for row in models.world.tasks["train"]}


async def test_seed(yard: MakeYard) -> None:
    here = start(yard, silent(), "{num_epochs: 1, batch_size: 4, seed: 1}")
    batches = []
    for seed in (1, 1, 2):
        await here.train(f"train.seed={seed}", fresh=True)
        batches.append([set(step.batch) for step in here.steps[1:]])
    assert batches[0] == batches[1]
    assert batches[0] != batches[2]


async def test_patience(yard: MakeYard) -> None:
    models = Scripted(world(), failures=lambda _: patch("- A line about nothing."))
    here = start(yard, models, "{num_epochs: 4, batch_size: 4, patience: 3}")
    outcome = await here.train()
    assert here.watcher.decisions == ["baseline", "reject", "none", "none"]
    assert outcome.reason == "no candidate was accepted in 3 steps (patience 3)"
    assert outcome.finished


@pytest.mark.parametrize(("on", "ahead"), [("true", True), ("false", False)])
async def test_speculate(yard: MakeYard, on: str, ahead: bool) -> None:
    """Attempts of the second step are answered when it begins; the history is the same."""
    # Answers of the target end apart from each other, so that slots become free while the gate runs.
    models = Scripted(world(), target=lambda call: replace(models.world(call), delay_s=0.02 * (call.index % 8)))
    here = start(yard, models, f"{{num_epochs: 1, batch_size: 4, speculate: {on}}}")
    await here.train()
    stages: dict[tuple[int, str], list[UnitDone]] = {}
    for event in here.watcher.events:
        if isinstance(event, StageStarted):
            units = stages.setdefault((event.step, event.stage), [])
        elif isinstance(event, UnitDone):
            units.append(event)
    assert any(unit.cached for unit in stages[2, "rollout"][:4]) == ahead
    assert here.watcher.decisions[:3] == ["baseline", "accept-best", "accept-best"]


async def test_one_shot(yard: MakeYard) -> None:
    models = Scripted(world())
    here = start(yard, models, "{num_epochs: 3, batch_size: 4, one_shot: true}")
    outcome = await here.train()
    assert models.asked == ["one_shot"]
    assert [len(step.batch) for step in here.steps] == [0, 16]
    assert here.watcher.decisions == ["baseline", "accept-best"]
    assert training.trailer(here.root, BRANCH, "Skill-Edit") == "1/1 rewrite"
    assert (outcome.before, outcome.after) == (0, 1)


@pytest.mark.parametrize("parent", ["tip", "pareto"])
async def test_parent(yard: MakeYard, parent: str) -> None:
    """The start knows one topic, the first candidate two others: neither is best everywhere, and with `pareto` both
    are started from."""
    here_world = TopicWorld(6, 1, per_topic=(4, 2, 0))
    known, *others = here_world.codes
    document = f"{SEED_DOCUMENT}\n{here_world.rule(known)}\n"

    def propose(call: Any) -> Any:
        if len(models.of("failures")) > 1:
            return patch(f"- A line about nothing, the {'abcdefghij'[len(models.of('failures'))]} one.")
        wrong = {"op": "replace", "target": here_world.rule(known), "content": f"- {known}: nothing is known"}
        more = [here_world.rule(topic) for topic in others[:3]]
        return {"edits": [{**edit, "support": 4} for edit in (wrong, *patch(*more)["edits"])]}

    models = Scripted(here_world, failures=propose)
    config = f"{{num_epochs: 1, batch_size: 4, parent: {parent}}}"
    here = start(yard, models, config, document=document)
    await here.train("optimizer.lr_scheduler=constant", "gradient.minibatch_size=24")
    assert here.steps[1].decision == "accept-best"
    shown = [here_world.rule(known) in skill(call) for call in models.of("failures")[1:]]
    began = [step.parent == here.steps[0].document for step in here.steps[2:]]
    assert shown == began
    assert any(shown) == (parent == "pareto")
    assert not all(shown)
    # Whatever a step starts from, it has to beat the incumbent.
    assert {step.document_before for step in here.steps[2:]} == {here.steps[1].document}
