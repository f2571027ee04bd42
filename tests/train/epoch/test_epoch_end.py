"""The end of an epoch: when it has a look back, and what becomes of it where somebody or something comes between.

What guidance and notes do to a run stands in test_options_epoch_end.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from support import repos, training
from support.epochs import EpochWorld
from support.histories import differences, story
from support.scripted import Scripted, patch, skill
from support.server import Answer, Call, error, serve
from support.training import BEST_REF, BRANCH, DOCUMENT, Meddler, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import ModelRefusedError
from skillgit.store.locks import SkillLock
from skillgit.train.epoch.epoch_end import is_due
from skillgit.train.events import StageStarted
from skillgit.train.loop import train
from skillgit.train.run import ALL_DONE
from skillgit.train.start import begin

MakeYard = Callable[..., Yard]
START = "<!-- SLOW_UPDATE_START -->"
BOTH = "{use_slow_update: true, use_meta_skill: true}"


class Lessons(Scripted):
    """One topic more is learned in each step, as long as there are lessons; guidance is about the last topic."""

    def __init__(self, topics: int, lessons: int = 99) -> None:
        super().__init__(TopicWorld(topics, 1), failures=self.lesson)
        self.topics, self.lessons = list(self.world.codes), lessons
        self.replies["guidance"] = lambda _: {"guidance": self.world.rule(self.topics[-1])}

    def lesson(self, call: Call) -> object:
        known = skill(call).count("\n- ")
        wrong = f"- Be polite, all {len(self.asked)} times."
        return patch(self.world.rule(self.topics[known]) if known < self.lessons else wrong)


def start(yard: MakeYard, models: Lessons, *, epochs: int, more: str = "", responder: object = None) -> Yard:
    """One step an epoch."""
    config = training.configuration(
        train=f"{{num_epochs: {epochs}, batch_size: 64{more}}}",
        gradient="{minibatch_size: 64, failure_only: true}",
        optimizer=BOTH,
    )
    return yard(models.world, responder=responder or models, config=config)


def kinds(here: Yard) -> list[tuple[str, int, str]]:
    return [(step.kind, step.epoch, step.decision) for step in here.steps]


def tags(here: Yard) -> list[str]:
    """The epochs that have a tag."""
    return [ref.rpartition("/")[2] for ref in here.refs("refs/tags/")]


def made(here: Yard) -> dict[str, int]:
    """How often the run's journal moved each tag; each time it has to be new."""
    found: dict[str, int] = {}
    for step in here.steps:
        for ref, old, _ in step.refs:
            if str(ref).startswith("refs/tags/"):
                assert old is None
                name = str(ref).rpartition("/")[2]
                found[name] = found.get(name, 0) + 1
    return found


def compared(here: Yard) -> int:
    """How often two documents were compared."""
    return sum(isinstance(event, StageStarted) and event.stage == "compare" for event in here.watcher.events)


async def test_from_the_second_epoch_on_and_in_the_last_one_too(yard: MakeYard) -> None:
    models = Lessons(8)
    here = start(yard, models, epochs=3)
    outcome = await here.train()
    assert kinds(here)[1:] == [
        ("step", 1, "accept-best"),
        ("step", 2, "accept-best"),
        ("slow-update", 2, "accept-best"),
        ("step", 3, "accept-best"),
        ("slow-update", 3, "none"),  # the guidance stays as it is
    ]
    assert here.steps[-1].reason == "no new guidance was proposed"
    assert (outcome.reason, outcome.finished, outcome.steps) == (ALL_DONE, True, 3)
    assert tags(here) == ["epoch-01", "epoch-02", "epoch-03"]
    assert made(here) == {"epoch-01": 1, "epoch-02": 1, "epoch-03": 1}
    assert len(models.of("guidance")) == len(models.of("notes")) == 2
    assert training.journal(here.root).state.closing is False


async def test_an_epoch_that_changed_nothing_has_none(yard: MakeYard) -> None:
    models = Lessons(8, lessons=2)
    here = start(yard, models, epochs=4)
    await here.train()
    assert [(kind, epoch) for kind, epoch, _ in kinds(here)[1:]] == [
        ("step", 1),
        ("step", 2),
        ("slow-update", 2),
        ("step", 3),
        # The guidance of epoch 2 is in the document that epoch 3 began with: nothing has changed since.
        ("step", 4),
    ]
    assert compared(here) == 1
    assert tags(here) == ["epoch-01", "epoch-02", "epoch-03", "epoch-04"]


@pytest.mark.parametrize(
    ("topics", "lessons", "more", "reason"),
    [
        (2, 99, "", "val is at its ceiling"),
        (8, 1, ", patience: 1", "no candidate was accepted in 1 step (patience 1)"),
    ],
    ids=["ceiling", "patience"],
)
@pytest.mark.parametrize("epochs", [2, 3], ids=["in the last step", "before it"])
async def test_a_run_that_is_over_before_its_time_has_none(
    yard: MakeYard, topics: int, lessons: int, more: str, reason: str, epochs: int
) -> None:
    models = Lessons(topics, lessons)
    here = start(yard, models, epochs=epochs, more=more)
    outcome = await here.train()
    assert outcome.reason == reason
    assert [(kind, epoch) for kind, epoch, _ in kinds(here)[1:]] == [("step", 1), ("step", 2)]
    assert compared(here) == 0
    assert tags(here) == ["epoch-01", "epoch-02"]


async def test_where_no_compared_task_fails_nobody_is_asked(yard: MakeYard) -> None:
    """Train is learned wholly, val is not: it has a topic that train lacks."""
    models = Lessons(3)
    rest = models.topics[2]
    models.world.tasks["train"] = [r for r in models.world.tasks["train"] if rest not in r["input"]]
    here = start(yard, models, epochs=2)
    await here.train()
    assert here.steps[-1].kind == "slow-update"
    assert here.steps[-1].reason == "no compared task fails with this document"
    assert models.of("guidance", "notes") == []


async def test_a_call_that_fails_leaves_the_other_not_behind(yard: MakeYard) -> None:
    models = Lessons(8)
    models.replies["guidance"] = lambda _: error(401, "not now")
    models.replies["notes"] = lambda _: Answer(fault="hang")
    here = start(yard, models, epochs=2)
    before = asyncio.all_tasks()
    async with training.session(here.root) as opened:
        with SkillLock.acquire(opened.repo, training.SKILL) as lock:
            with pytest.raises(ModelRefusedError, match="not now"):
                await train(opened, lock)
            assert [task for task in asyncio.all_tasks() - before if not task.done()] == []


@pytest.mark.parametrize("stage", ["slow_update", "meta_memory", "slow gate"])
async def test_a_run_that_stopped_in_between_ends_the_epoch_first(
    yard: MakeYard, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """The last step is in the journal, the epoch's end is not: the same command begins with it, and asks nothing again
    that was answered."""
    world = EpochWorld(8, 5, kinds=Kinds(45, 35))
    config = training.configuration(
        train="{num_epochs: 3, batch_size: 8}",
        gradient="{minibatch_size: 3}",
        optimizer="{use_slow_update: true, use_meta_skill: true, slow_update_samples: 10}",
        models="{target: openai/sim, optimizer: openai/sim}",
    )
    broken = [True]

    def responder(call: Call) -> Answer:
        now = "slow gate" if START in call.system and world.stage(call) == "val" else world.stage(call)
        return error(401, "not now") if now == stage and broken[0] else world(call)

    here = yard(world, responder=responder, config=config)
    with pytest.raises(ModelRefusedError, match="not now"):
        await here.train()
    state = training.journal(here.root).state
    assert (state.closing, state.status, state.epoch) == (True, "running", 2)
    assert here.steps[-1].kind == "step"
    assert tags(here) == ["epoch-01"]
    before, calls = len(here.steps), here.server.count
    broken[0] = False
    await here.train()
    assert (here.steps[before].kind, here.steps[before].step) == ("slow-update", state.step)
    again = [call.body for call in here.server.calls[calls:]]
    assert [call for call in here.server.calls[:calls] if call.body in again and world.stage(call) == "train"] == []
    assert made(here) == dict.fromkeys(tags(here), 1)
    with serve(world) as server:
        training.point_at(monkeypatch, server.env())
        alone = training.make(here.root.parent / "alone", world, config=config)
        await training.run(alone)
    assert differences(story(alone), story(here.root)) == []


def in_slow_gate(call: Call) -> bool:
    return START in call.system and "<attempt" not in call.user and "<pair" not in call.user


def in_guidance(call: Call) -> bool:
    return "Write the guidance for the next round." in call.user


@pytest.mark.parametrize("moment", [in_guidance, in_slow_gate], ids=["call", "gate"])
@pytest.mark.parametrize("epochs", [2, 3], ids=["last", "middle"])
async def test_a_person_commits_during_it(yard: MakeYard, moment: Callable[[Call], bool], epochs: int) -> None:
    """Their document is the incumbent; the guidance goes on top of it and is gated again."""
    models = Lessons(8)
    meddler = Meddler(models, moment)  # type: ignore[arg-type]
    here = start(yard, models, epochs=epochs, responder=meddler)
    theirs = SEED_DOCUMENT.replace("Answer with the code.", "Answer with the code, please.")
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: theirs})
    await here.train()
    end = [("step", 2), ("human", 2), ("slow-update", 2)]
    assert [(kind, epoch) for kind, epoch, _ in kinds(here)[2:5]] == end
    human, slow = here.steps[3], here.steps[4]
    assert slow.document_before == human.document == here.git("rev-parse", f"{slow.commits[0]}~1:{DOCUMENT}")
    assert slow.decision == "accept"  # above their document, not above the best one
    text = here.text(slow.commits[-1])
    assert "please" in text
    assert models.world.rule(models.topics[-1]) in text
    if epochs == 2:
        assert here.text(BEST_REF) == here.text(here.steps[2].commits[-1])
    assert made(here) == dict.fromkeys([f"epoch-0{n + 1}" for n in range(epochs)], 1)
    assert len(models.of("guidance")) == epochs - 1
    repos.fsck(here.root)


@pytest.mark.parametrize("moment", [in_guidance, in_slow_gate], ids=["call", "gate"])
@pytest.mark.parametrize("gated", ["true", "false"], ids=["gated", "forced"])
@pytest.mark.parametrize("had", [True, False], ids=["changed", "new"])
async def test_guidance_that_a_person_writes_during_it_stays(
    yard: MakeYard, moment: Callable[[Call], bool], gated: str, had: bool
) -> None:
    """What was asked for took other guidance, or none, as what was there: it is dropped, even where it is forced."""
    models = Lessons(8)
    meddler = Meddler(models, moment)  # type: ignore[arg-type]
    region = f"\n{START}\nFIRST\n<!-- SLOW_UPDATE_END -->\n"
    here = start(yard, models, epochs=2, responder=meddler)
    if had:
        repos.commit(here.root, {DOCUMENT: SEED_DOCUMENT + region}, "Guidance")
        meddler_moment = moment
        if moment is in_slow_gate:
            rule = models.world.rule(models.topics[-1])
            meddler_moment = lambda call: in_slow_gate(call) and rule in call.system  # noqa: E731
        meddler._moment = meddler_moment
    theirs = SEED_DOCUMENT + region.replace("FIRST", "THEIRS")
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: theirs})
    await here.train(f"evaluation.slow_update_gate_with_selection={gated}")
    assert [kind for kind, _, _ in kinds(here)[-2:]] == ["human", "slow-update"]
    slow = here.steps[-1]
    assert (slow.decision, slow.commits) == ("none", [])
    assert slow.reason == "somebody changed the guidance while it was asked for"
    assert here.text() == theirs


async def test_a_person_commits_between_the_last_step_and_its_end(yard: MakeYard) -> None:
    """All steps are done, and yet the run is not: the epoch's end is due."""
    models = Lessons(8)
    broken = [True]

    def responder(call: Call) -> Answer:
        return error(401, "not now") if broken[0] and in_guidance(call) else models(call)

    here = start(yard, models, epochs=2, responder=responder)
    with pytest.raises(ModelRefusedError):
        await here.train()
    here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nThanks.\n"})
    broken[0] = False
    outcome = await here.train()
    assert [kind for kind, _, _ in kinds(here)[2:]] == ["step", "human", "slow-update"]
    assert outcome.reason == ALL_DONE
    assert tags(here) == ["epoch-01", "epoch-02"]
    assert "Thanks." in here.text()
    assert START in here.text()


async def test_a_person_who_ends_the_run_ends_its_epoch_too(yard: MakeYard) -> None:
    models = Lessons(8)
    meddler = Meddler(models, in_slow_gate)  # type: ignore[arg-type]
    here = start(yard, models, epochs=3, responder=meddler)
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: models.world.perfect_document()})
    outcome = await here.train()
    assert outcome.reason == "val is at its ceiling"
    assert [kind for kind, _, _ in kinds(here)[1:]] == ["step", "step", "human"]


async def test_due_by_the_settings(yard: MakeYard) -> None:
    """Either of the two is reason enough, a compact form or one shot is none."""
    here = start(yard, Lessons(8), epochs=2)
    cases = {
        (): True,
        ("optimizer.use_slow_update=false",): True,
        ("optimizer.use_meta_skill=false",): True,
        ("optimizer.use_slow_update=false", "optimizer.use_meta_skill=false"): False,
        ("gradient.prompts=compact",): False,
        ("train.one_shot=true",): False,
    }
    for overrides, due in cases.items():
        async with training.session(here.root, overrides=overrides) as opened:
            with SkillLock.acquire(opened.repo, training.SKILL) as lock:
                run = await begin(opened, lock, fresh=True)
        run.state.previous = "0" * 40
        assert is_due(run, run.state) is due, overrides
        run.state.previous = run.state.incumbent
        assert not is_due(run, run.state)
