"""What commands tell of a skill, read from refs and journals alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support import training
from support.training import SKILL, Yard
from support.world import TopicWorld

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.repository import Repository
from skillgit.train.archive import story
from skillgit.train.archive.journal import to_files
from skillgit.train.archive.record import tree_of
from skillgit.train.archive.story import Entry, Steps, parse_step

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 2, batch_size: 8}")


def steps(here: Yard) -> list[Entry]:
    return list(story.steps(Repository.open(here.root), SKILL))


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], [], config=CONFIG) as made:
        assert {"accept-best", "reject"} <= {step.decision for step in made.steps}
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def test_nothing_trained(yard: MakeYard) -> None:
    assert steps(yard(TopicWorld(4, 1), config=CONFIG)) == []


async def test_steps_are_newest_first_over_all_runs(here: Yard) -> None:
    found = steps(here)
    assert [entry.record.step for entry in found] == [4, 3, 2, 1, 0, 2, 1, 0]
    assert found[0].run > found[-1].run
    for entry in found:
        shown = entry.to_json()
        json.dumps(shown)
        assert shown["decision"] == entry.record.decision
        assert entry.commit == (entry.record.commits[-1] if entry.record.commits else None)
        if entry.record.decision == "accept-best":
            assert entry.delta is not None
            assert entry.delta > 0
            assert shown["score"] == round(float(Fraction(str(entry.record.score))), 6)
        if entry.record.maximum is not None:
            assert (shown["score"], entry.delta) == (None, None)
            assert shown["score_max"] is not None


async def test_the_rejected_buffer(here: Yard) -> None:
    found = story.rejected(Repository.open(here.root), SKILL)
    assert {item.ref: item.commit for item in found} == here.refs("refs/skillgit/rejected/")
    assert [(item.run, item.step) for item in found] == sorted(((i.run, i.step) for i in found), reverse=True)
    for item in found:
        assert item.entry is not None
        assert item.entry.commit == item.commit
        assert item.entry.record.decision == "reject"


async def test_rejected_refs_whose_journal_is_not_here(here: Yard) -> None:
    """Fetched from somebody else, or a name that we would not write."""
    run = "01k9x0c5v2m8q4t7b3n6r1d9sf"
    base = here.git("rev-parse", "main")
    here.git("update-ref", f"refs/skillgit/rejected/{SKILL}/{run}/00007-01", base)
    here.git("update-ref", f"refs/skillgit/rejected/{SKILL}/{run}/seven", base)
    found = {item.run: item for item in story.rejected(Repository.open(here.root), SKILL) if item.entry is None}
    assert list(found) == [run]
    assert found[run].step == 7


async def test_a_rejected_ref_that_was_moved_has_no_record(here: Yard) -> None:
    """The journal tells of another commit."""
    (first, *_) = story.rejected(Repository.open(here.root), SKILL)
    here.git("update-ref", first.ref, "main")
    assert story.rejected(Repository.open(here.root), SKILL)[0].entry is None


async def test_entries_are_found_by_run_and_step(here: Yard) -> None:
    everything = steps(here)
    known = Steps(Repository.open(here.root), SKILL)
    assert known.runs == list(dict.fromkeys(entry.run for entry in everything))
    for entry in reversed(everything):  # the oldest first: what was walked already is used again
        assert known.at(entry.run, entry.record.step) == [entry]
        if entry.commit:
            assert known.candidate(entry.run, entry.record.step, 1) == entry
        behind = [e for e in everything if e.run == entry.run and e.record.step < entry.record.step]
        assert [known.read(stop) for stop in known.older(entry)] == behind
    assert known.at(known.runs[0], 99) == known.at("0" * 26, 1) == []
    assert known.candidate(known.runs[0], 1, 2) is None


async def test_only_what_is_asked_for_is_read(here: Yard) -> None:
    """Older entries may even be unreadable: their objects are taken away."""
    run = steps(here)[0].run
    ref = f"refs/skillgit/runs/{SKILL}/{run}"
    blob = here.git("rev-parse", f"{ref}~2:step.json")
    (here.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repo = Repository.open(here.root)
    stream = story.steps(repo, SKILL)
    assert [next(stream).record.step, next(stream).record.step] == [4, 3]
    assert [entry.record.step for entry in Steps(repo, SKILL).at(run, 1)] == [1]
    assert len(story.rejected(repo, SKILL)) == len(here.refs("refs/skillgit/rejected/"))
    with pytest.raises(RepositoryError):
        next(stream)


@pytest.mark.parametrize(
    "change",
    [
        {"score": "much"},
        {"before": "1/0"},
        {"maximum": "nan"},
        {"best": []},
        {"cost": {"usd": "much"}},
        {"cost": [1]},
        {"commits": [None]},
        {"commits": 7},
        {"edits": ["append"]},
        {"decision": None},
        {"reason": {}},
        {"step": "4"},
        {"others": [{"kind": "step"}]},
        {"others": 7},
    ],
)
def test_a_journal_that_somebody_forged_is_refused_in_words(here: Yard, change: dict[str, object]) -> None:
    """Whoever can push can write one."""
    repo, last = Repository.open(here.root), training.journal(here.root)
    files = to_files(last.info, last.state, last.record, last.scores)
    files["step.json"] = json.dumps({**json.loads(files["step.json"]), **change}).encode()
    subject = f"skillgit journal: {SKILL} step 4 accept-best\n"
    forged = repo.objects.write_commit(tree_of(repo, files), [last.commit], subject)
    here.git("update-ref", f"refs/skillgit/runs/{SKILL}/{last.info.run}", forged)
    with pytest.raises(RefusedError, match=f"journal {forged[:12]} is not readable"):
        next(story.steps(repo, SKILL))
    with pytest.raises(RefusedError, match="is not readable"):
        Steps(repo, SKILL).at(last.info.run, 4)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", ("", 7, None)),
        ("0007", ("", 7, None)),
        ("7-02", ("", 7, 2)),
        ("01k9x/00007-1", ("01k9x", 7, 1)),
        ("/7", ("", 7, None)),
        ("seven", None),
        ("7-", None),
        ("-7", None),
        ("7.1", None),
        ("1234567890", None),
        ("", None),
    ],
)
def test_how_a_step_is_named(text: str, found: tuple[str, int, int | None] | None) -> None:
    asked = parse_step(text)
    assert (None if asked is None else (asked.run, asked.step, asked.candidate)) == found
