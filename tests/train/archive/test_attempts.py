"""Attempts behind a verdict, as the evidence ref has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import repos

from skillgit.store.repository import Repository
from skillgit.train.archive.attempts import MOST_CHARACTERS, Flip, flips
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, to_files
from skillgit.train.archive.record import tree_of
from skillgit.train.archive.story import Entry, Steps

NAME, RUN = "topics", "01k9x0c5v2m8q4t7b3n6r1d9sf"
OLD, NEW = "a" * 40, "b" * 40


class Archive:
    """A journal of a baseline, an accepted and a rejected step, with what evidence a test gives."""

    def __init__(self, root: Path) -> None:
        self.repo = Repository.open(repos.make_repo(root, {"a": "0"}))
        self.root = root
        self.tips: dict[str, str] = {}
        self.journal(StepRecord("baseline", 0, 1, "baseline", "", OLD, OLD))
        self.entry = self.journal(StepRecord("step", 1, 1, "accept", "", NEW, OLD, gained=["t-1"], lost=["t-2"]))

    def journal(self, record: StepRecord) -> Entry:
        base = repos.git(self.root, "rev-parse", "main")
        info = RunInfo(RUN, NAME, "a", base, {}, 9)
        state = RunState(base, record.document, record.document, base, "sha256:x", {"name": "m"}, step=record.step)
        tree = tree_of(self.repo, to_files(info, state, record, {}))
        subject = f"skillgit journal: {NAME} step {record.step} {record.decision}\n"
        return Entry(RUN, record, self._commit("runs", tree, subject))

    def evidence(self, step: int, *rows: dict[str, Any], raw: bytes = b"") -> None:
        data = "".join(json.dumps(row) + "\n" for row in rows).encode() + raw
        self._commit("evidence", tree_of(self.repo, {"val.jsonl": data}), f"skillgit evidence: {NAME} step {step}\n")

    def _commit(self, kind: str, tree: str, message: str) -> str:
        ref = f"refs/skillgit/{kind}/{NAME}/{RUN}"
        old = self.tips.get(ref)
        self.tips[ref] = self.repo.objects.write_commit(tree, [old] if old else [], message)
        repos.git(self.root, "update-ref", ref, self.tips[ref])
        return self.tips[ref]

    def flips(self) -> list[Flip]:
        return flips(self.repo, NAME, Steps(self.repo, NAME), self.entry)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "r")


def row(document: str, task: str, hard: str, reply: str = "r", trial: int = 0, **more: Any) -> dict[str, Any]:
    found = {"document": document, "task": task, "trial": trial, "reply": reply, "hard": hard, "soft": hard}
    return {**found, "reason": "because", "input": f"do {task}", **more}


def test_both_attempts_of_each_task(archive: Archive) -> None:
    archive.evidence(0, row(OLD, "t-1", "0", "no"), row(OLD, "t-2", "1", "yes"), row(NEW, "t-1", "1", "elsewhere"))
    archive.evidence(1, row(NEW, "t-1", "1", "now"), row(NEW, "t-2", "0", "lost"), row(OLD, "t-9", "0"))
    gained, lost = archive.flips()
    assert (gained.task, gained.way, gained.input) == ("t-1", "gained", "do t-1")
    assert gained.before is not None
    assert gained.after is not None
    assert (gained.before.reply, gained.before.hard, gained.after.reply, gained.after.said) == (
        "no",
        0,
        "now",
        "because",
    )
    assert lost.before is not None
    assert lost.after is not None
    assert (lost.way, lost.before.reply, lost.after.reply) == ("lost", "yes", "lost")


def test_of_several_trials_those_that_show_the_flip(archive: Archive) -> None:
    archive.evidence(0, row(OLD, "t-1", "1", "luck"), row(OLD, "t-1", "0", "usual", trial=1))
    archive.evidence(1, row(NEW, "t-1", "0", "bad luck"), row(NEW, "t-1", "1", "usual", trial=1))
    gained = archive.flips()[0]
    assert gained.before is not None
    assert gained.after is not None
    assert (gained.before.trial, gained.after.trial) == (1, 1)


def test_attempts_that_show_no_flip_are_of_something_else(archive: Archive) -> None:
    """Measured on other tasks or with another target: not what was compared."""
    archive.evidence(0, row(OLD, "t-1", "1"))
    archive.evidence(1, row(NEW, "t-1", "1"))
    gained = archive.flips()[0]
    assert (gained.before, gained.after is not None) == (None, True)


def test_a_long_reply_is_cut(archive: Archive) -> None:
    archive.evidence(1, row(NEW, "t-1", "1", "x" * (MOST_CHARACTERS + 1)), row(NEW, "t-2", "0", "y" * MOST_CHARACTERS))
    gained, lost = archive.flips()
    assert gained.after is not None
    assert lost.after is not None
    assert (len(gained.after.reply), gained.after.cut) == (MOST_CHARACTERS + 1, True)
    assert (len(lost.after.reply), lost.after.cut) == (MOST_CHARACTERS, False)


def test_a_failed_attempt_says_why(archive: Archive) -> None:
    archive.evidence(1, {"document": NEW, "task": "t-2", "trial": 0, "error": "timed out"})
    lost = archive.flips()[1]
    assert lost.after is not None
    assert (lost.after.hard, lost.after.said) == (None, "timed out")


def test_what_is_no_evidence_is_passed_over(archive: Archive) -> None:
    """Whoever can push can write it."""
    bad = [row(NEW, "t-1", "x"), {**row(NEW, "t-1", "1"), "trial": None}, {"document": NEW, "task": "t-1"}]
    archive.evidence(1, *bad, raw=b"[1]\nnot json " + NEW.encode() + b"\n\xff\n")
    assert [(flip.before, flip.after) for flip in archive.flips()] == [(None, None), (None, None)]


def test_no_evidence(archive: Archive) -> None:
    told = [(flip.task, flip.before, flip.after) for flip in archive.flips()]
    assert told == [("t-1", None, None), ("t-2", None, None)]


def test_the_incumbent_is_found_behind_rejected_steps(archive: Archive) -> None:
    """Steps 2 and 3 change nothing: what step 4 is compared with was measured in step 1."""
    archive.evidence(1, row(NEW, "t-1", "0", "then"))
    for step, decision in ((2, "reject"), (3, "none")):
        archive.journal(StepRecord("step", step, 1, decision, "", "c" * 40, NEW))
        archive.evidence(step, row(NEW, "t-1", "0", "another"))
    archive.entry = archive.journal(StepRecord("step", 4, 1, "accept", "", "d" * 40, NEW, gained=["t-1"]))
    archive.evidence(4, row("d" * 40, "t-1", "1", "now"))
    (gained,) = archive.flips()
    assert gained.before is not None
    assert gained.before.reply == "then"
