"""What is read of a SkillOpt folder, and how far."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.skillopt import STARTED, Run, at

from skillgit.errors import UsageError
from skillgit.train.imports.skillopt import read


@pytest.fixture
def folder(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_a_whole_run(folder: Run) -> None:
    run = read(folder.root)
    assert (run.name, run.left_out, run.started) == ("run", (), STARTED)
    assert [(step.number, step.record["action"]) for step in run.steps] == [
        (1, "accept_new_best"),
        (2, "accept_new_best"),
        (3, "reject"),
        (4, "reject"),
        (5, "reject"),
        (6, "accept_new_best"),
    ]
    assert [step.when for step in run.steps] == [at(n) for n in range(1, 7)]
    assert {epoch: slow.result["action"] for epoch, slow in run.slow.items()} == {
        1: "inject_placeholder",
        2: "force_accept",
        3: "force_accept",
    }
    assert [slow.when for slow in run.slow.values()] == [at(n, slow=True) for n in (2, 4, 6)]
    assert [len(step.attempts) for step in run.steps] == [12] * 6
    assert [len(step.batch) for step in run.steps] == [16, 8] * 3
    assert (run.slow[1].candidate, run.slow[2].pairs, len(run.baseline)) == (None, 20, 12)
    assert run.best == run.steps[5].candidate == run.steps[5].after


def test_batches_of_an_accumulated_step_are_one(folder: Run) -> None:
    rows = folder.text("steps/step_0001/rollout/results.jsonl")
    folder.remove("steps/step_0001/rollout")
    folder.put("steps/step_0001/batch_0/rollout/results.jsonl", rows)
    folder.put("steps/step_0001/batch_1/rollout/results.jsonl", rows)
    assert len(read(folder.root).steps[0].batch) == 32


def test_a_run_that_was_killed_between_history_and_record_is_whole(folder: Run) -> None:
    """SkillOpt writes the history first, and goes on from it: the step's own record is never written."""
    folder.remove("steps/step_0003/step_record.json")
    run = read(folder.root)
    assert (len(run.steps), run.left_out, run.steps[2].record["action"]) == (6, (), "reject")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "it was not finished"),
        ('{"step": 6, "epoch": 3, "act', "its step_record.json is no whole JSON"),
        ("", "its step_record.json is no whole JSON"),
        ('{"step": 5, "epoch": 3, "action": "reject"}', "it was not finished"),
        ('{"step": 6, "epoch": 1, "action": "reject"}', "it was not finished"),
        ('{"step": 6, "epoch": 3}', "it was not finished"),
        ("[]", "it was not finished"),
    ],
    ids=["no record", "cut off", "empty", "another step's", "of an epoch before", "without an action", "a list"],
)
def test_a_last_step_that_is_not_whole_is_left_out(folder: Run, content: str | None, said: str) -> None:
    folder.put("history.json", folder.json("history.json")[:5])
    if content is None:
        folder.remove("steps/step_0006/step_record.json")
    else:
        folder.put("steps/step_0006/step_record.json", content)
    run = read(folder.root)
    assert (len(run.steps), run.left_out) == (5, (f"step 6 was left out: {said}",))


def test_a_missing_step_ends_what_is_read(folder: Run) -> None:
    folder.remove("steps/step_0004")
    folder.put("history.json", [row for row in folder.json("history.json") if row["step"] != 4])
    run = read(folder.root)
    assert [step.number for step in run.steps] == [1, 2, 3]
    assert run.left_out == ("step 4 was left out (and all behind it, up to step 6): it is missing",)


def test_a_history_that_is_cut_off_takes_nothing_away(folder: Run) -> None:
    folder.put("history.json", folder.text("history.json")[:1000])
    assert len(read(folder.root).steps) == 6


def test_a_run_before_its_first_step(folder: Run) -> None:
    folder.stop_after(0)
    run = read(folder.root)
    assert (run.steps, run.left_out, run.started) == ((), (), STARTED)


def test_the_start_is_the_earliest_sign_of_the_run(folder: Run) -> None:
    """A run that went on writes config and first document again: the first step and its time tell more."""
    later = at(6).timestamp()
    for name in ("config.json", "skills/skill_v0000.md"):
        os.utime(folder.root / name, (later, later))
    folder.record(1, wall_time_s=90.2)
    assert read(folder.root).started == at(1) - timedelta(seconds=91)


@pytest.mark.parametrize("took", [float("nan"), -5, "long", 1e300, True])
def test_a_time_that_cannot_be_is_not_counted(folder: Run, took: object) -> None:
    folder.record(1, wall_time_s=took)
    os.utime(folder.root / "config.json", (0, 0))
    assert read(folder.root).started == datetime(1970, 1, 2, tzinfo=UTC)


def test_what_is_no_run(folder: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere: there is no such folder; name an output folder of SkillOpt"):
        read(tmp_path / "nowhere")
    with pytest.raises(
        UsageError, match=r"no run of SkillOpt: there is no skills/skill_v0000.md; name a run in it: run$"
    ):
        read(tmp_path)
    folder.put("skills/skill_v0000.md", b"\xff")
    with pytest.raises(UsageError, match=r"skills/skill_v0000.md is not UTF-8; name an output folder"):
        read(folder.root)
