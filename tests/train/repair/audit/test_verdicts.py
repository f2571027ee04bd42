"""The rules of a run, as its journal or a trailer names them, and what they make of scores."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from skillgit.config import EvaluationSettings
from skillgit.errors import RefusedError
from skillgit.train.archive.journal import RunInfo
from skillgit.train.repair.audit.verdicts import Rules, as_good, beats, rules_in, rules_of
from skillgit.train.scoring.scores import Measurement, Trial

PLAIN = Rules(EvaluationSettings())


def info(**settings: Any) -> RunInfo:
    return RunInfo("run", "topics", "SKILL.md", "base", settings, 4)


def scores(*values: int) -> Measurement:
    return {f"t{n}": (Trial(Fraction(value), Fraction(value)),) for n, value in enumerate(values)}


@pytest.mark.parametrize(
    ("chosen", "tasks", "missing", "text"),
    [
        ({}, 16, 0, "strict hard n=16 repeats=1"),
        ({"gate_mode": "paired", "z": 2.5, "repeats": 3}, 16, 2, "paired hard z=2.5 n=14 missing=2 repeats=3"),
        (
            {"gate_mode": "margin", "epsilon": 0.01, "gate_metric": "soft"},
            9,
            0,
            "margin soft epsilon=0.01 n=9 repeats=1",
        ),
        (
            {"gate_metric": "mixed", "gate_mixed_weight": 0.25, "no_regression": True},
            8,
            1,
            "strict mixed(0.25) no_regression n=7 missing=1 repeats=1",
        ),
    ],
)
def test_a_gates_text_and_back(chosen: dict[str, Any], tasks: int, missing: int, text: str) -> None:
    rules = rules_of(info(evaluation=EvaluationSettings(**chosen).model_dump()))
    assert rules.text(tasks=tasks, missing=missing) == text
    assert rules_in(text, PLAIN) == rules


@pytest.mark.parametrize(
    "text", ["", "strict", "strict hard", "strict best n=1 repeats=1", "paired hard z=1e9 n=1 repeats=1", "x " * 9000]
)
def test_what_is_no_gate(text: str) -> None:
    assert rules_in(text, PLAIN) is None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"evaluation": None},
        {"evaluation": {"z": "x"}},
        {"evaluation": {"repeats": -1}},
        {"evaluation": {"z": 1e99}},
    ],
)
def test_settings_that_cannot_be_read(settings: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match=r"^run\.json: settings: "):
        rules_of(info(**settings))


def test_settings_of_another_version_are_read_as_far_as_they_are_known() -> None:
    assert rules_of(info(evaluation={"gate_metric": "soft", "new_key": 1})).evaluation.gate_metric == "soft"


def test_an_imported_run_has_no_rules_of_ours() -> None:
    assert rules_of(info(**{"import": {"trainer": "skillopt"}})).imported


def test_beating_the_best_document() -> None:
    best = scores(1, 1, 0, 0)
    assert [beats(best, other, PLAIN) for other in (scores(1, 1, 1, 0), scores(0, 1, 1, 0), scores(0, 0, 0, 0))] == [
        *(True, False, False),
    ]
    assert [as_good(best, other, PLAIN) for other in (scores(1, 1, 1, 0), scores(0, 1, 1, 0), scores(0, 1, 0, 0))] == [
        *(True, True, False),
    ]
    assert not beats(None, best, PLAIN)
    assert not beats(best, scores(1), PLAIN), "measurements of other tasks compare with nothing"
