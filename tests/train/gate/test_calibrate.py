"""Calibrations: found again for the skill as it is set, and what is said where a gate is below the noise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from support import repos, training
from support.server import Answer, Call, error
from support.training import BRANCH, DOCUMENT, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.config import EvaluationSettings
from skillgit.errors import ConfigError, MeasurementError
from skillgit.store.notes import add_note
from skillgit.train.gate.calibrate import Calibration, calibrate, find, known, remember, resolve, warning

MakeYard = Callable[..., Yard]
WORLD = TopicWorld(4, 1)
AT = datetime(2026, 1, 2, tzinfo=UTC)
FOUND = Calibration(
    val="sha256:1",
    target={"name": "openai/sim", "settings": {"temperature": 1.0}},
    metric="hard",
    tasks=40,
    trials=4,
    mean=Fraction(3, 4),
    deviation=0.02,
    error=0.03,
    median_error=0.02,
    noisy=6,
)


@pytest.fixture
def here(yard: MakeYard) -> Yard:
    return yard(WORLD, document=WORLD.perfect_document())


async def calibrated(here: Yard, rev: str | None = None, *overrides: str) -> None:
    async with training.session(here.root, optimizer=False, overrides=overrides) as session:
        remember(session, await calibrate(session, resolve(session, rev), trials=2))


async def is_found(here: Yard, *overrides: str, target: str | None = None) -> bool:
    async with training.session(here.root, optimizer=False, overrides=overrides, target=target) as session:
        return find(session) is not None


async def test_found_for_the_same_val_target_and_metric(here: Yard) -> None:
    assert not await is_found(here)
    await calibrated(here)
    assert await is_found(here)
    assert await is_found(here, "evaluation.gate_mode=paired")
    assert not await is_found(here, target="openai/other")
    assert not await is_found(here, "models.target={model: openai/sim, temperature: 0.9}")
    assert not await is_found(here, "evaluation.repeats=2")
    assert not await is_found(here, "evaluation.gate_metric=soft")
    assert here.server.count == 2 * 8


async def test_found_on_a_document_that_the_branch_had(here: Yard) -> None:
    await calibrated(here)
    here.git("branch", "skill/topics", "main")
    repos.commit(here.root, {DOCUMENT: SEED_DOCUMENT}, "Another on main")
    for number in range(3):
        here.commit_on(BRANCH, {DOCUMENT: f"{SEED_DOCUMENT}\n{number}\n"})
    assert await is_found(here)
    async with training.session(here.root, optimizer=False) as session:
        assert resolve(session, None) == here.refs(BRANCH)[BRANCH]


async def test_the_newest_note_counts_and_strange_ones_are_passed_over(here: Yard) -> None:
    async with training.session(here.root, optimizer=False) as session:
        blob = here.git("rev-parse", f"main:{DOCUMENT}")
        older, newer = FOUND, replace(FOUND, trials=9)
        for found in (older, newer):
            add_note(session.repo, blob, found.fact(AT))
        fact = FOUND.fact(AT)
        for wrong in (
            {**fact, "kind": "score"},
            {**fact, "val": "sha256:2"},
            {**fact, "tasks": 0},
            {**fact, "mean": "1/0"},
            {**fact, "error": "much"},
            {**fact, "error": -1},
            {**fact, "deviation": 7},
            {**fact, "settings": None},
            {key: value for key, value in fact.items() if key != "noisy"},
        ):
            add_note(session.repo, blob, wrong)
        assert known(session.repo, blob, "sha256:1", FOUND.target) == newer
        assert known(session.repo, blob, "sha256:2", {**FOUND.target, "settings": {}}) is None
        assert known(session.repo, "0" * 40, "sha256:1", FOUND.target) is None
    assert [json.loads(line)["kind"] for line in here.git("notes", "--ref=skillgit", "show", blob).splitlines()][
        :3
    ] == [
        "calibration",
        "calibration",
        "score",
    ]


@pytest.mark.parametrize(("broken", "enough"), [(1, True), (2, False)])
async def test_errors_are_missing_and_too_many_are_no_calibration(yard: MakeYard, broken: int, enough: bool) -> None:
    inputs = {row["input"] for row in WORLD.tasks["val"][:broken]}

    def respond(call: Call) -> Answer:
        return error(500, "overloaded") if call.user in inputs else WORLD(call)

    here = yard(WORLD, responder=respond, document=WORLD.perfect_document())
    if not enough:
        with pytest.raises(MeasurementError, match=r"4 of 16 attempts failed; the last: .*overloaded"):
            await calibrated(here, None, "evaluation.min_coverage=0.8")
        assert here.refs("refs/notes/") == {}
        return
    async with training.session(here.root, optimizer=False, overrides=["evaluation.min_coverage=0.8"]) as session:
        report = await calibrate(session, resolve(session, None), trials=2)
    assert (report.errors, report.noise.flips, report.calibration.mean) == (2, {}, 1)


async def test_an_environment_of_its_own_without_val_tasks(here: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    async with training.session(here.root, optimizer=False) as session:
        monkeypatch.setattr(session.environment, "tasks", lambda split: ())
        with pytest.raises(ConfigError, match="envs/topics: the val split has no tasks"):
            await calibrate(session, resolve(session, None))


def settings(**chosen: Any) -> EvaluationSettings:
    return EvaluationSettings(**chosen)


# The noise alone makes leads of 1.645 * 0.03 = 4.9 points (means) or 3.3 (medians); one task of 40 is 2.5.
@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (settings(), "the strict gate accepts 2.5 points; use gate_mode: paired"),
        (
            settings(gate_mode="margin"),
            "3.3 points in one of twenty comparisons (4 trials of 40 tasks), and the margin",
        ),
        (settings(gate_mode="margin", epsilon=0.02), "the margin gate accepts 2.5 points"),
        (settings(gate_mode="margin", epsilon=0.025), None),  # two tasks, 5 points
        (settings(gate_mode="paired", z=1.5), "the paired gate asks for 1.5 standard errors, and noise alone"),
        (settings(gate_mode="paired"), None),
        (settings(gate_mode="mine"), None),
        (settings(gate_metric="soft"), None),  # it was calibrated on hard
        (settings(use_gate=False), None),
    ],
    ids=str,
)
def test_warning(chosen: EvaluationSettings, said: str | None) -> None:
    found = warning(FOUND, chosen)
    assert (found is None) is (said is None)
    assert (said or "") in (found or "")


def test_no_warning_where_a_lead_of_one_task_is_above_the_noise() -> None:
    assert warning(replace(FOUND, error=0.015), settings()) is None
    assert warning(replace(FOUND, error=0.0), settings(gate_mode="paired", z=0)) is None


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (settings(), True),
        (settings(gate_mode="margin", epsilon=0.1), True),
        (settings(gate_mode="paired"), False),
        (settings(gate_mode="mine"), False),
    ],
    ids=str,
)
def test_a_document_without_a_score_between_shows_no_noise(chosen: EvaluationSettings, said: bool) -> None:
    for mean, score in ((0, "0.0%"), (1, "100.0%")):
        found = replace(FOUND, mean=Fraction(mean), error=0.0, median_error=0.0, deviation=0.0, noisy=0)
        assert found.blind == score
        assert ("noise cannot be seen" in (warning(found, chosen) or "")) is said
    between = replace(FOUND, error=0.0, median_error=0.0, deviation=0.0, noisy=0)
    assert (between.blind, warning(between, chosen)) == ("", None)


async def test_one_that_sees_noise_is_found_before_one_that_does_not(here: Yard) -> None:
    await calibrated(here)  # all of val is solved
    here.git("branch", "skill/topics", "main")
    half = "\n".join(WORLD.perfect_document().splitlines()[:-2]) + "\n"
    here.commit_on(BRANCH, {DOCUMENT: half})
    await calibrated(here, BRANCH)
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT})
    await calibrated(here, BRANCH)
    async with training.session(here.root, optimizer=False) as session:
        found = find(session)
    assert found is not None
    assert (found.blind, 0 < found.mean < 1) == ("", True)


def test_soft_scores_have_no_smallest_step() -> None:
    found = replace(FOUND, metric="soft", error=0.001, median_error=0.001)
    assert "the strict gate accepts any lead" in str(warning(found, settings(gate_metric="soft")))
    assert warning(found, settings(gate_metric="soft", gate_mode="margin", epsilon=0.01)) is None
    assert warning(replace(found, error=0.0), settings(gate_metric="soft")) is None


def test_repeats_make_smaller_steps() -> None:
    """With four attempts per task a lead of one attempt is 0.6 points."""
    found = replace(FOUND, error=0.01)
    assert warning(found, settings()) is None
    assert "accepts 0.6 points" in str(warning(found, settings(repeats=4)))
