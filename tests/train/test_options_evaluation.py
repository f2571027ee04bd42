"""What each key under `evaluation:` does to a step, and to the end of a run. docs/skillopt.md names these tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from support import repos, training
from support.scripted import Scripted, patch
from support.server import Call, error
from support.training import BEST_REF, BRANCH, Yard
from support.world import SEED_DOCUMENT, TopicWorld

from skillgit.train import plugins
from skillgit.train.gate import verdict

MakeYard = Callable[..., Yard]


class Trial(Scripted):
    """Eight topics with two val tasks each, a document that knows some, and one candidate with lines of its own."""

    def __init__(self, known: int = 0, **replies: Any) -> None:
        super().__init__(TopicWorld(8, 1, per_topic=(2, 2, 2)), **replies)
        self.topics = list(self.world.codes)
        rules = "".join(f"{self.world.rule(topic)}\n" for topic in self.topics[:known])
        self.document = f"{SEED_DOCUMENT}\n{rules}" if known else SEED_DOCUMENT

    def propose(self, *lines: str) -> None:
        self.replies["failures"] = lambda _: patch(*lines)

    def right(self, number: int) -> str:
        return self.world.rule(self.topics[number])

    def wrong(self, number: int) -> str:
        return f"- {self.topics[number]}: gone"

    def attempted(self, split: str) -> list[str]:
        """The ids of the tasks of a split that the target was asked about, once for each call."""
        ids = {row["input"]: row["id"] for row in self.world.tasks[split]}
        return [ids[call.user] for call in self.of("target") if call.user in ids]

    def solved(self, document: str) -> Fraction:
        """The share of val that a document solves."""
        rows = self.world.tasks["val"]
        right = sum(self.world.target(document, row["input"]) == row["answer"] for row in rows)
        return Fraction(right, len(rows))


def start(yard: MakeYard, models: Trial, evaluation: str, *, epochs: int = 1, **more: Any) -> Yard:
    config = training.configuration(
        train=f"{{num_epochs: {epochs}, batch_size: 16}}",
        gradient="{minibatch_size: 32, failure_only: true}",
        optimizer="{lr_scheduler: constant, use_slow_update: false, use_meta_skill: false}",
        evaluation=evaluation,
        **more,
    )
    return yard(models.world, responder=models, config=config, document=models.document)


async def test_use_gate(yard: MakeYard) -> None:
    """A worse candidate is forced: said in the trailer, measured wholly, and best stays where it was."""
    models = Trial(known=3)
    models.propose(models.wrong(0), models.wrong(1), models.right(3))
    here = start(yard, models, "{use_gate: false}")
    base = here.git("rev-parse", "main")
    await here.train()
    step = here.steps[1]
    assert step.decision == "forced"
    assert "would have rejected it" in step.reason
    assert here.git("rev-parse", BRANCH) == step.commits[-1]
    document = here.text(BRANCH)
    assert (Fraction(str(step.score)), step.maximum) == (models.solved(document), None)
    assert models.solved(document) == Fraction(4, 16)
    # The scores are those of this very document, task by task.
    rows = {row["id"]: row for row in models.world.tasks["val"]}
    for task, trials in step.scores.items():
        expected = models.world.target(document, rows[task]["input"]) == rows[task]["answer"]
        assert Fraction(trials[0][0]) == expected
    assert step.scores.keys() == rows.keys()
    trailers = {key: training.trailer(here.root, BRANCH, f"Skill-{key}") for key in ("Decision", "Score", "Blob")}
    assert trailers == {"Decision": "forced", "Score": "0.250000", "Blob": step.document}
    assert here.refs(BEST_REF)[BEST_REF] == base
    assert here.refs("refs/skillgit/rejected/") == {}
    repos.fsck(here.root)


async def test_a_better_forced_candidate_is_best(yard: MakeYard) -> None:
    models = Trial()
    models.propose(models.right(0))
    here = start(yard, models, "{use_gate: false}")
    await here.train()
    assert here.steps[1].decision == "forced"
    assert here.refs(BEST_REF)[BEST_REF] == here.steps[1].commits[-1]


@pytest.mark.parametrize(
    ("rule", "decision"),
    [
        ("gate_mode: strict", "accept-best"),
        ("gate_mode: paired", "reject"),
        ("gate_mode: paired, z: 1.4", "accept-best"),
        ("gate_mode: margin", "accept-best"),
        ("gate_mode: margin, epsilon: 0.1", "accept-best"),
        ("gate_mode: margin, epsilon: 0.125", "reject"),
    ],
)
async def test_gate_mode_z_and_epsilon(yard: MakeYard, rule: str, decision: str) -> None:
    """Two of sixteen tasks are won: by 0.125, which is 1.46 standard errors."""
    models = Trial()
    models.propose(models.right(0))
    here = start(yard, models, f"{{{rule}}}")
    await here.train()
    assert here.steps[1].decision == decision


async def test_a_plugin_as_gate(yard: MakeYard, monkeypatch: pytest.MonkeyPatch) -> None:
    def contrary(current: Any, candidate: Any, settings: Any) -> Any:
        return verdict("reject", "never", current, candidate)

    monkeypatch.setattr(plugins, "load", lambda group, name, known: {"contrary": contrary}[name])
    models = Trial()
    models.propose(models.right(0))
    here = start(yard, models, "{gate_mode: contrary}")
    await here.train()
    step = here.steps[1]
    assert (step.decision, step.score, step.before) == ("reject", "1/8", "0/1")
    assert step.reason.startswith("never")


@pytest.mark.parametrize(("flag", "decision"), [("false", "accept-best"), ("true", "reject")])
async def test_no_regression(yard: MakeYard, flag: str, decision: str) -> None:
    models = Trial(known=1)
    models.propose(models.wrong(0), models.right(1), models.right(2))
    here = start(yard, models, f"{{no_regression: {flag}}}")
    await here.train()
    assert here.steps[1].decision == decision


@pytest.mark.parametrize(("floor", "decision"), [(0.9, "indecisive"), (0.75, "accept-best")])
async def test_min_coverage(yard: MakeYard, floor: float, decision: str) -> None:
    """The candidate has no score on four of sixteen tasks, which are none of those that it wins."""

    def target(call: Call) -> Any:
        lost = models.right(0) in call.system and any(topic in call.user for topic in models.topics[6:])
        return error(500, "overloaded") if lost else models.world(call)

    models = Trial(target=target)
    models.propose(models.right(0))
    here = start(yard, models, f"{{min_coverage: {floor}}}")
    await here.train()
    assert here.steps[1].decision == decision


async def test_repeats(yard: MakeYard) -> None:
    models = Trial()
    models.propose(models.right(0))
    here = start(yard, models, "{repeats: 3}")
    await here.train()
    step = here.steps[1]
    assert {len(trials) for trials in step.scores.values()} == {3}
    assert len(models.attempted("val")) == 2 * 3 * 16
    assert training.trailer(here.root, BRANCH, "Skill-Gate") == "strict hard n=16 repeats=3"


@pytest.mark.parametrize("racing", ["true", "false"])
async def test_racing(yard: MakeYard, racing: str) -> None:
    """A candidate that wins nothing where the incumbent fails cannot win any more: half of val is not attempted; the
    record is the same."""
    models = Trial(known=4)
    models.propose(*(models.wrong(number) for number in range(4, 8)))
    here = start(yard, models, f"{{racing: {racing}}}", limits="{in_flight: 1}")
    await here.train()
    step = here.steps[1]
    assert (step.decision, step.prefix, step.maximum) == ("reject", 8, "1/2")
    assert len(models.attempted("val")) - 16 == (8 if racing == "true" else 16)


async def test_sel_env_num(yard: MakeYard) -> None:
    models = Trial()
    models.propose(*(models.right(number) for number in range(4)))
    here = start(yard, models, "{sel_env_num: 6}")
    await here.train()
    assert len(set(models.attempted("val"))) == 6
    assert len(here.steps[1].scores) == 6
    assert "n=6 " in training.trailer(here.root, here.steps[1].commits[-1], "Skill-Gate")
    first = set(here.steps[1].scores)
    await here.train("train.seed=5", fresh=True)
    assert set(here.steps[1].scores) != first


@pytest.mark.parametrize(("keys", "tasks"), [("eval_test: true", 16), ("eval_test: true, test_env_num: 5", 5)])
async def test_eval_test_and_test_env_num(yard: MakeYard, keys: str, tasks: int) -> None:
    """The first and the best document on test, when all is over."""
    models = Trial()
    models.propose(*(models.right(number) for number in range(4)))
    here = start(yard, models, f"{{{keys}}}")
    outcome = await here.train()
    assert outcome.test is not None
    assert (outcome.test[0], len(models.attempted("test"))) == (0, 2 * tasks)
    rows = [row for row in models.world.tasks["test"] if row["id"] in models.attempted("test")]
    right = sum(models.world.target(here.text(BEST_REF), row["input"]) == row["answer"] for row in rows)
    assert outcome.test[1] == Fraction(right, tasks)
    assert any(note.startswith("test: 0.0% -> ") for note in here.watcher.notes)
    noted = here.git("notes", "--ref=skillgit", "show", here.git("rev-parse", f"{BEST_REF}:{training.DOCUMENT}"))
    assert '"test"' in noted


async def test_test_is_left_alone_by_default(yard: MakeYard) -> None:
    models = Trial()
    models.propose(models.right(0))
    here = start(yard, models, "{}")
    outcome = await here.train()
    assert outcome.test is None
    assert models.attempted("test") == []


@pytest.mark.parametrize(
    ("metric", "told", "decision", "score"),
    [
        ("gate_metric: hard", "hard", "reject", "0/1"),
        ("gate_metric: soft", "soft", "accept-best", "1/6"),
        ("gate_metric: mixed", "mixed(0.5)", "accept-best", "1/12"),
        ("gate_metric: mixed, gate_mixed_weight: 0.25", "mixed(0.25)", "accept-best", "1/24"),
        ("gate_metric: mixed, gate_mixed_weight: 0.0", "mixed(0)", "reject", "0/1"),
    ],
)
async def test_gate_metric_and_gate_mixed_weight(
    yard: MakeYard, metric: str, told: str, decision: str, score: str
) -> None:
    """On a quarter of the tasks the candidate makes the answer two thirds right."""

    def target(call: Call) -> str:
        halfway = "Perhaps" in call.system and any(topic in call.user for topic in models.topics[:2])
        code = models.world.codes[str(models.world.topic_of(call.user))]
        return f"<answer>{code + ' perhaps' if halfway else 'unknown'}</answer>"

    models = Trial(target=target)
    models.propose("Perhaps it is one of those.")
    here = start(yard, models, f"{{{metric}, racing: false}}")
    settings = here.root / "envs/topics/env.yaml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("scorer: exact", "scorer: f1"), encoding="utf-8")
    await here.train()
    step = here.steps[1]
    assert step.decision == decision
    assert decision == "reject" or step.score == score
    told = (
        metric.replace("gate_metric: ", "").replace(", gate_mixed_weight: ", "(").replace("mixed(0.25", "mixed(0.25)")
    )
    gate_text = training.trailer(here.root, step.commits[-1], "Skill-Gate")
    assert gate_text.split()[1].startswith(told.partition("(")[0])


@pytest.mark.parametrize(("least", "decision"), [(0.0, "accept-best"), (0.5, "none")])
async def test_semantic_density(yard: MakeYard, least: float, decision: str) -> None:
    """A right line among words that say nothing is not measured at all."""
    models = Trial()
    models.propose("Of the and to the in of it that which is on and with:", models.right(0))
    here = start(yard, models, f"{{semantic_density: {least}}}")
    await here.train()
    step = here.steps[1]
    assert step.decision == decision
    assert len(models.attempted("val")) == (32 if decision == "accept-best" else 16)
    assert ("evaluation.semantic_density" in step.reason) == (decision == "none")


async def test_settings_stand_in_the_journal(yard: MakeYard) -> None:
    """A run is resumed with the settings that it began with, so all of them are kept."""
    models = Trial()
    here = start(yard, models, "{z: 1.5, epsilon: 0.25}")
    await here.train()
    kept = training.journal(here.root).info.settings
    assert (kept["evaluation"]["z"], kept["evaluation"]["epsilon"]) == (1.5, 0.25)
    assert json.loads(json.dumps(kept)) == kept
