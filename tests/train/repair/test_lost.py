"""Journals whose refs were lost or set back are found again, wherever something of them is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos, tampering
from support.training import BRANCH, DOCUMENT, SKILL, Yard

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.repair import lost
from skillgit.train.repair.findings import Flaw
from skillgit.train.repair.mending import examine_skill
from skillgit.train.repair.told import told


def flaws(root: Path) -> list[Flaw]:
    repo = Repository.open(root)
    try:
        return lost.flaws(repo, SkillRefs(SKILL), told(repo, SKILL, dict(history.runs(repo, SKILL))))
    finally:
        repo.close()


def repair(root: Path) -> None:
    repo = Repository.open(root)
    try:
        assert all(one.ok for one in examine_skill(repo, SKILL, DOCUMENT, repair=True))
    finally:
        repo.close()


def test_nothing_is_lost(here: Yard) -> None:
    assert flaws(here.root) == []


def test_a_journal_without_its_ref_is_found_among_the_objects(here: Yard) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tip, before = here.refs()[ref], here.refs()
    here.git("update-ref", "-d", ref)
    (flaw,) = flaws(here.root)
    assert flaw.said == f"the journal {ref} is missing; its entries are still here, in no ref"
    assert flaw.update is not None
    assert (flaw.update.old, flaw.update.new) == (None, tip)
    repair(here.root)
    assert here.refs() == before


def test_everything_is_brought_back_from_a_journal_in_no_ref(here: Yard) -> None:
    """All but the branch: its commits say which run they are of."""
    before = {ref: oid for ref, oid in here.refs().items() if "/evidence/" not in ref}
    for ref in here.refs():
        if ref not in (BRANCH, "refs/heads/main"):
            here.git("update-ref", "-d", ref)
    repair(here.root)
    assert here.refs() == before


def test_a_fetched_copy_is_taken_first(here: Yard) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tip = here.refs()[ref]
    copy = ref.replace("refs/skillgit/", "refs/skillgit/remotes/origin/")
    here.git("update-ref", copy, tip)
    here.git("update-ref", copy.replace("origin", "older"), f"{tip}~1")
    here.git("update-ref", "-d", ref)
    (flaw,) = flaws(here.root)
    assert flaw.said == f"the journal {ref} is missing; {copy} has it"
    assert flaw.update is not None
    assert flaw.update.new == tip


def test_a_journal_of_which_nothing_is_left_is_said(here: Yard) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    here.git("update-ref", "-d", ref)
    here.git("reflog", "expire", "--expire=now", "--all")
    here.git("gc", "-q", "--prune=now")
    (flaw,) = flaws(here.root)
    assert flaw.said == f"the journal {ref} is missing, and nothing of it was found here"
    assert flaw.update is None


def test_a_plain_clone_lacks_journals_and_nothing_is_wrong(here: Yard, tmp_path: Path) -> None:
    """Branch and tags came with git; the journal did not, and nobody lost it."""
    repos.git(tmp_path, "clone", "-q", "--no-local", str(here.root), "clone")
    clone = tmp_path / "clone"
    repos.git(clone, "branch", f"skill/{SKILL}", f"origin/skill/{SKILL}")
    assert len(repos.refs(clone, "refs/tags/skill/")) == 2
    assert flaws(clone) == []


@pytest.mark.parametrize("back", [1, 2, 3])
def test_a_journal_that_was_set_back_goes_forward(here: Yard, back: int) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tip, before = here.refs()[ref], here.refs()
    here.git("update-ref", ref, f"{tip}~{back}")
    now = here.refs()[ref]
    (flaw,) = flaws(here.root)
    assert flaw.said == f"the journal {ref} was set back to {now[:12]}"
    assert flaw.update is not None
    assert (flaw.update.old, flaw.update.new) == (now, tip)
    repair(here.root)
    assert here.refs() == before


def test_a_reflog_shows_a_journal_that_was_set_back(here: Yard) -> None:
    """With nothing else that knows of the later entry: no branch, no rejected ref."""
    ref = tampering.journal_ref(here.root, SKILL)
    tip = here.refs()[ref]
    here.git("config", "core.logAllRefUpdates", "always")
    here.git("update-ref", "-d", ref)
    here.git("update-ref", ref, tip)
    here.git("update-ref", ref, f"{tip}~1")
    here.git("update-ref", BRANCH, f"{BRANCH}~2")
    (flaw,) = flaws(here.root)
    assert flaw.update is not None
    assert flaw.update.new == tip


def test_an_entry_whose_transaction_was_refused_is_no_later_one(here: Yard) -> None:
    """A step that was written and then not taken stays behind in the objects: its refs never moved."""
    ref = tampering.journal_ref(here.root, SKILL)
    here.git("update-ref", ref, f"{ref}~1")
    for other in (BRANCH, "refs/skillgit/best/topics"):
        here.git("update-ref", other, f"{other}~2")
    for tag in here.refs("refs/tags/skill/"):
        if tag.endswith("epoch-02"):
            here.git("update-ref", "-d", tag)
    evidence = next(ref for ref in here.refs() if "/evidence/" in ref)
    here.git("update-ref", evidence, f"{evidence}~1")
    assert flaws(here.root) == []


def test_a_set_back_journal_whose_rest_is_gone_is_said(here: Yard) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    tip = here.refs()[ref]
    here.git("update-ref", ref, f"{tip}~2")
    (here.root / f".git/objects/{tip[:2]}/{tip[2:]}").unlink()
    between = here.git("rev-parse", f"{BRANCH}~0")
    (flaw,) = flaws(here.root)
    assert flaw.update is None or flaw.update.new != tip
    assert ref in flaw.said
    assert between == here.refs()[BRANCH]


def test_a_copy_of_a_step_that_somebody_made_is_no_sign(here: Yard) -> None:
    """A rebase leaves other commits of a known step on the branch."""
    tip = here.refs()[BRANCH]
    again = tampering.amended(here.root, tip, "Skill-Step: 4", "Skill-Step: 4\nReviewed-by: Somebody <s@example.com>")
    here.git("update-ref", BRANCH, again)
    assert flaws(here.root) == []
