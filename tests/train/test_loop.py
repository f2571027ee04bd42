"""A training from its start to its end, checked with plain git."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from support import repos, training
from support.training import BEST_REF, BRANCH, DOCUMENT, Yard
from support.world import Kinds, TopicWorld

from skillgit.errors import ConfigError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.train.events import RunFinished, RunStarted, StageStarted, StepFinished, UnitDone
from skillgit.train.loop import Outcome, train

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


async def test_the_outcome(yard: MakeYard) -> None:
    here = yard(training.mixed(), config=CONFIG)
    outcome = await here.train()
    decisions = [step.decision for step in here.steps]
    assert outcome == Outcome(
        skill="topics",
        run=training.journal(here.root).info.run,
        reason="all epochs are done",
        before=Fraction(0),
        after=Fraction(str(here.steps[-1].best)),
        steps=4,
        accepted=decisions.count("accept-best"),
        rejected=decisions.count("reject"),
        best_commit=here.refs(BEST_REF)[BEST_REF],
        best_blob=here.git("rev-parse", f"{BEST_REF}:{DOCUMENT}"),
    )
    assert outcome.improved
    shown = outcome.to_json()
    assert json.loads(json.dumps(shown)) == shown
    assert shown["before"] == 0.0
    assert shown["improved"] is True


async def test_history_is_readable_without_skillgit(yard: MakeYard) -> None:
    here = yard(training.mixed(), config=CONFIG)
    await here.train()
    pretty = "%h %(trailers:key=Skill-Score,valueonly,separator=%x2C)"
    lines = here.git("log", f"--format={pretty}", "main..skill/topics").splitlines()
    scores = [line.split(" ")[1] for line in lines if len(line.split(" ")) > 1 and line.split(" ")[1]]
    accepted = [step for step in here.steps if step.decision == "accept-best"]
    assert scores == [f"{float(Fraction(str(step.score))):.6f}" for step in accepted[::-1]]
    assert len(lines) == sum(len(step.commits) for step in accepted)
    # Scores only where the tree has the document that was measured.
    for commit in here.git("rev-list", "main..skill/topics").splitlines():
        blob = training.trailer(here.root, commit, "Skill-Blob")
        assert blob in ("", here.git("rev-parse", f"{commit}:{DOCUMENT}"))
    message = here.git("log", "-1", "--format=%B", "skill/topics")
    parsed = here.git("interpret-trailers", "--no-divider", "--parse", input=message).splitlines()
    assert [line.split(":")[0] for line in parsed][:5] == [
        "Skill-Name",
        "Skill-Run",
        "Skill-Step",
        "Skill-Epoch",
        "Skill-Kind",
    ]
    assert here.git("blame", "-s", BRANCH, "--", DOCUMENT)
    repos.fsck(here.root)


async def test_what_is_told(yard: MakeYard) -> None:
    here = yard(training.mixed(), config=CONFIG)
    await here.train()
    events = here.watcher.events
    started = [event for event in events if isinstance(event, RunStarted)]
    assert [(event.skill, event.epochs, event.steps, event.resumed_at) for event in started] == [("topics", 2, 4, None)]
    assert [event.step for event in events if isinstance(event, StepFinished)] == [0, 1, 2, 3, 4]
    assert isinstance(events[-1], RunFinished)
    stages = [(event.step, event.stage, event.total) for event in events if isinstance(event, StageStarted)]
    assert stages[0] == (0, "baseline", 16)
    assert stages[1:4] == [(1, "rollout", 8), (1, "reflect", 1), (1, "gate", 16)]
    units = [event for event in events if isinstance(event, UnitDone)]
    assert (
        sum(unit.usage.calls for unit in units if not unit.cached)
        + sum(training.is_reflection(call) for call in here.server.calls)
        == here.server.count
    )
    assert any("val has only 16 tasks" in note for note in here.watcher.notes)


async def test_every_step_may_apply_as_many_edits_as_the_schedule_says(yard: MakeYard) -> None:
    config = training.configuration(
        train="{num_epochs: 1, batch_size: 4}",
        optimizer="{learning_rate: 4, min_learning_rate: 1, lr_scheduler: linear}",
    )
    here = yard(TopicWorld(8, 1, kinds=Kinds(100, 0)), config=config)
    await here.train()
    rates = [step.learning_rate for step in here.steps[1:]]
    assert rates == [3, 2, 2, 1]  # 4 - 3 * step/4: 3.25, 2.5, 1.75, 1
    assert all(len(step.commits) <= step.learning_rate for step in here.steps[1:])
    prompts = [call.user for call in here.server.calls if "These attempts failed:" in call.user]
    assert all(f"at most {rate} edit" in prompt for rate, prompt in zip(rates, prompts, strict=True))


async def test_training_needs_an_optimizer(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=CONFIG)
    async with training.session(here.root, optimizer=False) as session:
        with SkillLock.acquire(session.repo, "topics") as lock, pytest.raises(ConfigError, match="optimizer"):
            await train(session, lock)
    assert here.server.count == 0


async def test_training_needs_an_identity_before_any_call(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=CONFIG)
    here.git("config", "--unset", "user.name")
    here.git("config", "user.useConfigOnly", "true")
    with pytest.raises(RepositoryError, match=r"identity|name"):
        await here.train()
    assert here.server.count == 0


async def test_a_document_with_crlf_keeps_its_line_ends(yard: MakeYard) -> None:
    from support.world import SEED_DOCUMENT

    here = yard(TopicWorld(8, 1, kinds=Kinds(100, 0)), config=CONFIG, document=SEED_DOCUMENT.replace("\n", "\r\n"))
    outcome = await here.train()
    assert outcome.improved
    text = here.text()
    assert text.count("\r\n") == text.count("\n")


async def test_sha256_repositories(yard: MakeYard, tmp_path: object) -> None:
    """The object layer that falls back to git."""
    from pathlib import Path

    here = yard(TopicWorld(4, 1, kinds=Kinds(100, 0)), config=CONFIG)
    other = repos.make_repo(Path(str(tmp_path)) / "sha256", object_format="sha256")
    for name in ("skillgit.yaml", DOCUMENT, *(f"envs/topics/{n}" for n in ("env.yaml", "train.jsonl", "val.jsonl"))):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_bytes((here.root / name).read_bytes())
    env = (other / "envs/topics/env.yaml").read_text().replace(", test: test.jsonl", "")
    (other / "envs/topics/env.yaml").write_text(env)
    repos.git(other, "add", "-A")
    repos.git(other, "commit", "-q", "-m", "Start")
    outcome = await here.train("train.num_epochs=1", start=other)
    assert outcome.improved
    assert len(outcome.best_commit) == 64
    repos.fsck(other)
