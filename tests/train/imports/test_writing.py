"""An imported run in a real repository: what git itself says of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import repos
from support.skillopt import STARTED, Run, at
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, text_at, trailer

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.train.archive import edits, history, story
from skillgit.train.archive.layout import read_journal
from skillgit.train.imports.bringing import Brought, bring, settings_of
from skillgit.train.start import recover

HEAD = "---\nname: topics\ndescription: y\n---\n\n"
SETTINGS: SkillSettings = settings_of(DOCUMENT)


@pytest.fixture
def folder(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


@contextmanager
def locked(root: Path) -> Iterator[tuple[Repository, SkillLock]]:
    repo = Repository.open(root)
    try:
        with SkillLock.acquire(repo, SKILL, "import") as lock:
            yield repo, lock
    finally:
        repo.close()


def bring_in(root: Path, folder: Run, *, dry_run: bool = False) -> Brought:
    with locked(root) as (repo, lock):
        return bring(repo, lock, SKILL, SETTINGS, folder.root, tell=lambda _: None, dry_run=dry_run)


@pytest.fixture(params=["sha1", "sha256"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository with another document than SkillOpt's first one."""
    return repos.make_repo(tmp_path / "r", {DOCUMENT: f"{HEAD}# Ours\n"}, object_format=request.param)


def same_first(tmp_path: Path, folder: Run) -> Path:
    """One whose document is SkillOpt's first one, below a frontmatter."""
    return repos.make_repo(tmp_path / "same", {DOCUMENT: HEAD + folder.text(Run.skill(0))})


def branch(root: Path, form: str) -> list[str]:
    return repos.git(root, "log", "--first-parent", "--reverse", f"--format={form}", f"main..{BRANCH}").splitlines()


def test_the_branch_has_the_accepted_edits_with_their_dates(root: Path, folder: Run) -> None:
    done = bring_in(root, folder)
    repos.fsck(root)
    assert branch(root, "%s") == [
        "skill(topics): bring in SkillOpt's first document",
        "skill(topics): add amber dock: Q347",
        "skill(topics): add garnet lamp: V705",
        "skill(topics): add Be polite to people who write about machines (house…",
        "skill(topics): add heron meter: W670",
        "skill(topics): add birch pump: Q785",
        "skill(topics): add heron meter: W204",
        "skill(topics): add fjord meter: W968",
        "skill(topics): add dune engine: V784",
        "skill(topics): SkillOpt added the empty region for guidance",
        "skill(topics): guide: Read the whole ticket before you answer it.",
        "skill(topics): add heron meter: K710",
    ]
    moments = [STARTED, *[at(1)] * 4, *[at(2)] * 4, at(2, slow=True), at(4, slow=True), at(6)]
    dates = [str(int(moment.timestamp())) for moment in moments]
    assert branch(root, "%at") == branch(root, "%ct") == dates
    assert set(branch(root, "%an %ae, %cn %ce")) == {"Test Person test@example.com, Test Person test@example.com"}
    tip = repos.git(root, "rev-parse", BRANCH)
    assert (done.tip, done.best) == (tip, tip)
    assert text_at(root, BRANCH) == HEAD + folder.text("best_skill.md")
    assert repos.git(root, "status", "--porcelain") == ""


def test_trailers_have_the_original_scores(root: Path, folder: Run) -> None:
    done = bring_in(root, folder)
    value: Callable[[str], str] = lambda key: trailer(root, BRANCH, f"Skill-{key}")  # noqa: E731
    assert {key: value(key) for key in ("Name", "Run", "Step", "Epoch", "Kind", "Edit", "Support", "Decision")} == {
        "Name": "topics",
        "Run": done.run,
        "Step": "6",
        "Epoch": "3",
        "Kind": "import",
        "Edit": "1/1 append",
        "Support": "3 failures",
        "Decision": "accept-best",
    }
    # 9 and 6 of 12 tasks; soft 5/6; 4033 + 104 + 4785 + 131 tokens
    assert [value(f"Score{part}") for part in ("", "-Before", "-Hard", "-Soft")] == [
        "0.750000",
        "0.500000",
        "0.750000",
        "0.833333",
    ]
    assert value("Gate") == "strict hard n=12 repeats=1"
    assert value("Cost") == "calls=22 tokens=9053"
    assert value("Blob") == repos.git(root, "rev-parse", f"{BRANCH}:{DOCUMENT}")
    assert value("Val") == f"skillopt:{done.digest}"
    assert (value("Target"), value("Optimizer")) == ("openai_chat/sim-target", "openai_chat/sim-optimizer")


def test_only_the_measured_document_has_a_score(root: Path, folder: Run) -> None:
    bring_in(root, folder)
    scores = branch(root, "%(trailers:key=Skill-Score,valueonly,separator=%x2C)")
    assert scores == ["0.000000", "", "", "", "0.250000", "", "", "", "0.500000", "", "", "0.750000"]
    assert trailer(root, f"{BRANCH}~1", "Skill-Decision") == "forced"
    assert trailer(root, f"{BRANCH}~2", "Skill-Decision") == ""


def test_rejected_candidates_stand_on_what_they_were_tried_on(root: Path, folder: Run) -> None:
    run = bring_in(root, folder).run
    found = repos.refs(root, f"refs/skillgit/rejected/{SKILL}")
    assert [ref.rpartition("/")[2] for ref in found] == ["00003-01", "00004-01", "00005-01"]
    assert all(f"/{run}/" in ref for ref in found)
    third, fourth, fifth = found.values()
    assert repos.git(root, "rev-parse", f"{third}~2") == repos.git(root, "rev-parse", f"{BRANCH}~2")
    assert repos.git(root, "rev-parse", f"{fourth}~1") == repos.git(root, "rev-parse", f"{BRANCH}~2")
    assert repos.git(root, "rev-parse", f"{fifth}~2") == repos.git(root, "rev-parse", f"{BRANCH}~1")
    for number, commit in ((3, third), (4, fourth), (5, fifth)):
        assert text_at(root, commit) == HEAD + folder.candidate(number)
        assert repos.git(root, "log", "-1", "--format=%at", commit) == str(int(at(number).timestamp()))
    assert trailer(root, fifth, "Skill-Score") == "0.416667"
    assert trailer(root, fifth, "Skill-Decision") == "reject"


def test_epochs_are_annotated_tags(root: Path, folder: Run) -> None:
    done = bring_in(root, folder)
    prefix = f"refs/tags/skill/{SKILL}/{done.run}"
    told = repos.git(
        root, "for-each-ref", "--format=%(refname) %(objecttype) %(taggerdate:unix) %(*objectname)", prefix
    )
    dates = [str(int(at(2 * n, slow=True).timestamp())) for n in (1, 2, 3)]
    tips = [repos.git(root, "rev-parse", f"{BRANCH}~{n}") for n in (2, 1, 0)]
    assert told.splitlines() == [f"{prefix}/epoch-0{n + 1} tag {dates[n]} {tips[n]}" for n in range(3)]
    table = repos.git(root, "for-each-ref", "--format=%(contents)", f"{prefix}/epoch-02").splitlines()
    assert table[2:6] == [
        "step  decision     score     before    edits",
        "   3  reject       0.500000  0.500000      2",
        "   4  reject       0.500000  0.500000      1",
        "   4  forced              -         -      1",
    ]
    assert f"Skill-Best: {repos.git(root, 'rev-parse', f'{BRANCH}~3')}" in table
    assert "Skill-Score: 0.500000" in table


def test_the_journal_is_a_finished_run(root: Path, folder: Run) -> None:
    done = bring_in(root, folder)
    repo = Repository.open(root)
    ((run, tip),) = history.runs(repo, SKILL)
    journal = read_journal(repo, tip)
    assert (run, journal.state.status, journal.state.step) == (done.run, "finished", 6)
    assert journal.state.reason == "imported from the SkillOpt run run"
    assert (journal.state.accepted_count, journal.state.rejected_count) == (4, 3)
    assert (journal.state.tip, journal.state.best_commit) == (done.tip, done.best)
    assert journal.info.settings["import"]["digest"] == done.digest
    kept = journal.info.settings["import"]["settings"]
    assert (kept["env"], kept["batch_size"], kept["seed"]) == ("searchqa", 16, 42)
    records = history.records(repo, tip)
    assert [(r.kind, r.step, r.decision) for r in records] == [
        ("baseline", 0, "baseline"),
        ("step", 1, "accept-best"),
        ("step", 2, "accept-best"),
        ("import", 2, "import"),
        ("step", 3, "reject"),
        ("step", 4, "reject"),
        ("slow-update", 4, "forced"),
        ("step", 5, "reject"),
        ("step", 6, "accept-best"),
        ("slow-update", 6, "none"),
        ("end", 6, "end"),
    ]
    assert [r.score for r in records[:3]] == ["0/1", "1/4", "1/2"]
    assert [r.best for r in records] == ["0/1", "1/4", *["1/2"] * 6, *["3/4"] * 3]
    assert (records[7].score, records[7].score_soft, records[7].before) == ("5/12", "13/24", "1/2")
    tags = [list(row) for record in records[:-1] for row in record.refs if str(row[0]).startswith("refs/tags/")]
    listed = [*records[-1].refs, *tags]
    others = ("refs/heads/main", f"refs/skillgit/runs/{SKILL}/{run}")
    assert {row[0]: row[2] for row in listed} == {r: oid for r, oid in repos.refs(root).items() if r not in others}
    repo.close()


def test_every_commit_of_a_candidate_is_one_edit_of_its_record(root: Path, folder: Run) -> None:
    bring_in(root, folder)
    repo = Repository.open(root)
    named = [(e.step, e.number, e.row["op"], e.commit) for e in edits.accepted(repo, SKILL)]
    assert [row[:3] for row in named] == [
        (6, 1, "append"),
        (4, 1, "guidance"),
        *[(2, n, "append") for n in (4, 3, 2, 1)],
        *[(1, n, "append") for n in (4, 3, 2, 1)],
    ]
    assert named[0][3] == repos.git(root, "rev-parse", BRANCH)
    assert [item.entry is not None for item in story.rejected(repo, SKILL)] == [True] * 3
    repo.close()


def test_where_the_base_has_the_first_document_the_branch_begins_there(tmp_path: Path, folder: Run) -> None:
    root = same_first(tmp_path, folder)
    bring_in(root, folder)
    assert len(branch(root, "%H")) == 11
    assert branch(root, "%s")[0] == "skill(topics): add amber dock: Q347"
    assert trailer(root, f"{BRANCH}~11", "Skill-Name") == ""


def test_a_run_without_an_accepted_step_leaves_the_branch_at_the_base(tmp_path: Path, folder: Run) -> None:
    folder.stop_after(0)
    root = same_first(tmp_path, folder)
    done = bring_in(root, folder)
    assert (done.steps, done.best_step, done.best_score) == (0, 0, 0)
    assert repos.refs(root)[BRANCH] == repos.refs(root)[BEST_REF] == repos.git(root, "rev-parse", "main")


def test_a_partial_run_says_how_far_it_came(root: Path, folder: Run) -> None:
    folder.stop_after(3)
    bring_in(root, folder)
    repo = Repository.open(root)
    journal = read_journal(repo, history.runs(repo, SKILL)[0][1])
    assert journal.state.reason == "imported from the SkillOpt run run, up to step 3 of 6"
    assert journal.info.total_steps == 6
    repo.close()


def test_a_score_without_its_tasks_stands_in_the_journal_all_the_same(root: Path, folder: Run) -> None:
    folder.remove("steps/step_0006/selection_eval")
    done = bring_in(root, folder)
    assert (done.best_score, trailer(root, BRANCH, "Skill-Gate")) == (0.75, "strict hard")
    repo = Repository.open(root)
    scores = read_journal(repo, history.runs(repo, SKILL)[0][1]).scores
    assert scores == {trailer(root, BRANCH, "Skill-Blob"): {"(all of val)": [["3/4", "5/6"]]}}
    repo.close()


def test_the_document_keeps_its_mode(tmp_path: Path, folder: Run) -> None:
    root = repos.make_repo(tmp_path / "r", {DOCUMENT: f"{HEAD}# Ours\n"})
    repos.git(root, "update-index", "--chmod=+x", DOCUMENT)
    repos.git(root, "commit", "-q", "-m", "x")
    repos.git(root, "checkout", "-q", "-f", "HEAD")
    bring_in(root, folder)
    assert repos.git(root, "ls-tree", BRANCH, DOCUMENT).startswith("100755 blob ")


def test_all_or_nothing(tmp_path: Path, folder: Run) -> None:
    root = repos.make_repo(tmp_path / "r", {DOCUMENT: f"{HEAD}# Ours\n"})
    hook = root / ".git/hooks/reference-transaction"
    hook.write_text(
        '#!/bin/sh\n[ "$1" = prepared ] && grep -q epoch-03 && { echo no more epochs >&2; exit 1; }; exit 0\n'
    )
    hook.chmod(0o755)
    before = repos.refs(root)
    with pytest.raises(RefusedError, match="no more epochs"):
        bring_in(root, folder)
    assert repos.refs(root) == before
    hook.unlink()
    assert not bring_in(root, folder).here


def test_a_crash_inside_the_transaction_is_completed(tmp_path: Path, folder: Run) -> None:
    """The last entry of the journal lists branch, best and rejected candidates; doctor makes the tags again."""
    root = repos.make_repo(tmp_path / "r", {DOCUMENT: f"{HEAD}# Ours\n"})
    run = bring_in(root, folder).run
    whole = repos.refs(root)
    gone = [ref for ref in whole if ref not in ("refs/heads/main", f"refs/skillgit/runs/{SKILL}/{run}")]
    for ref in gone:
        repos.git(root, "update-ref", "-d", ref)
    lock_file = root / ".git/skillgit/locks" / f"{SKILL}.lock"
    owner = {"pid": 2**22 - 1, "host": "elsewhere", "started": "2025-01-01T00:00:00+00:00", "command": "import"}
    lock_file.write_text(json.dumps({**owner, "refs": gone}) + "\n")
    with locked(root) as (repo, lock):
        recover(repo, SKILL, lock, lambda _: None)
    assert repos.refs(root) == {ref: oid for ref, oid in whole.items() if not ref.startswith("refs/tags/")}
