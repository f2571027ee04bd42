"""What is known of a document: the journals' and the notes' scores, against the world's rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import repos, training
from support.training import BRANCH, DOCUMENT, SKILL, Yard
from support.truth import passed, share
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

from skillgit.config import parse
from skillgit.store.notes import add_note
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.known import Knowledge, Known, known_today
from skillgit.train.scoring import scores
from skillgit.train.scoring.evaluate import evaluate, remember
from skillgit.train.scoring.scores import HARD

MakeYard = Callable[..., Yard]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After two runs with acceptances and rejections."""
    root = tmp_path_factory.mktemp("once") / "repo"
    with training.trained_once(root, training.mixed(), ["train.num_epochs=1"], []) as made:
        yield made


@pytest.fixture
def here(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)


def knowledge(here: Yard, *blobs: str) -> Knowledge:
    return Knowledge(Repository.open(here.root), SKILL, blobs)


def blob(here: Yard, rev: str) -> str:
    return here.git("rev-parse", f"{rev}:{DOCUMENT}")


def all_records(here: Yard) -> list[StepRecord]:
    return [record for run in training.journals(here.root) for record in run]


def note(here: Yard, oid: str, **fact: Any) -> None:
    add_note(Repository.open(here.root), oid, {"kind": "score", **fact})


async def scored(here: Yard, rev: str, split: Any, target: str | None = None) -> None:
    async with training.session(here.root, optimizer=False, target=target) as session:
        remember(session, await evaluate(session, session.repo.resolve(rev) or "", split))


def is_true(here: Yard, known: Known) -> bool:
    """Whether the measurement is what the world's rule gives for that document."""
    text = here.git("cat-file", "blob", known.blob) + "\n"
    truth = passed(here.world, text, known.split)
    assert known.measurement is not None
    assert known.hard == known.soft == known.score(HARD) == share(here.world, text, known.split)
    return {task: trial.hard for task, (trial,) in known.measurement.items() if trial} == truth


async def test_every_whole_measurement_of_the_journals_is_found(here: Yard) -> None:
    found = 0
    for record in all_records(here):
        known = knowledge(here, record.document).of(record.document)
        assert all(is_true(here, one) for one in known)
        if record.maximum is None and record.scores:
            assert (record.step, Fraction(str(record.score))) in [(one.step, one.hard) for one in known]
            found += 1
    assert found >= 5


async def test_an_early_rejection_is_no_score(here: Yard) -> None:
    whole = {r.document for r in all_records(here) if r.maximum is None and r.scores}
    early = {r.document for r in all_records(here) if r.maximum is not None} - whole
    assert early
    asked = knowledge(here, *early)
    for document in early:
        assert asked.of(document) == []
        assert asked.newest(document, "val") is None


async def test_where_it_is_from(here: Yard) -> None:
    journal = training.journal(here.root)
    known = knowledge(here, journal.state.best).newest(journal.state.best, "val")
    record = next(r for r in reversed(here.steps) if r.document == journal.state.best and r.scores)
    assert known is not None
    assert (known.run, known.step) == (journal.info.run, record.step)
    assert known.source == f"run {journal.info.run[:10]} step {record.step}"
    assert (known.digest, known.target, known.settings) == (
        journal.state.val,
        "openai/sim",
        journal.state.target["settings"],
    )
    shown = known.to_json(HARD)
    json.dumps(shown)
    assert (shown["score"], shown["source"], shown["step"]) == (round(float(known.hard), 6), "journal", record.step)


async def test_the_newest_comes_first_over_all_runs(here: Yard) -> None:
    """The first run's best document is what the second one began with."""
    second = training.journals(here.root)[1][0].document
    known = knowledge(here, second).of(second)
    assert len({one.run for one in known}) == 2
    assert [one.run for one in known] == sorted((str(one.run) for one in known), reverse=True)
    assert known[0].compares(known[1])


async def test_documents_that_nobody_measured(here: Yard) -> None:
    unknown = "ab" * 20
    asked = knowledge(here, unknown)
    assert (asked.of(unknown), asked.newest(unknown, "val"), asked.pair(unknown, unknown, "val")) == ([], None, None)


async def test_a_trailer_is_no_score(here: Yard) -> None:
    text = here.text() + "- something else\n"
    message = f"skill({SKILL}): forged\n\nSkill-Score: 1.000000\nSkill-Blob: x\nSkill-Run: {'0' * 26}\nSkill-Step: 1\n"
    commit = here.commit_on(BRANCH, {DOCUMENT: text}, message)
    assert knowledge(here, blob(here, commit)).of(blob(here, commit)) == []


async def test_a_run_that_measured_anew_in_its_middle(yard: MakeYard) -> None:
    """What was measured before the val tasks grew compares with nothing after it; tip and best have both."""
    here = yard(training.mixed())
    with pytest.raises(Exception, match="interrupted"):
        await here.train(entries=3)
    before = here.steps
    extra = {"id": "val-extra", "input": here.world.tasks["val"][0]["input"] + " Again?", "answer": "none"}
    here.world.tasks["val"].append(extra)
    repos.commit(here.root, {"envs/topics/val.jsonl": "".join(json.dumps(r) + "\n" for r in here.world.tasks["val"])})
    await here.train()
    anew = next(r for r in here.steps if r.kind == "remeasure")
    old = before[0].document
    best = next(r.document for r in reversed(here.steps) if r.decision == "accept-best")
    asked = knowledge(here, old, anew.document, best)
    assert len({k.digest for k in asked.of(anew.document)}) == 2
    for known in asked.of(anew.document):
        assert known.tasks == (16 if known.digest != asked.of(anew.document)[0].digest else 17)
    (only,) = asked.of(old)
    assert only.tasks == 16
    pair = asked.pair(old, anew.document, "val")
    assert pair is not None
    assert (pair[0].digest, pair[1].digest) == (only.digest, only.digest)
    assert best not in [r.document for r in before]
    assert asked.pair(old, best, "val") is None
    assert not only.compares(asked.of(best)[0])


async def test_best_measured_anew_beside_a_lower_tip(yard: MakeYard) -> None:
    """Its new scores stand only beside the entry's own."""
    here = yard(TopicWorld(6, 2, kinds=Kinds(100, 0)), config=training.configuration(train="{batch_size: 4}"))
    await here.train("train.num_epochs=1")
    best = training.journal(here.root).state.best
    here.commit_on(BRANCH, {DOCUMENT: SEED_DOCUMENT})
    here.world.tasks["val"].pop()
    here.world.write_env(here.root / "envs/topics")
    with pytest.raises(Exception, match="interrupted"):
        await here.train(entries=0)
    known = knowledge(here, best).of(best)
    assert [one.tasks for one in known][:1] == [11]
    assert known[0].run == training.journal(here.root).info.run
    assert all(is_true(here, one) for one in known[:1])


async def test_notes_of_eval(here: Yard) -> None:
    main = blob(here, "main")
    await scored(here, "main", "test")
    await scored(here, "main", "val", "openai/other")
    await scored(here, BRANCH, "test")
    asked = knowledge(here, main, blob(here, BRANCH))
    known = {(one.split, one.target, one.run is None) for one in asked.of(main)}
    assert known == {("val", "openai/sim", False), ("val", "openai/other", True), ("test", "openai/sim", True)}
    assert all(is_true(here, one) for one in asked.of(main))
    pair = asked.pair(main, blob(here, BRANCH), "test")
    assert pair is not None
    assert [one.source[:9] for one in pair] == ["notes of "] * 2
    other = asked.newest(main, "val", "openai/other")
    mine = asked.newest(main, "val", "openai/sim")
    assert other is not None
    assert mine is not None
    assert not other.compares(mine)
    assert asked.pair(main, blob(here, BRANCH), "val", "openai/other") is None


async def test_a_note_and_a_journal_compare(here: Yard) -> None:
    commit = here.commit_on(BRANCH, {DOCUMENT: here.world.perfect_document()})
    await scored(here, commit, "val")
    best = training.journal(here.root).state.best
    pair = knowledge(here, blob(here, commit), best).pair(blob(here, commit), best, "val")
    assert pair is not None
    assert (pair[0].run, pair[1].run is None, pair[0].hard) == (None, False, 1)


async def test_older_notes_without_settings_and_tasks_compare_with_nothing(here: Yard) -> None:
    one, other = "ab" * 20, "cd" * 20
    for document in (one, other):
        note(here, document, split="test", hard="1/2", soft="3/4", tasks=16, errors=0, digest="d", target="openai/sim")
    asked = knowledge(here, one, other)
    (known,) = asked.of(one)
    assert (known.hard, known.soft, known.measurement, known.settings) == (Fraction(1, 2), Fraction(3, 4), None, None)
    assert known.source == "notes"
    assert asked.pair(one, other, "test") is None


ODD: list[dict[str, Any]] = [
    {"split": "dev", "hard": "1", "soft": "1", "tasks": 1},
    {"split": "test", "hard": "2", "soft": "1", "tasks": 1},
    {"split": "test", "hard": "1/0", "soft": "1", "tasks": 1},
    {"split": "test", "hard": "nan", "soft": "1", "tasks": 1},
    {"split": "test", "hard": "1", "soft": "-1/2", "tasks": 1},
    {"split": "test", "hard": "1", "soft": "1", "tasks": 0},
    {"split": "test", "hard": "1", "soft": "1"},
    {"split": "test", "hard": "1", "soft": "1", "tasks": "many"},
    {"split": "test", "hard": "1", "soft": "1", "tasks": 1, "settings": 7},
    {"split": "test", "hard": "1", "soft": "1", "tasks": 1, "scores": [1]},
    {"kind": "baseline", "split": "test", "hard": "1", "soft": "1", "tasks": 1},
]


@pytest.mark.parametrize("fact", ODD)
async def test_notes_that_are_no_measurement(here: Yard, fact: dict[str, Any]) -> None:
    note(here, "ab" * 20, **fact)
    assert knowledge(here, "ab" * 20).of("ab" * 20) == []


@pytest.mark.parametrize("value", ["3/2", "-1", "1/2"])
async def test_scores_by_task_that_do_not_make_the_means_are_not_used(here: Yard, value: str) -> None:
    fact = {"split": "test", "hard": "1", "soft": "1", "tasks": 1, "scores": {"t": [[value, "1"]]}}
    note(here, "ab" * 20, **fact)
    (known,) = knowledge(here, "ab" * 20).of("ab" * 20)
    assert (known.hard, known.measurement) == (1, None)


async def test_of_equal_notes_the_newest_counts(here: Yard) -> None:
    for hard in ("1/4", "1/2"):
        note(here, "ab" * 20, split="test", hard=hard, soft="1", tasks=4, digest="d", target="t", settings={"a": 1})
    note(here, "ab" * 20, split="test", hard="1/8", soft="1", tasks=4, digest="d", target="t", settings={"a": 2})
    assert [one.hard for one in knowledge(here, "ab" * 20).of("ab" * 20)] == [Fraction(1, 8), Fraction(1, 2)]


@pytest.mark.parametrize("content", [b"{}", b"[]", b"not json", None])
async def test_a_journal_that_cannot_be_read_tells_nothing(here: Yard, content: bytes | None) -> None:
    """And does not hide what others tell."""
    best = training.journal(here.root).state.best
    files = {"step.json": content, "state.json": b"{}", "scores.json": f'{{"{best}": 7}}'.encode()}
    rows = [
        f"100644 blob {here.git('hash-object', '-w', '--stdin', input=data.decode())}\t{name}\n"
        for name, data in sorted(files.items())
        if data is not None
    ]
    tree = here.git("mktree", input="".join(rows))
    commit = here.git("commit-tree", tree, "-m", f"skillgit journal: {SKILL} step 0 baseline")
    here.git("update-ref", f"refs/skillgit/runs/{SKILL}/7zzzzzzzzzzzzzzzzzzzzzzzzz", commit)
    known = knowledge(here, best).of(best)
    assert known
    assert all(is_true(here, one) for one in known)


async def test_scores_outside_of_their_range_are_none(here: Yard) -> None:
    """Whoever can push can write journals."""
    journal = training.journal(here.root)
    best = journal.state.best
    bad = json.dumps({best: {"val-000": [["7/1", "1/1"]]}}, indent=1)
    state = here.git("rev-parse", f"{journal.commit}:state.json")
    first = min(here.refs("refs/skillgit/runs/").items())[1]
    step = here.git("rev-parse", f"{first}:step.json")
    assert best not in here.git("cat-file", "blob", step)
    kept = here.git("hash-object", "-w", "--stdin", input=bad)
    names = {"scores.json": kept, "state.json": state, "step.json": step}
    tree = here.git("mktree", input="".join(f"100644 blob {oid}\t{name}\n" for name, oid in names.items()))
    commit = here.git("commit-tree", tree, "-m", f"skillgit journal: {SKILL} step 0 baseline")
    here.git("update-ref", f"refs/skillgit/runs/{SKILL}/7zzzzzzzzzzzzzzzzzzzzzzzzz", commit)
    assert all(one.run != "7zzzzzzzzzzzzzzzzzzzzzzzzz" for one in knowledge(here, best).of(best))


async def test_nothing_older_is_read_than_is_needed(here: Yard) -> None:
    """An object of the first run is missing; what the second one says is found all the same."""
    repo = Repository.open(here.root)
    first = min(here.refs("refs/skillgit/runs/").items())[1]
    best = training.journal(here.root).state.best
    oid = here.git("rev-parse", f"{first}:step.json")
    (here.root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    known = Knowledge(repo, SKILL, [best]).newest(best, "val")
    assert known is not None
    assert known.run == training.journal(here.root).info.run


async def test_measurements_are_decoded_as_the_journal_has_them(here: Yard) -> None:
    record = next(r for r in reversed(here.steps) if r.decision == "accept-best")
    known = knowledge(here, record.document).newest(record.document, "val")
    assert known is not None
    assert known.measurement is not None
    assert scores.encode(known.measurement) == record.scores


def test_a_score_of_today_is_of_the_newest_run_s_tasks_and_target(here: Yard) -> None:
    """A candidate that the newest run rejected, or replaced, is in no state, and in a journal."""
    repo, newest = Repository.open(here.root), training.journal(here.root)
    settings = parse((here.root / "skillgit.yaml").read_text()).skill(SKILL)
    earlier = next(r for r in here.steps if r.accepted and r.document not in newest.scores)
    then = newest.state
    assert earlier.score is not None
    assert known_today(repo, SKILL, newest, earlier.document, settings) == Fraction(earlier.score)
    for state in (
        replace(then, val="sha256:other"),
        replace(then, target={**then.target, "name": "openai/other"}),
        replace(then, target={**then.target, "settings": {"temperature": 1}}),
    ):
        assert known_today(repo, SKILL, replace(newest, state=state), earlier.document, settings) is None
    assert known_today(repo, SKILL, None, earlier.document, settings) is None
    assert known_today(repo, SKILL, newest, "0" * 40, settings) is None
