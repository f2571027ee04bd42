"""A skill's history as one stream: what stands where, and what is told of candidates whose journal is not here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import repos, training
from support.training import BRANCH, DOCUMENT, SKILL, Yard
from support.world import SEED_DOCUMENT

from skillgit.store.repository import Repository
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.story import Entry, Rejected
from skillgit.train.archive.timeline import UNMEASURED, Line, timeline, woven

RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
REJECTED = f"refs/skillgit/rejected/{SKILL}/"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    root = tmp_path_factory.mktemp("once") / "repo"
    config = training.configuration(train="{num_epochs: 2, batch_size: 8}")
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=config) as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def lines(root: Path, *, run: str = "", buffer: bool = False) -> list[Line]:
    return list(timeline(Repository.open(root), SKILL, DOCUMENT, run=run, buffer=buffer))


def entry(step: int, kind: str = "step", decision: str = "accept", candidate: int = 1) -> Entry:
    record = StepRecord(kind, step, 1, decision, "", "", "", candidate=candidate, commits=[f"c{step}-{candidate}"])
    return Entry(RUN, record, f"j{step}-{kind}")


def kept(step: int, candidate: int = 1, commit: str = "") -> Rejected:
    return Rejected(f"{step}-{candidate}", commit or f"c{step}-{candidate}", RUN, step, candidate, lambda: None)


def alone(item: Rejected) -> Line:
    return Line(
        Entry(RUN, StepRecord("step", item.step, 1, "reject", "alone", "", "")), refs={item.candidate: item.ref}
    )


def test_candidates_without_an_entry_stand_where_their_step_is() -> None:
    """Refs of steps 9 and 5 have no entry, one of step 4 is of another commit, one of step 2 belongs to its entry."""
    entries = [entry(7), entry(4, "slow-update", "reject", 3), entry(4), entry(2, decision="reject"), entry(0)]
    refs = [kept(9), kept(5, 1), kept(5, 2), kept(4, 1, "other"), kept(4, 3), kept(2)]
    found = list(woven(iter(entries), refs, alone))
    assert [(line.entry.record.step, line.entry.record.kind, line.entry.record.reason) for line in found] == [
        (9, "step", "alone"),
        (7, "step", ""),
        (5, "step", "alone"),
        (5, "step", "alone"),
        (4, "slow-update", ""),
        (4, "step", ""),
        (4, "step", "alone"),
        (2, "step", ""),
        (0, "step", ""),
    ]
    assert [line.refs for line in found] == [
        {1: "9-1"},
        {},
        {1: "5-1"},
        {2: "5-2"},
        {3: "4-3"},
        {},
        {1: "4-1"},
        {1: "2-1"},
        {},
    ]


def test_every_rejected_ref_stands_with_its_entry(here: Yard) -> None:
    plain, found = lines(here.root), lines(here.root, buffer=True)
    assert [line.entry for line in found] == [line.entry for line in plain]
    assert {ref: line.entry.commit for line in found for ref in line.refs.values()} == here.refs(REJECTED)
    shown = [line.to_json(refs=True) for line in found]
    json.dumps(shown)
    assert [row["ref"] is not None for row in shown] == [row["decision"] == "reject" for row in shown]
    assert "ref" not in plain[0].to_json(refs=False)
    ref = next(ref for line in found for ref in line.refs.values())
    here.git("update-ref", "-d", ref)
    assert {r for line in lines(here.root, buffer=True) for r in line.refs.values()} == here.refs(REJECTED).keys()


def test_without_journals_the_refs_speak(here: Yard) -> None:
    """As in a clone that fetched only them: in the same order, with what their trailers say."""
    before = [line for line in lines(here.root, buffer=True) if line.refs]
    for ref in here.refs("refs/skillgit/runs/"):
        here.git("update-ref", "-d", ref)
    assert lines(here.root) == []
    after = lines(here.root, buffer=True)
    assert [line.refs for line in after] == [line.refs for line in before]
    keys = (
        "run",
        "step",
        "kind",
        "candidate",
        "decision",
        "score",
        "score_max",
        "before",
        "delta",
        "commits",
        "document",
    )
    for mine, theirs in zip(after, before, strict=True):
        assert mine.entry.journal == ""
        assert [mine.to_json(refs=True)[key] for key in keys] == [theirs.to_json(refs=True)[key] for key in keys]
        assert mine.entry.record.reason == "its journal is not here"
        assert mine.entry.record.cost["calls"] == theirs.entry.record.cost["calls"]


def test_without_journals_no_score_of_another_document(here: Yard) -> None:
    for ref in here.refs("refs/skillgit/runs/"):
        here.git("update-ref", "-d", ref)
    refs = list(here.refs(REJECTED))
    here.commit_on(refs[0], {DOCUMENT: "x\n"}, here.git("log", "-1", "--format=%B", refs[0]))
    here.git("update-ref", refs[1], here.git("rev-parse", f"main:{DOCUMENT}"))
    found = {next(iter(line.refs.values())): line.entry for line in lines(here.root, buffer=True)}
    for ref in refs[:2]:
        assert (found[ref].reached, found[ref].before, found[ref].delta) == (None, None, None)
    assert found[refs[1]].record.reason == "it cannot be read"
    assert found[refs[2]].reached is not None


def test_peoples_commits_come_first_by_name_and_subject(here: Yard) -> None:
    count = len(lines(here.root))
    message = here.git("log", "-1", "--format=%B", BRANCH)
    oids = [
        here.commit_on(BRANCH, {DOCUMENT: f"{SEED_DOCUMENT}{n}\n"}, text) for n, text in enumerate(("One", message))
    ]
    found = lines(here.root)
    assert len(found) == count + 2
    assert [line.entry.commit for line in found[:2]] == oids[::-1]
    assert [line.subject for line in found[:2]] == [message.splitlines()[0], "One"]
    shown = found[0].to_json(refs=False)
    assert (shown["kind"], shown["decision"], shown["author"]) == (
        UNMEASURED,
        UNMEASURED,
        "Test Person <test@example.com>",
    )
    assert (shown["run"], shown["step"], shown["score"], shown["score_max"], shown["before"]) == (None,) * 5
    assert shown["at"] == "2026-01-02T03:04:05+00:00"
    assert shown["document"] == repos.git(here.root, "rev-parse", f"{BRANCH}:{DOCUMENT}")
    assert shown.keys() == found[-1].to_json(refs=False).keys()
    assert len(lines(here.root, run=str(found[-1].entry.run))) < count, "a run alone is without them"
