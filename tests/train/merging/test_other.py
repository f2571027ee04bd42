"""Merge another training branch of a skill: gated on the tip's document, an entry of the journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos, training
from support.merging import CONFIG, LONG, bring, join
from support.training import BEST_REF, BRANCH, DOCUMENT, Yard
from support.world import Kinds, TopicWorld

from skillgit.errors import ConflictError, InterruptedRunError, RefusedError, RepositoryError

FORK = "refs/heads/fork"


def known(trained: Yard) -> list[str]:
    """The topics that training has found, in the document's order."""
    text = trained.text()
    return sorted((t for t in trained.world.codes if trained.world.rule(t) in text), key=text.index)


def fork(trained: Yard, change: str) -> str:
    """Another branch from where training began, with codes that it has not found, above its lines."""
    trained.git("update-ref", FORK, "main")
    new = [t for t in trained.world.codes if t not in known(trained)][:2]
    rules = "\n".join(trained.world.rule(t) for t in new)
    text = {
        "elsewhere": LONG.replace("First things first.", rules),
        "same place": LONG + rules + "\n",
        "nothing better": LONG.replace("First things first.", "First of all."),
    }[change]
    return trained.commit_on(FORK, {DOCUMENT: text}, "On the fork")


async def test_a_better_merge_is_a_commit_with_both_parents(trained: Yard) -> None:
    tip, other = trained.git("rev-parse", BRANCH), fork(trained, "elsewhere")
    done = await join(trained.root, "fork")
    assert done is not None
    assert done.record.decision == "accept-best"
    merged = trained.git("rev-parse", BRANCH)
    assert trained.git("rev-parse", f"{BRANCH}^1", f"{BRANCH}^2").splitlines() == [tip, other]
    assert trained.refs(BEST_REF)[BEST_REF] == merged == done.record.commits[-1]
    # Four codes of eight were known; two more came.
    text = trained.text()
    assert sum(trained.world.rule(t) in text for t in trained.world.codes) == 6
    found = {
        key: training.trailer(trained.root, merged, f"Skill-{key}") for key in ("Kind", "Edit", "Score", "Decision")
    }
    assert found == {"Kind": "merge", "Edit": "1/1 merge", "Score": "0.750000", "Decision": "accept-best"}
    assert training.trailer(trained.root, merged, "Skill-Score-Before") == "0.500000"
    assert training.trailer(trained.root, merged, "Skill-Blob") == trained.git("rev-parse", f"{BRANCH}:{DOCUMENT}")
    assert (
        trained.git("log", "-1", "--format=%s", BRANCH) == f"skill(topics): merge two documents: fork at {other[:12]}"
    )
    entry = trained.steps[-1]
    assert (entry.kind, entry.decision, entry.score, entry.before) == ("merge", "accept-best", "3/4", "1/2")
    assert trained.git("status", "--porcelain") == ""
    assert trained.git("tag", "-l", "skill/topics/v*") == ""
    repos.fsck(trained.root)


async def test_training_and_the_merge_into_the_base_go_on_from_there(trained: Yard) -> None:
    fork(trained, "elsewhere")
    await join(trained.root, "fork")
    await trained.train()
    assert training.journal(trained.root).state.status == "finished"
    done = await bring(trained.root)
    assert trained.text("main") == trained.text(BEST_REF)
    assert done.score is not None
    assert done.score >= 0.75
    repos.fsck(trained.root)


async def test_a_merge_that_is_no_better_is_a_rejected_candidate(trained: Yard) -> None:
    before, other = trained.git("rev-parse", BRANCH), fork(trained, "nothing better")
    done = await join(trained.root, "fork")
    assert done is not None
    assert done.record.decision == "reject"
    assert trained.git("rev-parse", BRANCH) == before
    (ref,) = [
        ref for ref, commit in trained.refs("refs/skillgit/rejected/topics/").items() if commit in done.record.commits
    ]
    assert trained.git("rev-parse", f"{ref}^1", f"{ref}^2").splitlines() == [before, other]


@pytest.mark.parametrize("rev", ["skill/topics", "main", "skill/topics~1", "refs/skillgit/best/topics"])
async def test_what_the_branch_has_is_merged_already(trained: Yard, rev: str) -> None:
    before, asked = trained.refs(), trained.server.count
    assert await join(trained.root, rev) is None
    assert trained.refs() == before
    assert trained.server.count == asked


async def test_a_branch_whose_document_brings_nothing(trained: Yard) -> None:
    trained.git("update-ref", FORK, "main")
    trained.commit_on(FORK, {"other.txt": "other\n"}, "Elsewhere")
    before, asked = trained.refs(), trained.server.count
    assert await join(trained.root, "fork") is None
    assert (trained.refs(), trained.server.count) == (before, asked)


async def test_a_branch_that_is_ahead_is_never_fast_forwarded(trained: Yard) -> None:
    tip = trained.git("rev-parse", BRANCH)
    trained.git("update-ref", FORK, BRANCH)
    more = next(t for t in trained.world.codes if t not in known(trained))
    other = trained.commit_on(FORK, {DOCUMENT: trained.text() + trained.world.rule(more) + "\n"}, "One more")
    done = await join(trained.root, "fork")
    assert done is not None
    assert done.record.score == "5/8"
    assert trained.git("rev-parse", f"{BRANCH}^1", f"{BRANCH}^2").splitlines() == [tip, other]


async def test_a_conflict_shows_both_sides_before_any_call(trained: Yard) -> None:
    other = fork(trained, "same place")
    before, asked = trained.refs(), trained.server.count
    with pytest.raises(
        ConflictError, match=r"skill/topics and the other side changed the same lines; .*--resolve"
    ) as caught:
        await join(trained.root, "fork")
    assert (trained.refs(), trained.server.count) == (before, asked)
    (conflict,) = caught.value.conflicts
    assert (conflict["ours"]["name"], conflict["theirs"]["name"]) == ("skill/topics", "fork")
    assert [o["commit"] for o in conflict["theirs"]["commits"]] == [other]
    assert [o["step"] for o in conflict["ours"]["commits"]] == [1, 1, 1, 1]


async def test_a_conflict_that_the_optimizer_settles(trained: Yard) -> None:
    tip, other = trained.git("rev-parse", BRANCH), fork(trained, "same place")
    done = await join(trained.root, "fork", resolve=True)
    assert done is not None
    assert (done.record.decision, done.record.score) == ("accept-best", "3/4")
    assert trained.git("rev-parse", f"{BRANCH}^1", f"{BRANCH}^2").splitlines() == [tip, other]
    body = trained.git("log", "-1", "--format=%b", BRANCH)
    assert f"Merges fork at {other[:12]}. 1 conflict settled by the optimizer: Both." in " ".join(body.split())
    # The incumbent's scores are known: one document on 16 tasks at most, and the question.
    assert done.record.cost["calls"] == 17
    repos.fsck(trained.root)


async def test_two_trainings_of_two_clones(trained: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each found another code in its next step, and appended it in the same place."""
    clone = training.copied(trained, tmp_path / "clone", monkeypatch)
    for where, seed in ((clone, 7), (trained, 9)):
        with pytest.raises(InterruptedRunError):
            await where.train("train.batch_size=4", f"train.seed={seed}", "optimizer.learning_rate=1", entries=1)
    mine, other = known(trained), known(clone)
    assert (len(mine), len(other), len({*mine, *other})) == (5, 5, 6)
    trained.git("fetch", "-q", str(clone.root), f"{BRANCH}:refs/remotes/other/skill/topics")
    tip = trained.git("rev-parse", BRANCH)
    with pytest.raises(ConflictError) as caught:
        await join(trained.root, "other/skill/topics")
    (conflict,) = caught.value.conflicts
    # The clone's journal is not here: its commit tells its step, and no score that nothing here bears out.
    ((ours, theirs),) = zip(conflict["ours"]["commits"], conflict["theirs"]["commits"], strict=True)
    assert (ours["step"], ours["delta"]) == (1, 0.125)
    assert (theirs["step"], theirs["delta"]) == (1, None)
    done = await join(trained.root, "other/skill/topics", resolve=True)
    assert done is not None
    assert (done.record.decision, done.record.score, done.record.before) == ("accept-best", "3/4", "5/8")
    assert set(known(trained)) == {*mine, *other}
    assert trained.git("rev-parse", f"{BRANCH}^1") == tip
    # The run that was under way goes on from there.
    await trained.train("train.batch_size=4", "train.seed=9", "optimizer.learning_rate=1")
    assert training.journal(trained.root).info.run == done.run
    assert trained.git("merge-base", done.record.commits[-1], BRANCH) == done.record.commits[-1]
    repos.fsck(trained.root)


async def test_a_person_s_commit_on_the_tip_is_measured_first(trained: Yard) -> None:
    fork(trained, "elsewhere")
    person = trained.commit_on(BRANCH, {DOCUMENT: trained.text() + "\nA word.\n"}, "A word")
    done = await join(trained.root, "fork")
    assert done is not None
    assert [entry.kind for entry in trained.steps[-2:]] == ["human", "merge"]
    assert trained.git("rev-parse", f"{BRANCH}^1") == person


async def test_other_files_and_deleted_documents_are_refused(trained: Yard) -> None:
    fork(trained, "elsewhere")
    trained.commit_on(BRANCH, {"other.txt": "one\n"})
    trained.commit_on(FORK, {"other.txt": "two\n"})
    with pytest.raises(RefusedError, match=r"conflicts in other\.txt"):
        await join(trained.root, "fork")
    trained.commit_on(FORK, {DOCUMENT: None})
    with pytest.raises(RefusedError, match=f"{DOCUMENT} is not on fork: it was deleted or renamed"):
        await join(trained.root, "fork", resolve=True)


async def test_a_conflict_in_best_skill_is_none(trained: Yard) -> None:
    """It is never merged by content: the tip's stays."""
    fork(trained, "elsewhere")
    best = "skills/topics/best_skill.md"
    trained.commit_on(BRANCH, {best: "one\n"})
    trained.commit_on(FORK, {best: "two\n"})
    done = await join(trained.root, "fork")
    assert done is not None
    assert trained.text(BRANCH, best) == "one\n"


async def test_what_cannot_be_merged(trained: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RepositoryError, match="nowhere: no such revision"):
        await join(trained.root, "nowhere")
    with pytest.raises(RefusedError, match="is no revision"):
        await join(trained.root, "--all")
    alone = trained.git("commit-tree", "main^{tree}", "-m", "alone")
    with pytest.raises(RefusedError, match="share no history"):
        await join(trained.root, alone)
    fork(trained, "elsewhere")
    trained.git("checkout", "-q", "skill/topics")
    with pytest.raises(RefusedError, match="is checked out at"):
        await join(trained.root, "fork")
    fresh = training.make(tmp_path / "fresh", TopicWorld(4, 1, kinds=Kinds(0, 0)), config=CONFIG)
    with pytest.raises(RefusedError, match="was not trained yet"):
        await join(fresh, "main")
