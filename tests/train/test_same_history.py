"""Racing, speculation and many calls in flight change time and calls, never the history."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import training
from support.epochs import EpochWorld, Jittered
from support.histories import differences, story
from support.server import serve
from support.world import Kinds


class Way(NamedTuple):
    """How a run spends its time."""

    in_flight: int
    racing: bool
    speculate: bool


SERIAL, WIDE = Way(1, False, False), Way(16, True, True)
VARIANTS = {
    "plain": ("", ""),
    "pareto": ("", ", parent: pareto"),
    "two proposals": (", proposals: 2", ""),
    "both": (", proposals: 2", ", parent: pareto"),
    "forced": (", longitudinal_pair_policy: changed", ", accumulation: 2"),
}
"""More keys of `optimizer` and of `train`."""


async def trained(
    root: Path, patch: pytest.MonkeyPatch, world: EpochWorld, way: Way, variant: str
) -> tuple[dict[str, Any], Counter[str]]:
    """Train in a fresh repository.

    Returns: its story, and how many calls each stage made.
    """
    optimizer, train = VARIANTS[variant]
    flags = {True: "true", False: "false"}
    more = ", slow_update_gate_with_selection: false" if variant == "forced" else ""
    config = training.configuration(
        limits=f"{{in_flight: {way.in_flight}}}",
        train=f"{{num_epochs: 3, batch_size: 8, speculate: {flags[way.speculate]}{train}}}",
        gradient="{minibatch_size: 3, success_minibatches: 1}",
        optimizer=f"{{use_slow_update: true, use_meta_skill: true, slow_update_samples: 10{optimizer}}}",
        evaluation=f"{{racing: {flags[way.racing]}{more}}}",
    )
    training.make(root, world, config=config)
    jittered = Jittered(world)
    with serve(world if way is SERIAL else jittered) as server:
        training.point_at(patch, server.env())
        await training.run(root)
        asked = Counter((call.system, call.user) for call in server.calls if world.stage(call) in ("train", "val"))
        assert set(asked.values()) == {1}, "an attempt was asked for twice"
        assert jittered.most <= way.in_flight
        assert (jittered.most > 1) == (way is WIDE)
        return story(root), Counter(world.stage(call) for call in server.calls)


async def compare(
    tmp_path: Path, patch: pytest.MonkeyPatch, world: EpochWorld, variant: str
) -> tuple[dict[str, Any], Counter[str], Counter[str]]:
    """Both ways; the story that they have in common, and their calls."""
    expected, serial = await trained(tmp_path / "serial", patch, world, SERIAL, variant)
    found, wide = await trained(tmp_path / "wide", patch, world, WIDE, variant)
    assert differences(expected, found) == []
    assert found == expected
    return expected, serial, wide


@pytest.mark.parametrize("variant", ["plain", "pareto", "two proposals"])
async def test_as_the_serial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str) -> None:
    world = EpochWorld(8, 5, per_topic=(2, 2, 1), kinds=Kinds(45, 35))
    told, serial, wide = await compare(tmp_path, monkeypatch, world, variant)
    # There is something to compare.
    decisions = {(step["kind"], step["decision"]) for step in told["steps"]}
    assert {("step", "accept-best"), ("step", "reject")} <= decisions
    assert "slow-update" in {kind for kind, _ in decisions}
    assert any(name.startswith("refs/skillgit/rejected/") for name in told)
    assert sum(name.endswith("(message)") for name in told) == 3
    assert any(step["others"] for step in told["steps"]) == (variant == "two proposals")
    assert (len(told["state"]["pool"]) > 1) == (variant == "pareto")
    assert serial["merge"] > 0
    assert serial["slow_update"] == serial["meta_memory"] > 0
    optimizer = serial.keys() - {"train", "val"}
    assert {stage: wide[stage] for stage in optimizer} == {stage: serial[stage] for stage in optimizer}
    assert wide["train"] > serial["train"], "no guess was wrong: nothing shows that a wrong one changes nothing"


@pytest.mark.soak
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(1, 9))
async def test_as_the_serial_run_in_many_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str, seed: int
) -> None:
    world = EpochWorld(12, seed, per_topic=(2, 2, 1), kinds=Kinds(45, 35))
    await compare(tmp_path, monkeypatch, world, variant)
