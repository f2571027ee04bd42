"""A run between steps: people's commits, ends, tags."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support import repos, training
from support.scripted import Scripted, kind_of, patch
from support.server import Answer, Call
from support.training import BEST_REF, BRANCH, DOCUMENT, Meddler, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import DocumentError, MeasurementError, ModelError
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.events import RunFinished

MakeYard = Callable[..., Yard]
RIGHT, WRONG = Kinds(100, 0), Kinds(0, 100)
SHORT = training.configuration(train="{num_epochs: 1, batch_size: 8}")


async def test_a_persons_commit_between_steps_is_the_incumbent_though_it_is_worse(yard: MakeYard) -> None:
    """Best stays what it was."""
    here = yard(TopicWorld(8, 1, kinds=RIGHT), config=training.configuration(train="{num_epochs: 2, batch_size: 16}"))
    await here.train("train.num_epochs=1")
    best, tip = here.refs(BEST_REF)[BEST_REF], here.refs(BRANCH)[BRANCH]
    assert best == tip
    commit = here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nBe brief.\n"})
    here.world.kinds = WRONG
    await here.train()
    assert here.steps[0].score == "0/1"
    assert here.steps[1].decision == "reject"
    assert here.git("rev-parse", f"{here.steps[1].commits[0]}^") == commit
    assert here.refs(BRANCH)[BRANCH] == commit
    assert here.refs(BEST_REF)[BEST_REF] == best
    journal = training.journal(here.root)
    assert set(journal.scores) == {journal.state.incumbent, journal.state.best}


async def test_in_a_run_a_persons_tie_does_not_move_best(yard: MakeYard) -> None:
    here_world = TopicWorld(8, 1, kinds=WRONG)
    meddler = Meddler(here_world, training.is_reflection)
    here = yard(here_world, responder=meddler, config=SHORT)
    base = here.git("rev-parse", "main")
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nJust words.\n"})
    await here.train()
    assert "human" in [step.kind for step in here.steps]
    assert here.refs(BEST_REF)[BEST_REF] == base
    assert here.refs(BRANCH)[BRANCH] != base


async def test_a_note_says_what_a_persons_commit_scored(yard: MakeYard) -> None:
    here_world = TopicWorld(8, 1, kinds=RIGHT)
    meddler = Meddler(here_world, training.is_reflection)
    here = yard(here_world, responder=meddler, config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    theirs = SEED_DOCUMENT + "\n" + here_world.rule(next(iter(here_world.codes))) + "\n"
    commits: list[str] = []
    meddler.act = lambda: commits.append(here.commit_on(BRANCH, {DOCUMENT: theirs}))
    await here.train()
    note = json.loads(here.git("notes", "--ref=skillgit", "show", commits[0]))
    journal = training.journal(here.root)
    assert note == {
        "kind": "human",
        "run": journal.info.run,
        "step": 0,
        "split": "val",
        "hard": "1/8",
        "digest": journal.state.val,
        "target": "openai/sim",
    }
    human = here.steps[1]
    assert (human.kind, human.score) == ("human", "1/8")
    # It scores higher than what was best until then.
    assert (
        json.loads(here.git("show", f"refs/skillgit/runs/topics/{journal.info.run}~1:state.json"))["best_commit"]
        == commits[0]
    )


async def test_a_persons_commit_that_breaks_the_document_stops_the_run(yard: MakeYard) -> None:
    here_world = TopicWorld(8, 1, kinds=RIGHT)
    meddler = Meddler(here_world, training.is_reflection)
    here = yard(here_world, responder=meddler, config=SHORT)
    done: list[str] = []
    meddler.act = lambda: done.append(here.commit_on(BRANCH, {DOCUMENT: "---\nname: [\n---\n"}))
    with pytest.raises(DocumentError, match=DOCUMENT):
        await here.train()
    assert here.refs(BRANCH)[BRANCH] == done[0]
    assert training.journal(here.root).state.status == "running"
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nMended.\n"})
    assert (await here.train()).accepted
    assert "Mended." in here.text()


async def test_val_at_its_ceiling_ends_before_any_step(yard: MakeYard) -> None:
    here_world = TopicWorld(4, 1)
    here = yard(here_world, config=SHORT, document=here_world.perfect_document())
    outcome = await here.train()
    assert (outcome.reason, outcome.steps, outcome.improved) == ("val is at its ceiling", 0, False)
    assert here.server.count == 8
    assert [step.decision for step in here.steps] == ["baseline"]
    assert here.refs("refs/tags/") == {}


async def test_val_at_its_ceiling_ends_in_mid_epoch_with_a_tag(yard: MakeYard) -> None:
    here = yard(TopicWorld(2, 1, kinds=RIGHT), config=training.configuration(train="{num_epochs: 3, batch_size: 4}"))
    outcome = await here.train()
    assert outcome.reason == "val is at its ceiling"
    assert [step.decision for step in here.steps] == ["baseline", "accept-best"]
    (tag,) = here.refs("refs/tags/")
    assert here.git("rev-parse", f"{tag}^{{commit}}") == here.refs(BRANCH)[BRANCH]
    finished = [event for event in here.watcher.events if isinstance(event, RunFinished)]
    assert [(event.reason, event.steps, event.accepted, event.rejected) for event in finished] == [
        ("val is at its ceiling", 1, 1, 0)
    ]


async def test_epochs_are_tagged(yard: MakeYard) -> None:
    here = yard(training.mixed(), config=training.configuration())
    await here.train()
    run = training.journal(here.root).info.run
    tags = here.refs("refs/tags/")
    assert list(tags) == [f"refs/tags/skill/topics/{run}/epoch-{n:02d}" for n in (1, 2)]
    for number, tag in enumerate(tags, start=1):
        assert here.git("cat-file", "-t", tag) == "tag"
        records = [step for step in here.steps if step.epoch == number and step.kind == "step"]
        accepted = [step.commits[-1] for step in here.steps if step.epoch <= number and "accept" in step.decision]
        assert here.git("rev-parse", f"{tag}^{{commit}}") == (accepted or [here.git("rev-parse", "main")])[-1]
        text = here.git("for-each-ref", "--format=%(contents)", tag)
        for step in records:
            assert f"\n{step.step:>4}  {step.decision}" in text
        trailers = here.git("interpret-trailers", "--no-divider", "--parse", input=text).splitlines()
        assert f"Skill-Epoch: {number}" in trailers
        assert f"Skill-Best: {here.git('rev-parse', f'{tag}^{{commit}}')}" in trailers
    repos.fsck(here.root)


async def test_a_baseline_with_too_many_errors_records_nothing(yard: MakeYard) -> None:
    here_world = TopicWorld(8, 1)
    broken = {row["input"] for row in here_world.tasks["val"][:4]}

    def respond(call: Call) -> Answer:
        return Answer(status=500, body=b"{}") if call.user in broken else here_world(call)

    here = yard(here_world, responder=respond, config=SHORT)
    with pytest.raises(MeasurementError, match="4 of 16 val attempts failed"):
        await here.train()
    assert here.refs("refs/skillgit/") == {}
    asked = here.server.count
    broken.clear()
    await here.train()
    assert here.steps[0].cost["calls"] == 4
    assert here.server.count > asked


TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
ASKED = ("failures", "one_shot")


class Moody(Scripted):
    """An optimizer whose calls that ask for a change bring nothing usable, where `broken` says so of their number."""

    def __init__(
        self, world: TopicWorld, broken: Callable[[int], bool], unfit: str = "", **replies: Callable[[Call], Any]
    ) -> None:
        super().__init__(world, **replies)
        self.broken, self.unfit, self.units = broken, unfit, 0

    def __call__(self, call: Call) -> Answer:
        if kind_of(call) not in ASKED:
            return super().__call__(call)
        if len(call.body["messages"]) == 1:  # not a firmer retry
            self.units += 1
        return Answer(self.unfit or f"I cannot: {TOKEN}") if self.broken(self.units) else super().__call__(call)


def useless(_: Call) -> Any:
    return patch("- Be brief.")


SHORT_RUNS = {
    "one-shot": ("train.one_shot=true",),
    "one-step": ("train.batch_size=16", "gradient.minibatch_size=16"),
    "two-steps": ("train.batch_size=8", "gradient.minibatch_size=16"),
    "one-step-both": ("train.batch_size=16", "gradient.minibatch_size=16", "gradient.proposer=both"),
}


@pytest.mark.parametrize("chosen", SHORT_RUNS.values(), ids=SHORT_RUNS)
async def test_a_short_run_does_not_end_on_a_broken_optimizer(yard: MakeYard, chosen: tuple[str, ...]) -> None:
    """Too few calls for three in a row; broken is never "no improvement" all the same, and the command goes on."""
    world = TopicWorld(8, 1, kinds=RIGHT)
    moody = Moody(world, lambda _: True)
    here = yard(world, responder=moody, config=SHORT)
    for stops in (1, 2):
        with pytest.raises(ModelError, match=r"no usable reply (1 time|2 times) in a row") as caught:
            await here.train(*chosen)
        assert caught.value.exit_code == 3
        # What it said is where the error says.
        ref, _, path = str(caught.value).split("git show ")[1].split("`")[0].partition(":")
        entry = json.loads(here.git("show", f"{ref}:{path}").splitlines()[0])
        assert entry["reply"].startswith("I cannot: ")
        assert entry["problem"] in str(caught.value)
        assert TOKEN not in here.git("show", f"{ref}:{path}")
        state = training.journal(here.root).state
        assert state.status == "running"
        assert here.git("log", "-1", "--format=%s", ref) == f"skillgit evidence: topics step {state.step + 1}"
        assert int(here.git("rev-list", "--count", ref)) == len(here.steps) + stops
    written, attempts = len(here.steps), len(moody.of("target"))
    moody.broken = lambda _: False
    outcome = await here.train(*chosen)
    assert (outcome.finished, outcome.accepted) == (True, 1)
    assert len(here.steps) == written + 1
    assert len(moody.of("target")) - attempts <= 16, "only the gate's: no attempt of the broken step is made again"
    repos.fsck(here.root)


@pytest.mark.parametrize(
    ("broken", "ends"),
    [
        ("1..", True), ("..4", True), (".34", False), ("123", False), ("12.", True), ("1.4", True),
        ("1.34", False), ("12.4", True),
    ],
)  # fmt: skip
async def test_what_goes_before_the_last_step_decides(yard: MakeYard, broken: str, ends: bool) -> None:
    """One reply that cannot be used among others is chance; two in a row at the end, or nothing else ever, is not."""
    world = TopicWorld(8, 1, kinds=WRONG)
    moody = Moody(world, lambda number: str(number) in broken, failures=useless)
    here = yard(world, responder=moody, config=training.configuration(gradient="{minibatch_size: 16}"))
    chosen = "train.num_epochs=1", "train.batch_size=4"
    if ends:
        assert (await here.train(*chosen)).reason == "all epochs are done"
        assert any("could not be used" in note for note in here.watcher.notes) is (broken != "...")
    else:
        with pytest.raises(ModelError, match="in a row"):
            await here.train(*chosen)


async def test_steps_that_ask_nothing_and_replies_that_do_not_fit_are_no_sign(yard: MakeYard) -> None:
    world = TopicWorld(8, 1, kinds=RIGHT)
    unfit = json.dumps({"reasoning": "r", "new_skill": "word " * 5000, "change_summary": ["c"]})
    here = yard(world, responder=Moody(world, lambda _: True, unfit), config=SHORT)
    outcome = await here.train("train.one_shot=true", "optimizer.max_growth=2")
    assert outcome.reason == "all epochs are done"
    silent = "gradient.proposer=examples", "train.batch_size=16"
    assert (await here.train(*silent)).reason == "all epochs are done"


async def test_patience_does_not_count_steps_of_a_broken_optimizer(yard: MakeYard) -> None:
    world = TopicWorld(8, 1, kinds=RIGHT)
    moody = Moody(world, lambda number: number in (1, 2))
    here = yard(world, responder=moody, config=training.configuration(gradient="{minibatch_size: 16}"))
    outcome = await here.train("train.num_epochs=1", "train.batch_size=4", "train.patience=1")
    assert outcome.accepted
    assert [step.decision for step in here.steps[:3]] == ["baseline", "none", "none"]


async def test_evidence_of_what_stopped_a_step_hides_nothing(yard: MakeYard) -> None:
    """Patterns and memory are read past it; the step's own evidence comes on top of it."""
    world = TopicWorld(8, 1, kinds=WRONG)
    moody = Moody(world, lambda number: number > 4, failures=useless)
    here = yard(world, responder=moody, config=training.configuration(gradient="{minibatch_size: 1}"))
    chosen = "train.num_epochs=1", "train.batch_size=4"
    with pytest.raises(ModelError, match="in a row"):
        await here.train(*chosen)
    evidence = next(iter(here.refs("refs/skillgit/evidence/")))
    repo = Repository.open(here.root)
    known = history.patterns(repo, evidence, 1)
    assert known
    moody.broken = lambda _: False
    await here.train(*chosen)
    subjects = here.git("log", "--reverse", "--format=%s", evidence).splitlines()
    assert [int(subject.split()[-1]) for subject in subjects] == [0, 1, 2, 2, 3, 4]
    assert history.patterns(repo, evidence, 1)[: len(known)] == known
    assert len(history.patterns(repo, evidence, 2)) == len(history.patterns(repo, evidence, 1)) - len(known)
