"""Scoring any revision on any split, and remembering it on the document's blob."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, tzinfo
from fractions import Fraction

import pytest
from support import repos, training
from support.server import Answer, Call, error
from support.training import BEST_REF, BRANCH, DOCUMENT, Yard
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.envs.contract import Split
from skillgit.errors import ConfigError, DocumentError, MeasurementError, RepositoryError
from skillgit.train.scoring.evaluate import Evaluation, evaluate, remember, resolve

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 1, batch_size: 16}")


async def scored(here: Yard, rev: str | None = None, split: Split = "test", *, target: str | None = None) -> Evaluation:
    """What `skillgit eval topics` does."""
    async with training.session(here.root, optimizer=False, target=target) as session:
        found = await evaluate(session, resolve(session, rev), split)
        remember(session, found)
        return found


@pytest.fixture
def here(yard: MakeYard) -> Yard:
    """Eight topics; the document on main knows two of them."""
    world = TopicWorld(8, 1, kinds=Kinds(100, 0))
    document = SEED_DOCUMENT + "\n" + "".join(world.rule(topic) + "\n" for topic in list(world.codes)[:2])
    return yard(world, config=CONFIG, document=document)


async def test_any_split_of_any_revision(here: Yard) -> None:
    base = here.git("rev-parse", "main")
    repos.commit(here.root, {DOCUMENT: here.world.perfect_document()}, "All of them")
    for rev, score in ((base, Fraction(1, 4)), ("main", Fraction(1)), ("HEAD~1", Fraction(1, 4))):
        for split in ("train", "val", "test"):
            found = await scored(here, rev, split)  # type: ignore[arg-type]
            assert (found.hard, found.soft, found.tasks, found.errors) == (score, score, 16, 0)
    assert here.server.count == 2 * 3 * 16  # equal documents are measured once


async def test_notes_are_on_the_documents_blob(here: Yard) -> None:
    found = await scored(here, "main", "test")
    await scored(here, "main", "val", target="openai/other")
    blob = here.git("rev-parse", f"main:{DOCUMENT}")
    notes = [json.loads(line) for line in here.git("notes", "--ref=skillgit", "show", blob).splitlines()]
    assert [(note["split"], note["target"], note["hard"]) for note in notes] == [
        ("test", "openai/sim", "1/4"),
        ("val", "openai/other", "1/4"),
    ]
    assert notes[0] == {**notes[0], "kind": "score", "soft": "1/4", "tasks": 16, "errors": 0, "digest": found.digest}
    assert notes[0]["digest"].startswith("sha256:")
    assert notes[0]["digest"] != notes[1]["digest"]


async def test_a_score_that_is_noted_is_not_noted_again(here: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    async def noted() -> list[tuple[str, str, str]]:
        blob = here.git("rev-parse", f"main:{DOCUMENT}")
        lines = map(json.loads, here.git("notes", "--ref=skillgit", "show", blob).splitlines())
        return [(note["split"], note["hard"], note["at"]) for note in lines]

    found = await scored(here, "main", "test")
    await scored(here, "main", "val")
    first = await noted()
    for day, score in ((2, "1/4"), (3, "1/2"), (4, "1/4")):

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:
                return datetime(2040, 1, day, tzinfo=tz)  # noqa: B023

        monkeypatch.setattr("skillgit.train.scoring.evaluate.datetime", Later)
        async with training.session(here.root, optimizer=False) as session:
            remember(session, replace(found, hard=Fraction(score)))
    # The newest of the same kind counts, also where another split's line came after it; a changed score is news.
    assert await noted() == [
        *first,
        ("test", "1/2", "2040-01-03T00:00:00+00:00"),
        ("test", "1/4", "2040-01-04T00:00:00+00:00"),
    ]
    repos.fsck(here.root)


async def test_which_revision_is_scored(here: Yard) -> None:
    async with training.session(here.root, optimizer=False) as session:
        assert resolve(session, None) == here.git("rev-parse", "main")
    await here.train()
    best = here.refs(BEST_REF)[BEST_REF]
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT})
    async with training.session(here.root, optimizer=False) as session:
        assert resolve(session, None) == best
        assert resolve(session, "skill/topics") == here.refs(BRANCH)[BRANCH]
        here.git("update-ref", "-d", BEST_REF)
        assert resolve(session, None) == here.refs(BRANCH)[BRANCH]
        with pytest.raises(RepositoryError, match="nowhere: no such revision"):
            resolve(session, "nowhere")


async def test_scoring_needs_no_training_branch_and_moves_none(here: Yard) -> None:
    before = here.refs("refs/heads/")
    await scored(here)
    assert here.refs("refs/heads/") == before
    assert list(here.refs("refs/skillgit/")) == []


async def test_a_split_without_tasks(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1, per_topic=(2, 2, 0)), config=CONFIG)
    with pytest.raises(ConfigError, match="test split has no tasks"):
        await scored(here)


async def test_a_revision_without_the_document(here: Yard) -> None:
    repos.commit(here.root, {DOCUMENT: None}, "Away")
    with pytest.raises(DocumentError, match=DOCUMENT):
        await scored(here, "main")
    assert here.server.count == 0


@pytest.mark.parametrize(("broken", "enough"), [(1, True), (4, False)])
async def test_errors_are_counted_and_too_many_are_no_score(yard: MakeYard, broken: int, enough: bool) -> None:
    world = TopicWorld(8, 1)
    inputs = {row["input"] for row in world.tasks["test"][:broken]}

    def respond(call: Call) -> Answer:
        return error(500, "overloaded") if call.user in inputs else world(call)

    here = yard(world, responder=respond, config=CONFIG, document=world.perfect_document())
    if enough:
        found = await scored(here)
        assert (found.hard, found.tasks, found.errors) == (1, 16, 1)
        return
    with pytest.raises(MeasurementError, match=r"4 of 16 attempts failed; the last: .*overloaded") as caught:
        await scored(here)
    assert caught.value.exit_code == 3
    assert here.refs("refs/notes/") == {}
