"""A step, while people work on the branch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import repos, training
from support.server import Call
from support.training import BEST_REF, BRANCH, DOCUMENT, Meddler, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import InterruptedRunError

MakeYard = Callable[..., Yard]
ONE_EPOCH = training.configuration(train="{num_epochs: 1, batch_size: 8}")
RIGHT, WRONG = Kinds(100, 0), Kinds(0, 100)


def world(kinds: Kinds = RIGHT, topics: int = 4) -> TopicWorld:
    return TopicWorld(topics, 1, kinds=kinds)


def in_gate(call: Call) -> bool:
    """A val attempt with a candidate."""
    return "\n- " in call.system and not training.is_reflection(call)


@pytest.mark.parametrize("moment", [training.is_reflection, in_gate], ids=["reflect", "gate"])
async def test_a_person_commits_during_a_step(yard: MakeYard, moment: Callable[[Call], bool]) -> None:
    """Their document is the incumbent; the step's edits are applied to it and gated again."""
    here_world = world(topics=8)
    meddler = Meddler(here_world, moment)
    here = yard(here_world, responder=meddler, config=training.configuration(train="{num_epochs: 1, batch_size: 16}"))
    theirs = SEED_DOCUMENT.replace("Answer with the code.", "Answer with the code, please.")
    commits: list[str] = []
    meddler.act = lambda: commits.append(here.commit_on(BRANCH, {DOCUMENT: theirs, "notes.txt": "hello\n"}))
    await here.train()
    (theirs_commit,) = commits
    assert [step.kind for step in here.steps] == ["baseline", "human", "step"]
    human, step = here.steps[1:]
    assert (human.decision, human.score, human.step) == ("human", "0/1", 0)
    assert human.document == here.git("rev-parse", f"{theirs_commit}:{DOCUMENT}")
    assert step.decision == "accept-best"
    assert step.document_before == human.document
    assert here.git("rev-parse", f"{step.commits[0]}^") == theirs_commit
    assert "please" in here.text()
    assert here.git("show", f"{BRANCH}:notes.txt") == "hello"
    assert any("moved to" in note for note in here.watcher.notes)
    # The step's transcripts and costs stay its own.
    run = training.journal(here.root).info.run
    evidence = f"refs/skillgit/evidence/topics/{run}"
    assert "optimizer.jsonl" in here.git("ls-tree", "--name-only", evidence)
    assert "optimizer.jsonl" not in here.git("ls-tree", "--name-only", f"{evidence}~1")
    assert human.cost["calls"] == 16
    repos.fsck(here.root)


async def test_a_person_rejects_nothing_by_committing_during_a_rejection(yard: MakeYard) -> None:
    """The rejected ref hangs on the tip that it was tried on; their commit is adopted afterwards."""
    here_world = world(WRONG, topics=8)
    meddler = Meddler(here_world, in_gate)
    here = yard(here_world, responder=meddler, config=training.configuration(train="{num_epochs: 1, batch_size: 8}"))
    base = here.git("rev-parse", "main")
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT + "\nThanks.\n"}) and None
    await here.train()
    assert [step.decision for step in here.steps] == ["baseline", "reject", "human", "reject"]
    first, second = here.steps[1], here.steps[3]
    assert here.git("rev-parse", f"{first.commits[0]}^") == base
    assert here.git("rev-parse", f"{second.commits[0]}^") == here.refs(BRANCH)[BRANCH]


async def test_a_person_whose_document_is_perfect_ends_the_run_in_mid_step(yard: MakeYard) -> None:
    here_world = world(topics=8)
    meddler = Meddler(here_world, in_gate)
    here = yard(here_world, responder=meddler, config=training.configuration(train="{num_epochs: 1, batch_size: 8}"))
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: here_world.perfect_document()}) and None
    outcome = await here.train()
    assert outcome.reason == "val is at its ceiling"
    assert [step.decision for step in here.steps] == ["baseline", "human"]
    assert here.refs(BRANCH)[BRANCH] == here.refs(BEST_REF)[BEST_REF]


async def test_a_ref_that_is_in_the_way_is_not_overwritten(yard: MakeYard) -> None:
    """Not even tried again for ever: somebody else made the ref of this very candidate."""
    from skillgit.errors import RefMovedError

    here_world = world(WRONG, topics=8)
    meddler = Meddler(here_world, in_gate)
    here = yard(here_world, responder=meddler, config=ONE_EPOCH)
    base = here.git("rev-parse", "main")

    def take_the_name() -> None:
        run = training.journal(here.root).info.run
        here.git("update-ref", f"refs/skillgit/rejected/topics/{run}/00001-01", base)

    meddler.act = take_the_name
    with pytest.raises(RefMovedError, match="00001-01"):
        await here.train()
    assert list(here.refs("refs/skillgit/rejected/").values()) == [base]


@pytest.mark.parametrize("between", [False, True], ids=["during a step", "between two steps"])
async def test_pareto_parents_do_not_undo_what_a_person_wrote(yard: MakeYard, between: bool) -> None:
    """Older documents of the pool lack their line, so none of them is a parent any more."""
    inner = TopicWorld(8, 1, kinds=Kinds(100, 0))
    reflections = 0

    def third(call: Call) -> bool:
        nonlocal reflections
        reflections += training.is_reflection(call)
        return training.is_reflection(call) and reflections == 3

    meddler = Meddler(inner, third)
    config = training.configuration(
        train="{num_epochs: 2, batch_size: 4, parent: pareto}",
        optimizer="{learning_rate: 1, min_learning_rate: 1}",
    )
    here = yard(inner, responder=meddler, config=config)

    def write() -> None:
        here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nA person wrote this.\n"})

    if between:
        with pytest.raises(InterruptedRunError):
            await here.train(entries=2)
        write()
    else:
        meddler.act = write
    await here.train()
    assert meddler.act is None
    records = here.steps
    human = next(place for place, record in enumerate(records) if record.kind == "human")
    assert any(record.decision.startswith("accept") for record in records[human:])
    assert "A person wrote this." in here.text()
    assert "A person wrote this." in here.text(BEST_REF)
