"""`skillgit baseline`, and where its results are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.baselines import CONFIG, FIRST, LAST, MEMORY, SECOND, START, WORLD, Rewriter, notes, without_last
from support.place import Place
from support.server import Answer, serve
from support.training import DOCUMENT, SKILL

EXAMPLES = "baseline examples: val 75.0% (8 tasks)"
ONE_SHOT = "baseline one_shot: val 50.0% (8 tasks, anthropic/sim)"


@pytest.fixture
def rewriter() -> Rewriter:
    return Rewriter(WORLD.rule(FIRST), WORLD.rule(SECOND))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewriter: Rewriter) -> Iterator[Place]:
    with serve(rewriter) as server:
        training.make(tmp_path / "r", WORLD, config=CONFIG, document=START)
        without_last(tmp_path / "r")
        training.point_at(monkeypatch, server.env())
        yield Place(tmp_path / "r", server)


def facts(here: Place, *arguments: str) -> dict[str, Any]:
    done = cli.call(here.root, "baseline", SKILL, *arguments, "--json")
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_for_people_and_as_json(here: Place) -> None:
    done = cli.call(here.root, "baseline", SKILL, "--split", "test")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    tip = here.git("rev-parse", "main")
    found = facts(here, "--split", "test")
    examples, rewritten = found["baselines"]
    assert lines[0] == f"{SKILL} at {tip[:12]}: val 25.0% hard; 4 of 6 train tasks failed"
    assert lines[1] == f"{EXAMPLES}, accepted: {examples['reason']}"
    assert lines[2] == (
        f"examples: 4 edits, {examples['tokens']} tokens, document {examples['document'][:12]}; test 75.0% (8 tasks)"
    )
    assert lines[3] == f"{ONE_SHOT}, accepted: {rewritten['reason']}"
    assert lines[4].startswith(f"one_shot: 1 edit, {rewritten['tokens']} tokens, document ")
    assert lines[5].startswith("47 calls, ")  # 6 + 1 + 3 * 8 on val + 2 * 8 on test
    assert len(lines) == 6
    assert here.server.count == 47
    assert list(found) == [
        *("skill", "commit", "blob", "target", "val", "metric", "before", "train", "baselines", "problem", "cost")
    ]
    assert found["problem"] is None
    assert (found["commit"], found["before"], found["metric"]) == (tip, 0.25, "hard")
    assert found["train"] == {"tasks": 6, "failed": 4, "errors": 0}
    assert found["cost"]["calls"] == 0
    assert list(examples) == [
        *("kind", "score", "hard", "soft", "tasks", "errors", "before", "decision", "reason", "gate"),
        *("document", "tokens", "edits", "optimizer", "target", "val", "test"),
    ]
    assert (examples["score"], examples["test"], examples["optimizer"]) == (0.75, {"score": 0.75, "tasks": 8}, None)
    assert (rewritten["score"], rewritten["decision"], rewritten["optimizer"]) == (0.5, "accept", "anthropic/sim")
    assert [note["baseline"] for note in notes(here.root)] == ["examples", "one_shot"]


def test_a_rejected_one_says_so(here: Place, rewriter: Rewriter) -> None:
    rewriter.reply = Rewriter(WORLD.rule(LAST)).reply
    done = cli.call(here.root, "baseline", SKILL, "--kind", "one_shot")
    assert "one_shot: val 25.0% (8 tasks, anthropic/sim), rejected: +0.0000 on 8 val tasks, not better" in done.out
    assert "examples" not in done.out


def test_status_log_and_train_show_them(here: Place) -> None:
    assert "baseline examples" not in cli.call(here.root, "status").out
    assert json.loads(cli.call(here.root, "status", "--json").out)[0]["baselines"] == []
    found = facts(here)["baselines"]
    assert cli.call(here.root, "status").out.splitlines()[-2:] == [f"  {EXAMPLES}", f"  {ONE_SHOT}"]
    done = cli.call(here.root, "train", SKILL)
    assert [line for line in done.out.splitlines() if line.startswith("baseline ")] == [EXAMPLES, ONE_SHOT]
    (status,) = json.loads(cli.call(here.root, "status", "--json").out)
    assert status["baselines"] == found
    assert cli.call(here.root, "status", SKILL).out.splitlines()[-2:] == [f"  {EXAMPLES}", f"  {ONE_SHOT}"]
    assert cli.call(here.root, "log", SKILL).out.splitlines()[-2:] == [EXAMPLES, ONE_SHOT]
    assert "baseline examples" not in cli.call(here.root, "log", SKILL, "--run", status["run"]).out
    trained = cli.call(here.root, "train", SKILL, "--json")
    assert json.loads(trained.out)["baselines"] == found
    repos.fsck(here.root)


def test_an_unusable_rewrite_is_said_after_what_was_made(here: Place, rewriter: Rewriter) -> None:
    rewriter.reply = "no"
    done = cli.call(here.root, "baseline", SKILL)
    assert done.code == 3
    assert done.out.splitlines()[1].startswith(f"{EXAMPLES}, accepted: ")
    assert "one_shot" not in done.out
    assert done.last.startswith("skillgit: error: anthropic/sim gave no usable rewrite: ")
    done = cli.call(here.root, "baseline", SKILL, "--json")
    found = json.loads(done.out)
    assert (done.code, [one["kind"] for one in found["baselines"]]) == (3, ["examples"])
    assert found["problem"]["kind"] == "one_shot"
    assert done.last == f"skillgit: error: {found['problem']['error']}"
    assert cli.call(here.root, "status").out.splitlines()[-1] == f"  {EXAMPLES}"


def test_where_nothing_failed(here: Place) -> None:
    repos.commit(here.root, {DOCUMENT: WORLD.perfect_document()}, "All of it")
    done = cli.call(here.root, "baseline", SKILL, "--kind", "examples")
    said = "baseline examples: val 100.0% (8 tasks), not gated: nothing failed in train: the base document has it all"
    assert said in done.out.splitlines()
    assert cli.call(here.root, "train", SKILL).code == 0
    for command in (("status",), ("log", SKILL), ("train", SKILL)):
        assert "baseline examples" not in cli.call(here.root, *command).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'NAME'"),
        (("topcis",), "skillgit.yaml: no skill 'topcis'; did you mean 'topics'?"),
        ((SKILL, "--kind", "luck"), "Invalid value for '--kind': 'luck' is not one of 'examples', 'one_shot'"),
        ((SKILL, "--split", "train"), "Invalid value for '--split': 'train' is not one of 'val', 'test'"),
        ((SKILL, "--rev", "nowhere"), "nowhere: no such revision; name a commit, a branch or a tag"),
    ],
)
def test_refused_before_any_call(here: Place, arguments: tuple[str, ...], said: str) -> None:
    assert here.refused("baseline", *arguments).startswith(said)


def test_without_an_optimizer(here: Place) -> None:
    here.configure("models: {target: openai/sim, optimizer: anthropic/sim}", "models: {target: openai/sim}")
    said = here.refused("baseline", SKILL)
    assert said == f"skillgit.yaml: no optimizer model for '{SKILL}'; set models.optimizer to provider/model"
    assert [found["score"] for found in facts(here, "--kind", "examples")["baselines"]] == [0.75]
    assert MEMORY in repos.refs(here.root)


def test_without_answers(here: Place) -> None:
    path = here.root / "envs/topics/env.yaml"
    path.write_text(path.read_text().replace("reveal: answer", "reveal: reason"))
    assert here.refused("baseline", SKILL, "--kind", "examples", calls=True) == (
        "envs/topics: the environment shows no answers, so examples cannot be made of failed tasks; "
        "set reveal: answer in env.yaml, or ask for --kind one_shot alone"
    )


def test_a_broken_target(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda _: Answer(status=500)) as server:
        training.point_at(monkeypatch, server.env())
        said = Place(here.root, server).refused("baseline", SKILL, code=3, calls=True)
    assert said.startswith("all 6 attempts at train tasks failed; the last: openai/sim: 500")
    assert MEMORY not in repos.refs(here.root)
