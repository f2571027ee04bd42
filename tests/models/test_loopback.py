"""The test world itself: what other tests of training rely on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support.clients import PROTOCOLS, Protocol, model_of, opened
from support.server import serve
from support.world import SEED_DOCUMENT, SPLITS, TopicWorld

from skillgit.models.base import Request, Turn

PROMPT = """Propose at most 2 edits.
<skill># Tickets</skill>
<attempt id="a"><input>{0}</input><reply>unknown</reply><expected>{1}</expected></attempt>
<attempt id="b"><input>{2}</input><reply>&lt;answer&gt;{3}&lt;/answer&gt;</reply><expected>{3}</expected></attempt>
<attempt id="c"><input>{4}</input><expected>{5}</expected></attempt>
<attempt id="d"><input>{6}</input><expected>{7}</expected></attempt>
"""


def prompt_of(world: TopicWorld) -> str:
    """Reflection on four topics, the second of which was answered right."""
    first = {world.topic_of(row["input"]): row for row in world.tasks["train"]}
    rows = list(first.values())[:4]
    return PROMPT.format(*(row[key] for row in rows for key in ("input", "answer")))


def test_splits_share_no_input_and_the_same_seed_is_the_same_world() -> None:
    world = TopicWorld(10, seed=3)
    inputs = [row["input"] for split in SPLITS for row in world.tasks[split]]
    assert len(inputs) == len(set(inputs)) == 60
    assert world.tasks == TopicWorld(10, seed=3).tasks != TopicWorld(10, seed=4).tasks
    assert all(world.topic_of(text) is not None for text in inputs)


def test_the_target_reads_the_last_line_about_the_topic() -> None:
    world = TopicWorld(4, seed=1)
    row = world.tasks["val"][0]
    topic = world.topic_of(row["input"])
    assert topic is not None
    right, wrong = world.rule(topic), f"- {topic}: W123"
    assert world.target(SEED_DOCUMENT, row["input"]) == "unknown"
    assert world.target(f"{wrong}\n{right}", row["input"]) == row["answer"]
    assert world.target(f"{right}\n{wrong}", row["input"]) == "unknown"
    for split in SPLITS:
        for task in world.tasks[split]:
            assert world.target(world.perfect_document(), task["input"]) == task["answer"]


def test_the_optimizer_proposes_for_failures_within_the_budget() -> None:
    world = TopicWorld(8, seed=1)
    prompt = prompt_of(world)
    edits = json.loads(world.propose(prompt))["edits"]
    assert len(world.failing(prompt)) == 3
    assert len(edits) == 2
    assert world.propose(prompt) == TopicWorld(8, seed=1).propose(prompt)
    assert {edit["op"] for edit in edits} == {"append"}


def test_proposals_are_right_wrong_and_useless() -> None:
    world = TopicWorld(8, seed=1)
    topic = next(iter(world.codes))
    lines = [world._line(f"prompt {number}", topic) for number in range(400)]
    right = sum(line == world.rule(topic) for line in lines)
    useless = sum(topic not in line for line in lines)
    assert 180 < right < 260
    assert 50 < useless < 115


def test_the_environment_that_is_written(tmp_path: Path) -> None:
    world = TopicWorld(3, seed=1, extract="whole")
    folder = world.write_env(tmp_path / "env")
    settings = yaml.safe_load((folder / "env.yaml").read_text(encoding="utf-8"))
    assert settings["extract"] == "whole"
    for split in SPLITS:
        lines = (folder / settings["tasks"][split]).read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == world.tasks[split]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_both_roles_by_both_protocols(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    world = TopicWorld(8, seed=1)
    row = world.tasks["test"][0]
    with serve(world) as server:
        async with opened(monkeypatch, server, protocol) as model:
            answer = await model.complete(Request(world.perfect_document(), (Turn("user", row["input"]),)))
            # A second turn asks for the same again.
            turns = (Turn("user", prompt_of(world)), Turn("assistant", "Sorry"), Turn("user", "Reply again."))
            patch = await model.complete(Request("You improve a document.", turns))
    assert answer.text == f"<answer>{row['answer']}</answer>"
    assert patch.text == world.propose(prompt_of(world))


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The stand-alone server: its URL and its log."""
    script, log = Path(__file__).parent.parent / "support" / "world_server.py", tmp_path / "calls.jsonl"
    command = [sys.executable, str(script), "--port", "0", "--seed", "1", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip(), log
        finally:
            running.terminate()


def logged(log: Path, number: int) -> list[dict[str, str]]:
    """The log's rows; the last one is written just after its answer was sent."""
    end = time.monotonic() + 10
    while len(lines := log.read_text(encoding="utf-8").splitlines()) < number:
        assert time.monotonic() < end
        time.sleep(0.01)
    return [json.loads(line) for line in lines]


async def test_the_server_process_logs_each_answer(process: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    url, log = process
    world = TopicWorld(8, seed=1)
    row = world.tasks["test"][0]
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    model = model_of("openai")
    documents = (SEED_DOCUMENT, world.perfect_document(), SEED_DOCUMENT)
    replies = [await model.complete(Request(document, (Turn("user", row["input"]),))) for document in documents]
    await model.close()
    assert [row["answer"] in reply.text for reply in replies] == [False, True, False]
    rows = logged(log, 3)
    assert [entry["role"] for entry in rows] == ["target"] * 3
    assert rows[0]["key"] == rows[2]["key"] != rows[1]["key"]
