"""What `status` says of the base, without measuring, is what a merge then does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import repos
from support.merging import CONFIG, LONG, bring
from support.training import BEST, BEST_REF, DOCUMENT, Yard
from support.world import Kinds, TopicWorld

from skillgit.errors import ConflictError, RefusedError
from skillgit.store.repository import Repository
from skillgit.train.archive.on_base import State, on_base

MakeYard = Callable[..., Yard]


def foretold(here: Yard) -> State:
    """What status says; it makes no call, and no object."""
    asked, before = here.server.count, here.git("count-objects", "-v")
    found = on_base(
        Repository.open(here.root), DOCUMENT, here.git("rev-parse", "main"), here.git("rev-parse", BEST_REF)
    )
    assert (here.server.count, here.git("count-objects", "-v")) == (asked, before)
    return found


async def refused(here: Yard) -> str:
    before = here.refs()
    with pytest.raises(RefusedError) as caught:
        await bring(here.root)
    assert here.refs() == before
    return f"{caught.value.message}; {caught.value.mend}"


async def test_a_merge_and_people_on_top_of_it(trained: Yard) -> None:
    assert foretold(trained) == "behind"
    assert (await bring(trained.root)).commit is not None
    assert foretold(trained) == "best"
    assert (await bring(trained.root)).commit is None
    best = trained.text("main")
    repos.commit(trained.root, {DOCUMENT: best + "\nA person's line.\n"}, "By hand")
    assert foretold(trained) == "person"
    assert "train again: it starts from their document" in await refused(trained)
    repos.commit(trained.root, {DOCUMENT: best, BEST: "Mine.\n"}, "Another copy")
    assert foretold(trained) == "copy"
    assert (await bring(trained.root)).commit is not None
    assert foretold(trained) == "best"


async def test_a_merge_with_people_s_changes_is_done_once(trained: Yard) -> None:
    repos.commit(trained.root, {DOCUMENT: trained.text("main").replace("First things", "The first things")}, "Reword")
    assert foretold(trained) == "behind"
    first = await bring(trained.root)
    assert first.verdict is not None
    assert foretold(trained) == "merged"
    again = await bring(trained.root)
    assert (again.commit, again.with_changes) == (None, True)


async def test_a_conflict_is_something_to_merge(trained: Yard) -> None:
    repos.commit(trained.root, {DOCUMENT: LONG + "- another line at the same place\n"}, "Conflict")
    assert foretold(trained) == "behind"
    with pytest.raises(ConflictError):
        await bring(trained.root)


async def test_people_who_took_the_best_over_by_hand_and_went_on(trained: Yard) -> None:
    text = trained.text(BEST_REF).replace("First things", "The first things")
    repos.commit(trained.root, {DOCUMENT: text}, "By hand")
    assert foretold(trained) == "person"
    assert "training has found nothing better since" in await refused(trained)


async def test_a_training_that_found_nothing(yard: MakeYard) -> None:
    here = yard(TopicWorld(8, 1, kinds=Kinds(0, 0)), config=CONFIG, document=LONG)
    await here.train()
    assert foretold(here) == "best"
    assert (await bring(here.root)).commit is None
    repos.commit(here.root, {DOCUMENT: LONG + "\nA person's line.\n"}, "By hand")
    assert foretold(here) == "person"
    assert "train again: it starts from their document" in await refused(here)


async def test_a_document_that_is_gone(trained: Yard) -> None:
    trained.git("rm", "-q", DOCUMENT)
    trained.git("commit", "-q", "-m", "Gone")
    assert foretold(trained) == "gone"
    assert "it was deleted or renamed on one side" in await refused(trained)
