"""Scores of a folder: exact, or not at all."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest

from skillgit.errors import MeasurementError
from skillgit.train.imports import scoring
from skillgit.train.scoring.scores import HARD, SOFT, Metric, Trial

ROWS = [{"id": "a", "hard": 1, "soft": 1.0}, {"id": 7, "hard": False, "soft": 0.25}, {"id": "c", "hard": 0, "soft": 0}]


@pytest.mark.parametrize(
    ("config", "metric"),
    [
        ({}, HARD),
        ({"gate_metric": "soft"}, SOFT),
        ({"gate_metric": "mixed", "gate_mixed_weight": 0.3}, Metric("mixed", F(3, 10))),
        ({"gate_metric": "mixed", "gate_mixed_weight": 7}, Metric("mixed", F(1, 2))),
        ({"gate_metric": 3}, HARD),
    ],
)
def test_the_metric_of_the_gate(config: dict[str, Any], metric: Metric) -> None:
    assert scoring.metric_of(config) == metric


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "x is unusable: a score is nan"),
        (float("inf"), "x is unusable: a score is inf"),
        (1.2, "x is unusable: a score is 1.2, outside 0..1"),
        (-1, "x is unusable: a score is -1, outside 0..1"),
        ("0.5", "x is no number"),
        (None, "x is no number"),
        (True, "x is no number"),
    ],
)
def test_what_is_no_score(value: object, said: str) -> None:
    with pytest.raises(MeasurementError) as caught:
        scoring.number("x", value)
    assert caught.value.message == said
    assert scoring.known(value) is None


def test_a_float_is_the_fraction_that_was_meant() -> None:
    assert scoring.number("x", 0.4166666666666667) == F(5, 12)


def test_scores_by_task_stand_where_they_make_up_the_score() -> None:
    record = {"selection_hard": 1 / 3, "selection_soft": 0.4166666666666667}
    found = scoring.scored(record, ROWS, Metric("mixed", F(1, 2)))
    assert (found.score, found.hard, found.soft) == (F(3, 8), F(1, 3), F(5, 12))
    assert found.tasks == {"a": (Trial(F(1), F(1)),), "7": (Trial(F(0), F(1, 4)),), "c": (Trial(F(0), F(0)),)}
    assert scoring.scored({**record, "selection_soft": 0.5}, ROWS, HARD).tasks is None
    assert scoring.scored({**record, "candidate_gate_score": 0.25}, ROWS, HARD).score == F(1, 4)


@pytest.mark.parametrize("row", [{"id": "a"}, {"id": "b", "hard": 2, "soft": 0}, {"hard": 1, "soft": 1}, {"id": None}])
def test_a_row_that_cannot_be_used_spoils_them(row: dict[str, Any]) -> None:
    assert scoring.of_rows([*ROWS, {"hard": 0, "soft": 0, **row}], HARD) is None
    assert scoring.of_rows([], HARD) is None


def test_the_first_document_has_only_its_rows() -> None:
    found = scoring.of_rows(ROWS, SOFT)
    assert found is not None
    assert (found.score, found.hard, found.soft) == (F(5, 12), F(1, 3), F(5, 12))


def test_flips_are_of_tasks_that_both_have() -> None:
    before = {
        "a": (Trial(F(0), F(0)),),
        "b": (Trial(F(1), F(1)),),
        "c": (Trial(F(0), F(0)),),
        "d": (Trial(F(1), F(1)),),
    }
    after = {"a": (Trial(F(1), F(1)),), "b": (Trial(F(0), F(1)),), "c": (Trial(F(0), F(1, 2)),)}
    assert scoring.flips(before, after, HARD) == (["a"], ["b"])
    assert scoring.flips(before, after, SOFT) == (["a", "c"], [])
    assert scoring.flips(None, after, HARD) == ([], [])


def test_cost_is_what_the_record_counts() -> None:
    tokens = {
        "rollout": {"calls": 2, "prompt_tokens": 30, "completion_tokens": 4},
        "analyst": {"calls": 1, "prompt_tokens": 500, "completion_tokens": -6},
        "merge": {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0},
        "_total": {"calls": 99},
        "odd": 3,
    }
    found = scoring.cost(tokens, {"target": "t", "optimizer": "o"})
    assert (found["calls"], found["tokens"], found["usd"]) == (3, 534, None)
    assert [(r["role"], r["stage"], r["model"], r["input_tokens"], r["output_tokens"]) for r in found["rows"]] == [
        ("optimizer", "analyst", "o", 500, 0),
        ("target", "rollout", "t", 30, 4),
    ]
    assert scoring.cost(None, {})["calls"] == 0
