"""Why a step has no draft: nothing was proposed, or nothing that came could be used."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support import training
from support.scripted import Scripted, patch
from support.scripted import first as prompt
from support.server import Call
from support.training import Yard
from support.world import TopicWorld

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("I would rather not.", "none of the optimizer's replies could be used"),
        (json.dumps({"edits": "none"}), "none of the optimizer's replies could be used"),
        (json.dumps(patch()), "no edit was proposed"),
    ],
)
async def test_the_reason_of_a_step_without_a_draft(yard: MakeYard, first: str, reason: str) -> None:
    """The first step's reply and its firmer retry are as said, the second step's propose; what was said stays out."""
    world = TopicWorld(4, 1)
    asked = 0

    def failures(call: Call) -> object:
        nonlocal asked
        asked += 1
        lines = [world.rule(topic) for topic in world.failing(prompt(call))]
        return first if asked <= (1 if "proposed" in reason else 2) else patch(*lines)

    here = yard(world, responder=Scripted(world, failures=failures), config=CONFIG)
    await here.train()
    assert (here.steps[1].decision, here.steps[1].reason) == ("none", reason)
    assert here.steps[2].decision != "none"
    assert "rather" not in json.dumps(here.steps[1].reason)
