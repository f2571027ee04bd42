"""A person's commit is noted with the score that the journal has of it, and with no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import many, training
from support.training import BRANCH, DOCUMENT, Yard
from support.truth import share
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import InterruptedRunError, RefMovedError
from skillgit.train import adopting

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 1, batch_size: 4}", optimizer="{learning_rate: 1}")


async def halfway(yard: MakeYard) -> tuple[Yard, str]:
    """A run that was stopped after a step, and then a person's commit of a document with one code."""
    here = yard(TopicWorld(8, 1, kinds=Kinds(100, 0)), config=CONFIG)
    with pytest.raises(InterruptedRunError):
        await here.train(entries=1)
    topic = next(iter(here.world.codes))
    return here, here.commit_on(BRANCH, {DOCUMENT: f"{SEED_DOCUMENT}\n{here.world.rule(topic)}\n"})


async def test_the_note_says_what_the_journal_says(yard: MakeYard) -> None:
    here, commit = await halfway(yard)
    await here.train()
    human = next(step for step in here.steps if step.kind == "human")
    ((about, fact),) = many.note_lines(here.root)
    assert about == commit
    truth = share(here.world, here.text(commit))
    assert fact == {
        "kind": "human",
        "run": training.journal(here.root).info.run,
        "step": human.step,
        "split": "val",
        "hard": f"{truth.numerator}/{truth.denominator}",
        "digest": training.journal(here.root).state.val,
        "target": "openai/sim",
    }
    assert human.score == fact["hard"]


async def test_a_run_that_was_killed_before_it_noted_notes_it_as_it_goes_on(
    yard: MakeYard, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, commit = await halfway(yard)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(adopting, "add_note", killed)
        with pytest.raises(KeyboardInterrupt):
            await here.train()
    assert here.steps[-1].kind == "human"
    assert many.note_lines(here.root) == []
    await here.train()
    assert [about for about, _ in many.note_lines(here.root)] == [commit]
    await here.train()  # and only once
    assert len(many.note_lines(here.root)) == 1


async def test_what_the_journal_refused_is_not_noted(yard: MakeYard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has taken the run on, without a common lock."""
    here, _ = await halfway(yard)

    async def refused(*_: object) -> None:
        raise RefMovedError("the journal was moved")

    with monkeypatch.context() as patch:
        patch.setattr(adopting, "record_event", refused)
        with pytest.raises(RefMovedError):
            await here.train()
    assert many.note_lines(here.root) == []
