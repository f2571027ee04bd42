"""What a commit is and what was measured of it, where training itself makes the case: people's commits, steps that
measured nothing, slow updates, several candidates. Every name and every plain-git disguise: tests/cli/test_show.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from support import training
from support.training import BRANCH, DOCUMENT, SKILL, Yard
from support.world import TopicWorld

from skillgit.config import parse
from skillgit.errors import InterruptedRunError
from skillgit.store.repository import Repository
from skillgit.train.archive import showing
from skillgit.train.archive.showing import Shown

MakeYard = Callable[..., Yard]


def show(here: Yard, text: str) -> Shown:
    settings = parse((here.root / "skillgit.yaml").read_text()).skill(SKILL)
    found = showing.show(Repository.open(here.root), SKILL, settings, text)
    json.dumps(found.to_json())
    return found


async def test_a_persons_commit_that_a_run_has_measured(yard: MakeYard) -> None:
    """It is found by the note that the run left on it; those before it have no measurement of their own."""
    world = TopicWorld(4, 1)
    here = yard(world, config=training.configuration(train="{num_epochs: 1, batch_size: 4}"))
    await here.train()
    first = here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nA word.\n"}, "One word")
    assert (show(here, first).kind, show(here, first).measured) == ("person", None)
    text = world.perfect_document().replace(world.rule(next(iter(world.codes))), "")
    last = here.commit_on(BRANCH, {DOCUMENT: text}, "All but one")
    await here.train("train.num_epochs=2")
    found = show(here, last)
    baseline = next(record for record in here.steps if record.document == here.git("rev-parse", f"{last}:{DOCUMENT}"))
    assert found.measured is not None
    assert found.measured.score == Fraction(str(baseline.score)) == Fraction(6, 8), "one topic of four is missing"
    assert found.measured.source == "journal"
    assert (show(here, first).measured, show(here, first).entry) == (None, None)


async def test_a_persons_commit_in_the_middle_of_a_run(yard: MakeYard) -> None:
    world = TopicWorld(4, 1)
    config = training.configuration(train="{num_epochs: 3, batch_size: 4}")
    here = yard(world, config=config)
    with pytest.raises(InterruptedRunError):
        await here.train(entries=1)
    text = world.perfect_document().replace(world.rule(next(iter(world.codes))), "")
    oid = here.commit_on(BRANCH, {DOCUMENT: text}, "All but one")
    await here.train()
    human = next(record for record in here.steps if record.kind == "human")
    found = show(here, oid)
    assert found.entry is not None
    assert (found.kind, found.entry.record) == ("human", human)
    assert found.measured is not None
    assert (found.measured.score, found.measured.source) == (Fraction(6, 8), "journal")
    assert found.diff == here.git("diff", f"{oid}^!", "--", DOCUMENT) + "\n"
    assert show(here, found.entry.journal).entry == found.entry


async def test_a_step_that_measured_nothing(yard: MakeYard) -> None:
    """The same candidate twice in a run: the second time nothing is measured, and no commit is left."""

    class Stubborn(TopicWorld):
        def propose(self, prompt: str) -> str:
            edits = [{"op": "append", "content": "- Be kind.", "reason": "", "support": 1}]
            return json.dumps({"reasoning": "", "edits": edits})

    here = yard(Stubborn(4, 1), config=training.configuration(train="{num_epochs: 1, batch_size: 4}"))
    await here.train()
    assert [step.decision for step in here.steps] == ["baseline", "reject", "none"]
    found = show(here, "2")
    assert (found.commit, found.measured, found.kind) == (None, None, "step")
    assert found.to_json()["verdict"]["reason"] == "the candidate was rejected earlier in this run"
    assert "+- Be kind." in found.diff
    rejected = show(here, "1")
    assert rejected.to_json()["verdict"]["decision"] == "reject"
    assert rejected.edits[0]["commit"] == here.steps[1].commits[0]
    assert [flip.task for flip in rejected.flips] == here.steps[1].gained + here.steps[1].lost
