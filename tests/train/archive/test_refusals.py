"""What is refused before anything moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import training
from support.server import Call
from support.training import BRANCH, DOCUMENT, Meddler, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.errors import DocumentError, RefusedError

MakeYard = Callable[..., Yard]
ONE_EPOCH = training.configuration(train="{num_epochs: 1, batch_size: 8}")
RIGHT = Kinds(100, 0)


def in_gate(call: Call) -> bool:
    """A val attempt with a candidate."""
    return "\n- " in call.system and not training.is_reflection(call)


async def test_a_branch_that_is_checked_out_while_training_runs_is_left_alone(yard: MakeYard) -> None:
    world = TopicWorld(8, 1, kinds=RIGHT)
    meddler = Meddler(world, in_gate)
    here = yard(world, responder=meddler, config=ONE_EPOCH)
    elsewhere = here.root.parent / "elsewhere"
    meddler.act = lambda: here.git("worktree", "add", "-q", str(elsewhere), "skill/topics")
    tip = here.git("rev-parse", "main")
    with pytest.raises(RefusedError, match="is checked out at"):
        await here.train()
    assert here.refs(BRANCH)[BRANCH] == tip
    assert training.repos.git(elsewhere, "status", "--porcelain") == ""
    # Once it is free again, the run goes on with what was paid for.
    here.git("worktree", "remove", str(elsewhere))
    asked = here.server.count
    assert (await here.train()).improved
    assert here.server.count - asked < asked


@pytest.mark.parametrize("ref", [BRANCH, "refs/skillgit/best/topics"])
async def test_a_symbolic_ref_is_not_looked_through(yard: MakeYard, ref: str) -> None:
    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=ONE_EPOCH)
    here.git("symbolic-ref", ref, "refs/heads/main")
    main = here.git("rev-parse", "main")
    with pytest.raises(RefusedError):
        await here.train()
    assert here.git("rev-parse", "main") == main
    assert here.server.count == 0


@pytest.mark.parametrize("tag", ["skill", "skill/topics"])
async def test_a_tag_in_the_way_is_named_before_any_call(yard: MakeYard, tag: str) -> None:
    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=ONE_EPOCH)
    here.git("tag", tag)
    with pytest.raises(RefusedError, match=rf"refs/tags/{tag} is in the way .*rename that tag"):
        await here.train()
    assert here.server.count == 0


async def test_a_person_who_breaks_a_region_stops_the_run(yard: MakeYard) -> None:
    """Not a step is spent on a document that no edit can apply to."""
    world = TopicWorld(8, 1, kinds=RIGHT)
    meddler = Meddler(world, in_gate)
    here = yard(world, responder=meddler, config=ONE_EPOCH)
    half = SEED_DOCUMENT + "\n<!-- SLOW_UPDATE_START -->\nhalf\n"
    meddler.act = lambda: here.commit_on(BRANCH, {DOCUMENT: half})
    with pytest.raises(DocumentError, match="no edit can apply"):
        await here.train()


async def test_a_run_begun_with_the_clock_set_back_is_the_newest(
    yard: MakeYard, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime as clock

    from skillgit.train import start

    class Past(clock.datetime):
        @classmethod
        def now(cls, tz: clock.tzinfo | None = None) -> Past:
            return cls(2020, 1, 1, tzinfo=tz)

    here = yard(TopicWorld(4, 1, kinds=RIGHT), config=ONE_EPOCH)
    first = await here.train()
    monkeypatch.setattr(start, "datetime", Past)
    second = await here.train(fresh=True)
    assert second.run > first.run
    assert training.journal(here.root).info.run == second.run
