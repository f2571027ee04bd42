"""Measuring a document on val: wholly, or in waves until the gate can say no."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from support import environments
from support.training import MemoryCache, ScriptedModel

from skillgit.envs.contract import Environment
from skillgit.errors import ModelError
from skillgit.models.base import Request
from skillgit.train.gate import GateSettings
from skillgit.train.scoring.measure import Gated, Rules, measure_against, measure_all
from skillgit.train.scoring.rollout import Roller
from skillgit.train.scoring.scores import HARD, Measurement, Trial

ONE, ZERO = Trial(Fraction(1), Fraction(1)), Trial(Fraction(0), Fraction(0))
IDS = [f"val-{n}" for n in range(8)]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """Eight val tasks `val N?`, answered by `word N`."""
    settings = 'system: "{skill}"\nprompt: "{input}"\nextract: whole\nscorer: exact\n'
    return environments.load(environments.write_env(tmp_path / "env", settings, val=environments.rows("val", 8)[::-1]))


def solving(*numbers: int, fail: tuple[int, ...] = ()) -> Callable[[Request], str]:
    """A target that solves these tasks, and cannot be reached for those in `fail`."""

    def answer(request: Request) -> str:
        number = int(request.turns[-1].text.split()[1].rstrip("?"))
        if number in fail:
            raise ModelError("busy")
        return f"word {number}" if number in numbers else "no"

    return answer


def incumbent(*numbers: int) -> Measurement:
    return {task: (ONE if int(task[-1]) in numbers else ZERO,) for task in IDS}


async def against(
    environment: Environment,
    model: ScriptedModel,
    current: Measurement,
    *,
    racing: bool = True,
    eager: bool = False,
    repeats: int = 1,
    settings: GateSettings | None = None,
    cache: MemoryCache | None = None,
) -> Gated:
    gated = await measure_against(
        Roller(environment, model, cache or MemoryCache(), on_usage=lambda _: None),
        "Do it.\n",
        "blob",
        environment.tasks("val"),
        current,
        Rules(settings or GateSettings(min_coverage=0.5), HARD, repeats, racing, eager),
        lambda _: None,
    )
    await asyncio.gather(*gated.left)
    return gated


async def test_all_tasks_with_their_trials(environment: Environment) -> None:
    model = ScriptedModel(solving(0, 1, fail=(5,)), in_flight=1)
    roller = Roller(environment, model, MemoryCache(), on_usage=lambda _: None)
    found, rollouts = await measure_all(roller, "Do it.\n", "blob", environment.tasks("val"), 2, lambda _: None)
    assert len(rollouts) == len(model.requests) == 16
    assert found["val-0"] == (ONE, ONE)
    assert found["val-2"] == (ZERO, ZERO)
    assert found["val-5"] == (None, None)


async def test_an_accepted_candidate_is_measured_on_all(environment: Environment) -> None:
    model = ScriptedModel(solving(*range(8)))
    gated = await against(environment, model, incumbent(0, 1, 2, 3, 4, 5, 6))
    assert gated.verdict.decision == "accept"
    assert len(model.requests) == 8
    assert set(gated.measurement) == set(IDS)
    assert len(gated.rollouts) == 8


@pytest.mark.parametrize(
    ("in_flight", "eager", "asked"), [(1, True, 2), (2, False, 2), (3, False, 2), (8, False, 2), (8, True, 8)]
)
async def test_a_hopeless_one_ends_when_it_is_decided(
    environment: Environment, in_flight: int, eager: bool, asked: int
) -> None:
    """The incumbent fails 6 and 7 alone, so these come first; after both fail again nothing can be won. Only an eager
    measurement has begun others by then."""
    model = ScriptedModel(solving(0, 1, 2, 3, 4, 5), in_flight=in_flight)
    gated = await against(environment, model, incumbent(0, 1, 2, 3, 4, 5), eager=eager)
    assert gated.verdict.decision == "reject"
    assert len(model.requests) == asked
    assert [r.turns[-1].text for r in model.requests[:2]] == ["val 6?", "val 7?"]
    # The record is the same whatever was measured beyond.
    assert gated.verdict.prefix == 2
    assert list(gated.measurement) == ["val-6", "val-7"]
    assert [r.task.id for r in gated.rollouts] == ["val-6", "val-7"]


async def test_without_racing_all_is_measured_and_the_record_is_the_same(environment: Environment) -> None:
    quick, slow = ScriptedModel(solving(0)), ScriptedModel(solving(0))
    raced = await against(environment, quick, incumbent(0, 1, 2))
    whole = await against(environment, slow, incumbent(0, 1, 2), racing=False)
    assert (whole.verdict, whole.measurement) == (raced.verdict, raced.measurement)
    assert len(quick.requests) < len(slow.requests) == 8


async def test_errors_are_missing_not_zero(environment: Environment) -> None:
    model = ScriptedModel(solving(0, 1, 2, fail=(3, 4)), in_flight=1)
    gated = await against(environment, model, incumbent(0, 1), settings=GateSettings(min_coverage=0.75))
    assert gated.verdict.decision == "accept"
    assert (gated.verdict.missing, gated.verdict.score) == (2, Fraction(1, 2))
    assert gated.measurement["val-3"] == (None,)


async def test_too_many_errors_are_indecisive(environment: Environment) -> None:
    model = ScriptedModel(solving(*range(8), fail=(3, 4, 5)), in_flight=1)
    gated = await against(environment, model, incumbent(0, 1), settings=GateSettings(min_coverage=0.75))
    assert gated.verdict.decision == "indecisive"


async def test_repeats_are_trials_of_the_same_task(environment: Environment) -> None:
    model = ScriptedModel(solving(*range(8)), in_flight=1)
    current: Measurement = dict.fromkeys(IDS, (ZERO, ONE))
    gated = await against(environment, model, current, repeats=2)
    assert len(model.requests) == 16
    assert gated.measurement["val-0"] == (ONE, ONE)
    assert gated.verdict.before == Fraction(1, 2)


async def test_what_the_cache_has_is_looked_at_first(environment: Environment) -> None:
    """A measurement that was cut off goes on without a call where what it had decides."""
    cache = MemoryCache()
    first = ScriptedModel(solving(0, 1, 2, 3, 4, 5), in_flight=1)
    await against(environment, first, incumbent(0, 1, 2, 3, 4, 5), cache=cache)
    again = ScriptedModel(solving(0, 1, 2, 3, 4, 5), in_flight=8)
    gated = await against(environment, again, incumbent(0, 1, 2, 3, 4, 5), cache=cache, eager=True)
    assert (gated.verdict.decision, gated.verdict.prefix, again.requests) == ("reject", 2, [])


async def test_the_rest_is_begun_once_the_candidate_is_ahead(environment: Environment) -> None:
    """It wins 6, so all others are needed to accept it, and all are asked for."""
    model = ScriptedModel(solving(0, 1, 2, 3, 4, 5, 6), in_flight=8)
    gated = await against(environment, model, incumbent(0, 1, 2, 3, 4, 5))
    assert (gated.verdict.decision, len(model.requests)) == ("accept", 8)


async def test_free_slots_are_told_with_who_is_ahead(environment: Environment) -> None:
    told: list[tuple[int, bool]] = []
    model = ScriptedModel(solving(*range(8)), in_flight=5)
    await measure_against(
        Roller(environment, model, MemoryCache(), on_usage=lambda _: None),
        "Do it.\n",
        "blob",
        environment.tasks("val"),
        incumbent(0, 1, 2, 3, 4, 5, 6),
        Rules(GateSettings(), HARD),
        lambda _: None,
        spare=lambda free, ahead: told.append((free, ahead)),
    )
    assert told == [(2, True)]  # five, and then the last three, after val-7 was won
