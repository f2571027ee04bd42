"""What each key under `gradient:` does to a run. docs/skillopt.md names these tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import training
from support.scripted import Scripted, attempts, first, patch
from support.server import Call
from support.training import BRANCH, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.train import checks
from skillgit.train.propose import drafting
from skillgit.train.propose.examples import examples
from skillgit.train.propose.proposers import Context

MakeYard = Callable[..., Yard]
ONE_STEP = "{num_epochs: 1, batch_size: 16}"


def world(known: int = 0) -> tuple[TopicWorld, str]:
    """Eight topics, and a document that knows some of them."""
    made = TopicWorld(8, 1)
    lines = "".join(f"{made.rule(topic)}\n" for topic in list(made.codes)[:known])
    return made, f"{SEED_DOCUMENT}\n{lines}" if known else SEED_DOCUMENT


def start(yard: MakeYard, models: Scripted, document: str, gradient: str) -> Yard:
    config = training.configuration(train=ONE_STEP, gradient=gradient)
    return yard(models.world, responder=models, config=config, document=document)


@pytest.mark.parametrize(("size", "sizes"), [(4, [4, 4, 4, 4]), (6, [4, 6, 6]), (99, [16])])
async def test_minibatch_size(yard: MakeYard, size: int, sizes: list[int]) -> None:
    made, document = world()
    models = Scripted(made)
    await start(yard, models, document, f"{{minibatch_size: {size}}}").train()
    shown = [attempts(call) for call in models.of("failures")]
    assert sorted(len(ids) for ids in shown) == sizes
    assert len({ident for ids in shown for ident in ids}) == 16


@pytest.mark.parametrize(("together", "merges"), [(2, [2, 2, 2]), (4, [4])])
async def test_merge_batch_size(yard: MakeYard, together: int, merges: list[int]) -> None:
    """Four minibatches that want the same line changed, each in its own way."""

    def propose(call: Call) -> Any:
        words = f"Answer with the code of the {made.failing(first(call))[0]} and no other word."
        return {"edits": [{"op": "replace", "target": "Answer with the code.", "content": words}]}

    made, document = world()
    models = Scripted(made, failures=propose)
    here = start(yard, models, document, f"{{minibatch_size: 4, merge_batch_size: {together}}}")
    await here.train()
    assert sorted(first(call).count("<edit id=") for call in models.of("merge")) == merges
    assert len(here.steps[1].commits) == 1


@pytest.mark.parametrize(
    ("gradient", "failures", "successes"),
    [
        ("{minibatch_size: 4, success_minibatches: 0}", 1, 4),
        ("{minibatch_size: 4, success_minibatches: 2}", 1, 2),
        ("{minibatch_size: 4, success_minibatches: 0, failure_only: true}", 1, 0),
    ],
)
async def test_failure_only_and_success_minibatches(
    yard: MakeYard, gradient: str, failures: int, successes: int
) -> None:
    made, document = world(known=7)
    models = Scripted(made)
    await start(yard, models, document, gradient).train()
    assert models.asked.count("failures") == failures
    assert models.asked.count("successes") == successes


async def test_successes_are_not_asked_about_where_failures_fill_the_budget(yard: MakeYard) -> None:
    made, document = world(known=6)
    models = Scripted(made)
    await start(yard, models, document, "{minibatch_size: 4, success_minibatches: 1}").train(
        "optimizer.learning_rate=3"
    )
    assert models.asked == ["failures"]


@pytest.mark.parametrize(("proposer", "asked", "shown"), [("examples", 0, 4), ("both", 1, 3), ("model", 1, 0)])
async def test_proposer(yard: MakeYard, proposer: str, asked: int, shown: int) -> None:
    """`both` fills the budget of four edits, of which the model uses one."""
    made, document = world()
    models = Scripted(made, failures=lambda call: patch(made.rule(made.failing(first(call))[0])))
    here = start(yard, models, document, f"{{proposer: {proposer}, minibatch_size: 16}}")
    await here.train("optimizer.lr_scheduler=constant")
    assert here.steps[1].decision == "accept-best"
    assert models.asked.count("failures") == asked
    assert here.text(BRANCH).count(" -> ") == shown


async def test_a_plugin_as_proposer(yard: MakeYard, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reader:
        async def propose(self, context: Context) -> Any:
            found = examples(context.rollouts, context.document, context.environment, 1, context.metric)
            return found.proposals

    for module in (drafting, checks):  # looked for before any call, and then asked
        monkeypatch.setattr(module, "find_proposer", {"reader": Reader()}.__getitem__)
    made, document = world()
    models = Scripted(made)
    here = start(yard, models, document, "{proposer: reader}")
    await here.train()
    assert (models.asked, here.steps[1].decision, len(here.steps[1].commits)) == ([], "accept-best", 1)


@pytest.mark.parametrize(("form", "shown"), [("full", True), ("auto", True), ("compact", False)])
async def test_prompts(yard: MakeYard, form: str, shown: bool) -> None:
    """Only the full form shows the document; `auto` takes it for a hosted optimizer."""
    made, document = world()
    models = Scripted(made)
    await start(yard, models, document, f"{{prompts: {form}}}").train()
    asked = models.of("failures")
    assert {"Answer with the code." in call.user for call in asked} == {shown}
    assert {"worked examples" in call.system for call in asked} == {not shown}
