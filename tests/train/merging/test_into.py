"""Bringing the best document to the base branch, whose checkout, index and other work survive."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import repos, training
from support.merging import CONFIG, LONG, bring
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.world import Kinds, TopicWorld

from skillgit.errors import ConflictError, RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.notes import read_notes
from skillgit.store.repository import Repository
from skillgit.train.events import Note
from skillgit.train.merging.into import merge
from skillgit.train.project import Project

MakeYard = Callable[..., Yard]


async def test_the_merge_commit(trained: Yard) -> None:
    base, best = trained.git("rev-parse", "main"), trained.refs(BEST_REF)[BEST_REF]
    done = await bring(trained.root)
    assert done.commit == trained.git("rev-parse", "main")
    assert trained.git("rev-parse", "main^1", "main^2").splitlines() == [base, best]
    assert trained.git("cat-file", "blob", f"main:{DOCUMENT}") == trained.git("cat-file", "blob", f"main:{BEST}")
    assert trained.text("main") == trained.text(best)
    assert (done.document, done.best_file, done.verdict) == (DOCUMENT, BEST, None)
    subject = trained.git("log", "-1", "--format=%s", "main")
    assert subject == "skill(topics): merge the best document into main"
    assert training.trailer(trained.root, "main", "Skill-Kind") == "merge"
    assert training.trailer(trained.root, "main", "Skill-Score") == f"{float(done.score or 0):.6f}" == "0.500000"
    assert training.trailer(trained.root, "main", "Skill-Blob") == trained.git("rev-parse", f"main:{BEST}")
    # The checkout went along.
    assert trained.git("status", "--porcelain") == ""
    assert (trained.root / BEST).read_bytes() == (trained.root / DOCUMENT).read_bytes()
    assert trained.git("diff", "--name-only", base, "main").splitlines() == [DOCUMENT, BEST]
    repos.fsck(trained.root)


async def test_a_second_merge_does_nothing(trained: Yard) -> None:
    await bring(trained.root)
    before, asked = trained.refs(), trained.server.count
    done = await bring(trained.root)
    assert done.commit is None
    assert trained.refs() == before
    assert trained.server.count == asked


async def test_other_work_in_the_checkout_survives(trained: Yard) -> None:
    repos.commit(trained.root, {"a.txt": "a\n", "b.txt": "b\n"}, "Other files")
    (trained.root / "a.txt").write_text("changed\n")
    (trained.root / "b.txt").write_text("staged\n")
    trained.git("add", "b.txt")
    (trained.root / "untracked.txt").write_text("new\n")
    await bring(trained.root)
    status = trained.git("status", "--porcelain").splitlines()
    assert status == [" M a.txt", "M  b.txt", "?? untracked.txt"]
    assert (trained.root / "a.txt").read_text() == "changed\n"
    assert "none so far" in (trained.root / BEST).read_text()


@pytest.mark.parametrize("path", [DOCUMENT, BEST], ids=["document", "best_skill"])
async def test_what_would_be_lost_is_refused(trained: Yard, path: str) -> None:
    (trained.root / path).write_text("mine\n")
    before = trained.refs()
    with pytest.raises(RefusedError, match=path) as caught:
        await bring(trained.root)
    assert caught.value.exit_code == 2
    assert trained.refs() == before
    assert (trained.root / path).read_text() == "mine\n"


async def test_a_base_that_is_checked_out_nowhere(trained: Yard) -> None:
    trained.git("checkout", "-q", "-b", "elsewhere")
    done = await bring(trained.root)
    assert trained.git("rev-parse", "main") == done.commit
    assert trained.git("status", "--porcelain") == ""
    assert not (trained.root / BEST).exists()


async def test_a_base_in_a_linked_work_tree(trained: Yard, tmp_path: Path) -> None:
    trained.git("checkout", "-q", "-b", "elsewhere")
    linked = tmp_path / "linked"
    trained.git("worktree", "add", "-q", str(linked), "main")
    await bring(trained.root)
    assert (linked / BEST).read_bytes() == (linked / DOCUMENT).read_bytes()
    assert repos.git(linked, "status", "--porcelain") == ""
    assert not (trained.root / BEST).exists()


async def test_a_base_that_changed_elsewhere_is_merged_with_it(trained: Yard) -> None:
    repos.commit(trained.root, {"README.md": "hello\n"}, "On main")
    asked = trained.server.count
    done = await bring(trained.root)
    assert done.verdict is None
    assert trained.server.count == asked
    assert trained.git("show", "main:README.md") == "hello"
    assert trained.text("main") == trained.text(BEST_REF) == trained.text("main", BEST)


async def test_a_document_that_changed_on_the_base_is_gated(trained: Yard) -> None:
    """Theirs and best's merge to a new document, measured against theirs."""
    theirs = LONG.replace("First things first.", "First things first, please.")
    repos.commit(trained.root, {DOCUMENT: theirs}, "A person's words")
    done = await bring(trained.root)
    assert done.verdict is not None
    assert done.verdict.decision == "accept"
    text = trained.text("main")
    assert "please" in text
    assert text.count("\n- ") == 5
    assert trained.text("main", BEST) == text
    # Four of eight codes, two val tasks each; the person's words change nothing, and theirs knows no code.
    assert (done.score, done.verdict.before, done.below_best) == (Fraction(1, 2), 0, None)
    blob = trained.git("rev-parse", f"main:{DOCUMENT}")
    found = dict(line.split(": ") for line in trained.git("log", "-1", "--format=%(trailers)", "main").splitlines())
    assert found.pop("Skill-Cost").startswith("calls=32 ")  # two documents of 16 tasks
    journal = training.journal(trained.root)
    assert found == {
        "Skill-Name": "topics",
        "Skill-Run": journal.info.run,
        "Skill-Kind": "merge",
        "Skill-Decision": "accept",
        "Skill-Score": "0.500000",
        "Skill-Score-Before": "0.000000",
        "Skill-Score-Hard": "0.500000",
        "Skill-Score-Soft": "0.500000",
        "Skill-Gate": "strict hard n=16 repeats=1",
        "Skill-Blob": blob,
        "Skill-Val": journal.state.val,
        "Skill-Target": "openai/sim",
    }
    assert (await bring(trained.root)).commit is None


async def test_what_a_merge_measured_is_noted_on_the_blobs(trained: Yard) -> None:
    theirs = LONG.replace("First things first.", "First things first, please.")
    base = repos.commit(trained.root, {DOCUMENT: theirs}, "A person's words")
    await bring(trained.root)
    repo, journal = Repository.open(trained.root), training.journal(trained.root)
    for rev, hard in (("main", "1/2"), (base, "0/1")):
        (fact,) = read_notes(repo, trained.git("rev-parse", f"{rev}:{DOCUMENT}"))
        assert (fact["kind"], fact["split"], fact["hard"], fact["tasks"]) == ("score", "val", hard, 16)
        assert (fact["digest"], fact["target"]) == (journal.state.val, "openai/sim")


async def test_a_merge_below_best_is_allowed_and_said(yard: MakeYard) -> None:
    """A person spoils the one code that the document knew before training: four of best's five are left."""
    world = TopicWorld(8, 1, kinds=Kinds(100, 0))
    rule = world.rule(next(iter(world.codes)))
    document = LONG.replace("First things first.", f"First things first.\n\n{rule}")
    here = yard(world, config=CONFIG, document=document)
    await here.train()
    repos.commit(here.root, {DOCUMENT: document.replace(rule, rule[:-4] + "none")}, "Not any more")
    done = await bring(here.root)
    assert (done.score, done.below_best) == (Fraction(4, 8), Fraction(5, 8))
    assert done.to_json()["below_best"] == 0.625
    assert here.git("for-each-ref", "--format=%(contents:body)", "refs/tags/skill/topics/v1").splitlines()[:4] == [
        "document     score",
        "released  0.500000",
        "before    0.000000",
        "best      0.625000",
    ]


async def test_a_merged_document_that_is_no_better_is_refused(trained: Yard) -> None:
    """People found all the codes themselves."""
    words = LONG.replace("First things first.", "\n".join(trained.world.rule(t) for t in trained.world.codes))
    repos.commit(trained.root, {DOCUMENT: words}, "All by hand")
    before = trained.refs()
    with pytest.raises(RefusedError, match="not better than the document there") as caught:
        await bring(trained.root)
    assert "train again" in str(caught.value)
    assert trained.refs() == before


async def test_a_conflict_moves_nothing_and_shows_both_sides(trained: Yard) -> None:
    repos.commit(trained.root, {DOCUMENT: LONG.replace("- none so far", "- all of them")}, "The same lines")
    repos.commit(trained.root, {DOCUMENT: LONG + "- mine is at the end\n"}, "The same place")
    before = trained.refs()
    with pytest.raises(ConflictError, match=DOCUMENT) as caught:
        await bring(trained.root)
    first = trained.steps[1].edits[0]["content"]
    assert "- mine is at the end" in caught.value.shown
    assert first in caught.value.shown
    assert "<<<<<<<" in caught.value.shown
    assert trained.refs() == before
    assert trained.git("status", "--porcelain") == ""


async def test_a_conflict_in_another_file_is_named(trained: Yard) -> None:
    trained.commit_on(BRANCH, {"other.txt": "one\n"})
    await trained.train()  # a new best on top of it
    repos.commit(trained.root, {"other.txt": "two\n"}, "On main")
    with pytest.raises(RefusedError, match=r"conflicts in other\.txt"):
        await bring(trained.root)


async def test_where_training_found_nothing_people_keep_theirs(yard: MakeYard) -> None:
    here = yard(TopicWorld(8, 1, kinds=Kinds(0, 0)), config=CONFIG, document=LONG)
    await here.train()
    assert (await bring(here.root)).commit is None  # a merge would have the same parent twice
    repos.commit(here.root, {DOCUMENT: LONG + "\nTheirs.\n"}, "Theirs")
    with pytest.raises(RefusedError, match="found nothing better since"):
        await bring(here.root)


async def test_training_goes_on_after_a_merge_and_is_merged_again(trained: Yard) -> None:
    first = await bring(trained.root)
    repos.commit(trained.root, {"README.md": "hello\n"}, "On main")
    await trained.train()
    assert trained.git("merge-base", str(first.commit), BRANCH) == first.commit
    second = await bring(trained.root)
    assert second.commit is not None
    assert trained.text("main").count("\n- ") > 5
    assert trained.text("main") == trained.text("main", BEST) == trained.text(BEST_REF)
    assert trained.git("show", "main:README.md") == "hello"
    assert trained.git("status", "--porcelain") == ""
    repos.fsck(trained.root)


async def test_a_best_skill_that_people_touched_is_written_anew(trained: Yard) -> None:
    """It is never merged by content."""
    await bring(trained.root)
    repos.commit(trained.root, {BEST: "scribbled\n"}, "By hand")
    done = await bring(trained.root)
    assert done.commit is not None
    assert trained.text("main", BEST) == trained.text("main")


async def test_what_cannot_be_merged(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), config=CONFIG)
    with pytest.raises(RepositoryError, match="nothing was trained yet"):
        await bring(here.root)
    await here.train()
    with pytest.raises(RepositoryError, match="no branch nowhere"):
        await bring(here.root, "nowhere")
    with pytest.raises(RefusedError, match="training branch itself"):
        await bring(here.root, "skill/topics")


async def test_what_a_dead_owner_left_is_cleaned_up_first(trained: Yard) -> None:
    """Its lock names the refs that it was moving; their lock files would be in the way."""
    repo = Repository.open(trained.root)
    lock = SkillLock.acquire(repo, SKILL, "merge")
    lock.expect(["refs/heads/main"])
    lock.release()  # without having settled: as if it had died
    left = trained.root / ".git/refs/heads/main.lock"
    left.write_text("0" * 40 + "\n")
    told: list[Any] = []
    done = await bring(trained.root, told=told)
    assert done.commit == trained.git("rev-parse", "main")
    assert any(isinstance(event, Note) and "main.lock" in event.text for event in told)
    assert not left.exists()


async def test_a_gate_that_cannot_be_measured_moves_nothing(trained: Yard) -> None:
    theirs = LONG.replace("First things first.", "First things first, please.")
    repos.commit(trained.root, {DOCUMENT: theirs}, "A person's words")
    before = trained.refs()

    async def broken(work: Any, *, optimizer: bool = False) -> Any:
        raise RefusedError("no model")

    project = Project.open(trained.root)
    with SkillLock.acquire(project.repo, SKILL) as lock, pytest.raises(RefusedError, match="no model"):
        await merge(project.repo, SKILL, project.config.skill(SKILL), "main", broken, lock=lock)
    assert trained.refs() == before


async def test_a_best_skill_written_anew_has_no_second_parent(trained: Yard) -> None:
    await bring(trained.root)
    base = repos.commit(trained.root, {BEST: "scribbled\n"}, "By hand")
    await bring(trained.root)
    assert trained.git("rev-list", "--parents", "-1", "main").split()[1:] == [base]
