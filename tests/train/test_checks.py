"""Settings that name what is not there are refused before a call is made, and a mended file is taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import training
from support.training import Yard, configuration
from support.world import TopicWorld

from skillgit.errors import ConfigError, InterruptedRunError
from skillgit.train import start

MakeYard = Callable[..., Yard]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("evaluation.gate_mode=pared", "did you mean 'paired'"),
        ("gradient.proposer=exmples", "did you mean 'examples'"),
    ],
)
async def test_a_misspelt_plugin_costs_nothing_and_leaves_no_run(yard: MakeYard, override: str, said: str) -> None:
    here = yard(TopicWorld(4, 1))
    with pytest.raises(ConfigError, match=said):
        await here.train(override)
    assert here.server.count == 0
    assert here.refs("refs/skillgit/") == {}
    assert (await here.train("train.num_epochs=1")).finished  # nothing of the misspelt one is kept


async def test_eval_test_without_test_tasks_costs_nothing(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1, per_topic=(2, 2, 0)), config=configuration(evaluation="{eval_test: true}"))
    (here.root / "envs/topics/env.yaml").write_text(
        (here.root / "envs/topics/env.yaml").read_text().replace(", test: test.jsonl", "")
    )
    with pytest.raises(ConfigError, match="eval_test needs test tasks"):
        await here.train()
    assert here.server.count == 0


async def test_a_run_whose_plugin_is_gone_says_how_to_give_it_up(
    yard: MakeYard, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = yard(TopicWorld(4, 1), config=configuration(train="{num_epochs: 2, batch_size: 4}"))
    inner = start.run_settings

    def with_plugin(*args: object) -> object:
        found = inner(*args)  # type: ignore[arg-type]
        return {**found, "evaluation": {**found["evaluation"], "gate_mode": "ours"}}

    with monkeypatch.context() as patch:  # a run that began while the plugin was installed
        patch.setattr(start, "run_settings", with_plugin)
        with pytest.raises(InterruptedRunError):
            await here.train(entries=0)
    assert training.journal(here.root).state.status == "running"
    asked = here.server.count
    with pytest.raises(ConfigError, match="the unfinished run began with it") as caught:
        await here.train()
    assert "--fresh" in str(caught.value)
    assert here.server.count == asked
    assert (await here.train(fresh=True)).finished
