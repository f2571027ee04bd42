"""Scores on commits whose document or val tasks are others: what plain git leaves behind, and what somebody forges."""

from __future__ import annotations

from pathlib import Path

from support import tampering
from support.training import BRANCH, DOCUMENT, SKILL, Yard, trailer

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.repair.mending import examine_skill
from skillgit.train.repair.scored import Mismatch, mismatches, scored, tips_of
from skillgit.train.repair.told import told


def found(root: Path) -> list[Mismatch]:
    repo, refs = Repository.open(root), SkillRefs(SKILL)
    try:
        known = told(repo, SKILL, dict(history.runs(repo, SKILL)))
        return list(mismatches(known, scored(repo, refs, tips_of(repo, refs), known.documents, DOCUMENT)))
    finally:
        repo.close()


def test_every_verdict_of_a_training_is_right(here: Yard) -> None:
    assert found(here.root) == []
    repo, refs = Repository.open(here.root), SkillRefs(SKILL)
    some = scored(repo, refs, tips_of(repo, refs), {}, DOCUMENT)
    repo.close()
    told_by_git = here.git(
        "log", "--branches=skill/*", "--glob=refs/skillgit/rejected", "--format=%H %(trailers:key=Skill-Decision)"
    )
    wanted = {line.split()[0] for line in told_by_git.splitlines() if "Skill-Decision" in line}
    assert {one.commit for one in some} == wanted
    assert len(wanted) == 4


def test_a_squash_leaves_a_score_of_another_document(here: Yard) -> None:
    tip = here.refs()[BRANCH]
    message = here.git("log", "-1", "--format=%B", tip)
    here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nNobody measured this.\n"}, message)
    (one,) = found(here.root)
    blobs = [here.git("rev-parse", f"{rev}:{DOCUMENT}") for rev in (tip, BRANCH)]
    assert one == Mismatch(here.refs()[BRANCH], "Skill-Blob", *blobs)
    repo = Repository.open(here.root)
    (shown,) = [one for one in examine_skill(repo, SKILL, DOCUMENT, repair=True) if one.problem]
    repo.close()
    assert shown.exit_code == 0  # it only has to be said: no command counts it
    assert str(shown.problem).startswith(
        f"{one.commit[:12]} carries the score of document {blobs[0][:12]}, "
        f"and has {blobs[1][:12]}; no command counts it"
    )


def test_a_deleted_document_has_no_score(here: Yard) -> None:
    message = here.git("log", "-1", "--format=%B", BRANCH)
    here.commit_on(BRANCH, {DOCUMENT: None}, message)
    (one,) = found(here.root)
    assert one.computed == "no document"


def test_other_val_tasks_than_the_journals(here: Yard) -> None:
    tip, val = here.refs()[BRANCH], trailer(here.root, BRANCH, "Skill-Val")
    forged = "sha256:" + "0" * 64
    here.git("update-ref", BRANCH, tampering.amended(here.root, tip, val, forged))
    (one,) = found(here.root)
    assert one == Mismatch(here.refs()[BRANCH], "Skill-Val", forged, val)


def test_another_skills_commits_are_not_looked_at(here: Yard) -> None:
    tip = here.refs()[BRANCH]
    message = here.git("log", "-1", "--format=%B", tip).replace(f"Skill-Name: {SKILL}", "Skill-Name: other")
    here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nx\n"}, message)
    assert found(here.root) == []
