"""What a person wishes for a training: budgets, estimates, an event log, trackers; all through the command line."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from support import cli, repos, training
from support.epochs import EpochWorld
from support.histories import differences, story
from support.place import Place
from support.server import Answer, Call, error, serve
from support.training import SKILL, Watcher
from support.world import Kinds

from skillgit.train import plugins
from skillgit.train.events import Event, RunFinished, StepFinished
from skillgit.train.watch.trackers import Training

TRAIN = ("train", SKILL)
PRICED = "{target: openai/gpt-4o-mini, optimizer: openai/gpt-4o-mini}"
CONFIG = training.configuration(
    models=PRICED,
    train="{num_epochs: 2, batch_size: 4, speculate: true}",
    optimizer="{use_slow_update: true, use_meta_skill: true, proposals: 2}",
)
WORLD = EpochWorld(6, 1, kinds=Kinds(40, 40))
MakePlace = Callable[..., Place]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A place of this file's world; its server counts from 0."""
    root = training.make(tmp_path / "r", WORLD, config=CONFIG)
    with serve(WORLD) as server:
        training.point_at(monkeypatch, server.env())
        yield Place(root, server)


class TestBudget:
    def test_small_budgets_make_the_history_of_one_run(
        self, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = Place(training.make(tmp_path / "whole", WORLD, config=CONFIG), place.server)
        assert whole.trained()["finished"] is True
        needed, reasons = place.server.count, []
        for _ in range(needed):
            done = cli.call(place.root, *TRAIN, "--max-calls", "25", "--json")
            assert done.code == 0, done.err
            outcome = json.loads(done.out)
            reasons.append(outcome["reason"])
            if outcome["finished"]:
                break
            assert f"note: {outcome['reason']}; the same command goes on from here\n" in done.err
        assert len(reasons) > 4
        assert all(reason.startswith("the budget of 25 calls is used up (2") for reason in reasons[:-1]), reasons
        assert reasons[-1] == "all epochs are done"
        assert differences(story(whole.root), story(place.root)) == []
        # What was rolled out ahead of time may have been another guess.
        assert place.server.count - needed <= needed + 8
        repos.fsck(place.root)

    @pytest.mark.parametrize(
        ("option", "reason"),
        [
            (("--max-calls", "20"), "the budget of 20 calls is used up (20)"),
            (("--max-tokens", "2000"), "the budget of 2000 tokens is used up (2"),
            (("--max-usd", "0.0005"), "the budget of 0.0005 USD is used up (0.000"),
            (("--max-minutes", "0.0001"), "the budget of 0.0001 minutes is used up (0."),
        ],
    )
    def test_each_limit_ends_well_and_says_so(self, place: Place, option: tuple[str, ...], reason: str) -> None:
        done = cli.call(place.root, *TRAIN, *option, "--exit-code")
        assert done.code == 0, "not finished is not without improvement"
        first, *rest = done.out.splitlines()
        if option[0] == "--max-minutes":
            assert first.startswith(f"no document is measured yet: {reason}")
        else:
            assert first.startswith(("val stayed: 0.0% -> 0.0% (", "val rose: 0.0% -> "))
            assert f"({reason}" in first
        assert rest[0] == f"go on with `skillgit train {SKILL}`"
        assert "run finished" not in done.err
        (status,) = json.loads(cli.call(place.root, "status", "--json").out)
        assert status["running"] is (option[0] != "--max-minutes")

    def test_one_that_ends_in_the_middle_of_test_ends_a_finished_run(self, place: Place, tmp_path: Path) -> None:
        plain = ("--set", "train.speculate=false", "--set", "train.num_epochs=1")
        Place(training.make(tmp_path / "whole", WORLD, config=CONFIG), place.server).trained(*plain)
        most = str(place.server.count + 2)
        done = cli.call(place.root, *TRAIN, *plain, "--set", "evaluation.eval_test=true", "--max-calls", most, "--json")
        outcome = json.loads(done.out)
        assert (done.code, outcome["finished"], outcome["test"]) == (0, True, None)
        assert outcome["reason"] == "all epochs are done"
        assert (
            f"is used up ({most}) before test was scored: `skillgit eval {SKILL} --split test` does that\n" in done.err
        )
        assert cli.call(place.root, "eval", SKILL, "--split", "test").code == 0

    def test_money_needs_prices(self, place: Place) -> None:
        place.configure("optimizer: openai/gpt-4o-mini", "optimizer: openai/nobody-knows-it")
        for options in (("--max-usd", "1"), ("--max-usd", "1", "--dry-run")):
            text = place.refused(*TRAIN, *options)
            assert text == "--max-usd: the price of openai/nobody-knows-it is not known; use --max-tokens instead"

    @pytest.mark.parametrize(
        ("option", "text"),
        [
            (("--max-calls", "0"), "--max-calls 0 leaves nothing to spend; give a number above 0"),
            (("--max-usd", "-1"), "--max-usd -1 leaves nothing to spend; give a number above 0"),
            (("--max-minutes", "nan"), "--max-minutes nan leaves nothing to spend; give a number above 0"),
            (("--max-usd", "much"), "Invalid value for '--max-usd': 'much' is no amount; see `skillgit train --help`"),
        ],
    )
    def test_what_is_no_budget(self, place: Place, option: tuple[str, ...], text: str) -> None:
        assert place.refused(*TRAIN, *option) == text

    def test_a_small_one_is_said_before_it_is_spent(self, place: Place) -> None:
        done = cli.call(place.root, *TRAIN, "--max-calls", "3")
        said = done.err.splitlines()
        assert said[0].startswith(
            "note: --max-calls 3 pays for less than the baseline and 3 steps: that takes at least "
        )
        assert place.server.count == 3


class TestDryRun:
    def test_it_makes_no_call_and_moves_nothing(self, place: Place) -> None:
        before = place.seen()
        done = cli.call(place.root, *TRAIN, "--dry-run")
        found = json.loads(cli.call(place.root, *TRAIN, "--dry-run", "--json").out)
        assert (done.code, place.server.count, place.seen()) == (0, 0, before)
        assert done.err == f"an estimate of a whole run of {SKILL}; no call is made\n"
        lines = done.out.splitlines()
        assert lines[0].split() == ["stage", "role", "calls", "tokens", "USD"]
        assert [line.split()[0] for line in lines[1:]] == [
            *(row["stage"].split()[0] for row in found["stages"]),
            "total",
        ]
        assert {"baseline", "rollout", "reflect", "gate"} <= {row["stage"] for row in found["stages"]}
        assert found["too_small"] is None

    @pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "local/qwen2.5-coder-0.5b"])
    def test_it_needs_neither_key_nor_weights(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-weights"))
        place.configure("optimizer: openai/gpt-4o-mini", f"optimizer: {model}")
        done = cli.call(place.root, *TRAIN, "--dry-run", "--json")
        assert done.code == 0, done.err
        assert {row["model"] for row in json.loads(done.out)["stages"]} == {"openai/gpt-4o-mini", model}

    def test_an_unknown_provider_is_said(self, place: Place) -> None:
        place.configure("optimizer: openai/gpt-4o-mini", "optimizer: opnai/x")
        assert "no provider 'opnai'; did you mean 'openai'?" in place.refused(*TRAIN, "--dry-run")

    def test_the_run_lies_within_it(self, place: Place) -> None:
        total = json.loads(cli.call(place.root, *TRAIN, "--dry-run", "--json").out)["total"]
        place.trained()
        assert total["calls"][0] <= place.server.count <= total["calls"][1]

    def test_a_budget_that_is_too_small(self, place: Place) -> None:
        done = cli.call(place.root, *TRAIN, "--dry-run", "--max-calls", "3", "--json")
        sentence = json.loads(done.out)["too_small"]
        assert sentence.startswith("--max-calls 3 pays for less than the baseline and 3 steps")
        assert cli.call(place.root, *TRAIN, "--dry-run", "--max-calls", "3").err.splitlines()[-1] == f"note: {sentence}"
        assert place.server.count == 0


class TestEvents:
    def test_one_line_per_event_appended_on_resume(self, place: Place, tmp_path: Path) -> None:
        path = tmp_path / "events.jsonl"
        first = cli.call(place.root, *TRAIN, "--max-calls", "60", "--events", str(path))
        assert first.code == 0, first.err
        begun = path.read_bytes()
        assert cli.call(place.root, *TRAIN, "--events", str(path)).code == 0
        assert path.read_bytes().startswith(begun)
        events = [json.loads(line) for line in path.read_text().splitlines()]
        started = [event for event in events if event["event"] == "run_started"]
        assert [event["resumed_at"] is None for event in started] == [True, False]
        (steps,) = training.journals(place.root)
        finished = [(e["kind"], e["step"], e["decision"]) for e in events if e["event"] == "step_finished"]
        assert finished == [(step.kind, step.step, step.decision) for step in steps]
        assert "slow-update" in {kind for kind, _, _ in finished}
        assert events[-1]["event"] == "run_finished"
        # A stage tells of its own units alone, and of all of them where nothing ends it early.
        done, total, stages = 0, 0, 0
        for event in events:
            if event["event"] == "stage_started":
                done, total, stages = 0, event["total"], stages + (event["stage"] in ("gate", "rollout"))
            elif event["event"] == "unit_done" and total:
                done += 1
                assert done <= total
        assert stages > 6

    def test_a_file_that_cannot_be_written(self, place: Place, tmp_path: Path) -> None:
        text = place.refused(*TRAIN, "--events", str(tmp_path / "no" / "events.jsonl"))
        assert text.endswith("No such file or directory; name a file that can be written")


class TestTrackers:
    @pytest.fixture
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """A package with two trackers: one that remembers, one that breaks at the first step and again at its end."""
        found: dict[str, Any] = {"closed": 0}
        module = types.ModuleType("their_package")

        def good(given: Training) -> Watcher:
            found["given"], found["heard"] = given, Watcher()
            return found["heard"]

        class Bad:
            def __init__(self, _: Training) -> None: ...

            def __call__(self, event: Event) -> None:
                if isinstance(event, StepFinished):
                    raise ZeroDivisionError("by zero")

            def close(self) -> None:
                found["closed"] += 1

        module.good, module.bad = good, Bad  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "their_package", module)
        points = [EntryPoint(name, f"their_package:{name}", "skillgit.callbacks") for name in ("good", "bad")]
        monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints(p for p in points if p.group == group))
        return found

    def test_a_broken_one_never_breaks_the_run(self, place: Place, installed: dict[str, Any]) -> None:
        done = cli.call(place.root, *TRAIN, "--track", "bad", "--track", "good")
        assert done.code == 0, done.err
        assert done.err.count("failed and is told nothing more: ZeroDivisionError: by zero\n") == 1
        heard: Watcher = installed["heard"]
        assert isinstance([e for e in heard.events if not hasattr(e, "text")][-1], RunFinished)
        (steps,) = training.journals(place.root)
        assert heard.decisions == [step.decision for step in steps]
        assert installed["given"].models == {"target": "openai/gpt-4o-mini", "optimizer": "openai/gpt-4o-mini"}
        assert installed["closed"] == 1

    def test_what_was_opened_is_closed_where_the_command_is_refused(
        self, place: Place, installed: dict[str, Any]
    ) -> None:
        place.configure("optimizer: openai/gpt-4o-mini", "optimizer: openai/nobody-knows-it")
        place.refused(*TRAIN, "--track", "bad", "--max-usd", "1")
        assert installed["closed"] == 1

    @pytest.mark.parametrize(
        ("name", "said"),
        [("wandb", "it is not installed"), ("mlflw", "did you mean 'mlflow'")],
    )
    def test_one_that_is_not_there(self, place: Place, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
        monkeypatch.setitem(sys.modules, "wandb", None)
        assert said in place.refused(*TRAIN, "--track", name)


def test_what_the_endpoint_refused_is_said_at_the_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(call: Call) -> Answer:
        return error(429, "slow down") if call.index in (5, 9, 30) else WORLD(call)

    with serve(busy) as server:
        training.point_at(monkeypatch, server.env())
        done = cli.call(place.root, *TRAIN, "--set", "train.num_epochs=1")
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == "note: 3 calls were refused for the server's load and tried again"


def test_a_hanging_call_is_said_at_the_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillgit.models.steady.patience_s", lambda _: 0.3)

    def hanging(call: Call) -> Answer:
        return replace(WORLD(call), fault="hang") if call.index == 20 else WORLD(call)

    with serve(hanging) as server:
        training.point_at(monkeypatch, server.env())
        done = cli.call(place.root, *TRAIN, "--set", "train.num_epochs=1")
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == "note: 1 call hung and was sent again"
