"""The comparison of trainers: its world keeps its promises, its server is asked by skillgit as its journal says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import skillgit

ROOT = Path(skillgit.__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the scripts are no part of the package

from benchmarks.trainers.faults import Faults  # noqa: E402
from benchmarks.trainers.optimizer import Optimizer  # noqa: E402
from benchmarks.trainers.proposer import Prompt, UnknownPrompt  # noqa: E402
from benchmarks.trainers.world import SEED_DOCUMENT, World  # noqa: E402


@pytest.fixture(scope="module")
def world() -> World:
    return World(3)


def taught(world: World) -> str:
    return SEED_DOCUMENT + "".join(world.rule(topic) + "\n" for topic in world.codes)


def test_a_document_with_all_rules_answers_all_but_the_noise(world: World) -> None:
    assert [len(world.tasks[split]) for split in ("train", "val", "test")] == [64, 48, 200]
    assert sum(len(task.topics) == 2 for task in world.tasks["test"]) == 50
    assert world.score(SEED_DOCUMENT, "test") == 0
    assert world.score(taught(world), "test") == 1
    noisy = [world.score(taught(world), "test", seed) for seed in range(20)]
    assert 0.955 < sum(noisy) / len(noisy) < 0.985, "3 % of the pairs are wrong"
    assert World(3).tasks == world.tasks
    assert World(4).tasks != world.tasks


def test_the_last_line_about_a_topic_counts_and_two_topics_need_both(world: World) -> None:
    task = next(task for task in world.tasks["val"] if len(task.topics) == 2)
    first, second = task.topics
    only_first = f"{world.rule(first)}\n"
    assert world.reply(only_first, task, None) == f"{world.codes[first]} unknown"
    both = only_first + world.rule(second)
    assert world.reply(both, task, None) == task.answer
    assert world.reply(f"{both}\n- {first}: W100", task, None) == f"unknown {world.codes[second]}"


def test_proposals_are_right_wrong_and_useless_in_the_shares_promised(world: World) -> None:
    optimizer, kinds = Optimizer(world, 1), Counter[str]()
    task = world.tasks["train"][0]
    for number in range(600):
        attempt = f"<input>{task.input}</input><reply>unknown</reply><expected>{task.answer}</expected>"
        user = f"<attempt id='{number}'>{attempt}</attempt>\nThese attempts failed. Propose at most 1 edit"
        kind, reply = optimizer.reply(Prompt('"edits"', user, user))
        (edit,) = json.loads(reply)["edits"]
        rule = "right" if edit["content"] in map(world.rule, task.topics) else None
        kinds[rule or ("wrong" if task.topics[0] in edit["content"] else "useless")] += 1
        assert kind == "reflect"
    assert {name: round(count / 600, 1) for name, count in kinds.items()} == {
        "right": 0.5,
        "wrong": 0.2,
        "useless": 0.3,
    }


def test_a_prompt_of_no_known_form_is_an_error(world: World) -> None:
    with pytest.raises(UnknownPrompt):
        Optimizer(world, 1).reply(Prompt("Be helpful.", "What now?", "What now?"))


def test_a_spoilt_reply_comes_whole_when_it_is_asked_for_again() -> None:
    faults, reply = Faults(malformed=0.3), '{"edits": [{"op": "append"}]}'
    first = [faults.spoilt(reply, 1, str(n), 1) for n in range(400)]
    assert 0.2 < sum(text is not None for text in first) / 400 < 0.4
    assert reply not in first
    again = [faults.spoilt(reply, 1, str(n), 2) for n, text in enumerate(first) if text is not None]
    assert None in again


@pytest.mark.soak
def test_the_quick_comparison_fills_its_table_and_counts_the_calls_that_skillgit_counts(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    command = [sys.executable, "-m", "benchmarks.trainers", "--quick", "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(out.read_text(encoding="utf-8"))
    assert row["ended"] == "ok"
    assert row["said_calls"] == row["target_calls"] + row["optimizer_calls"] - row["counts"]["given_up"] > 100
    assert row["counts"]["unknown_prompts"] == []
    assert row["best_val"] == row["val_noisy"] > 0.5
    assert row["test"] > 0.5
    assert row["memory_mib"] > 20
    assert 0 < row["api_s"] < row["wall_s"]
    assert "| skillgit | 1 |" in done.stdout
