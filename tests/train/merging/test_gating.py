"""The gate of a merge into a base branch: the skill's own rule, both documents measured, and what is broken."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support import repos, training
from support.merging import LONG, bring
from support.server import Answer, serve
from support.training import DOCUMENT, Yard

from skillgit.errors import OutsideError, RefusedError
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.train.events import Note


def reworded(trained: Yard) -> str:
    return repos.commit(trained.root, {DOCUMENT: LONG.replace("First things", "The first things")}, "Elsewhere")


def configure(root: Path, evaluation: str) -> None:
    path = root / "skillgit.yaml"
    path.write_text(path.read_text().replace("evaluation: {}", f"evaluation: {evaluation}"))


async def test_the_skill_s_own_rule_decides(trained: Yard) -> None:
    """0 of 16 against 8 of 16: a margin of 0.9 is more."""
    reworded(trained)
    configure(trained.root, "{gate_mode: margin, epsilon: 0.9}")
    before = trained.refs()
    with pytest.raises(RefusedError, match="it is not better than the document there: "):
        await bring(trained.root)
    assert trained.refs() == before
    configure(trained.root, "{}")
    path = trained.root / "skillgit.yaml"
    path.write_text(path.read_text().replace("epsilon: 0.9", "epsilon: 0.4"))
    assert (await bring(trained.root)).score == Fraction(1, 2)
    assert training.trailer(trained.root, "main", "Skill-Gate") == "margin hard epsilon=0.4 n=16 repeats=1"


@pytest.mark.parametrize("status", [401, 500])
async def test_broken_models_are_no_verdict(trained: Yard, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    reworded(trained)
    before = trained.refs()
    with serve(lambda _: Answer(status=status)) as server:
        training.point_at(monkeypatch, server.env())
        with pytest.raises(OutsideError) as caught:
            await bring(trained.root)
    assert caught.value.exit_code == 3
    assert trained.refs() == before
    assert trained.git("status", "--porcelain") == ""


async def test_best_is_no_measure_where_it_was_measured_on_other_tasks(trained: Yard) -> None:
    """One val task more since the training: the scores do not compare."""
    reworded(trained)
    rows = trained.root / "envs/topics/val.jsonl"
    rows.write_text(rows.read_text() + '{"id": "val-999", "input": "Which one is it?", "answer": "none"}\n')
    done = await bring(trained.root)
    assert (done.score, done.below_best) == (Fraction(8, 17), None)
    assert training.trailer(trained.root, "main", "Skill-Gate") == "strict hard n=17 repeats=1"


async def test_a_merge_stands_where_its_scores_cannot_be_noted(trained: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process keeps the notes to itself."""
    reworded(trained)
    told: list[object] = []
    monkeypatch.setattr("skillgit.store.locks._PATIENCE_S", 0.2)
    with SkillLock.for_notes(Repository.open(trained.root)):
        done = await bring(trained.root, told=told)
    assert trained.git("rev-parse", "main") == done.commit
    notes = [event.text for event in told if isinstance(event, Note)]
    assert len(notes) == 1
    assert notes[0].startswith("the scores could not be noted: ")
