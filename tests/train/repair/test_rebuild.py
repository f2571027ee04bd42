"""Refs that are not where the journals say: each is found, and mended unless something would be lost."""

from __future__ import annotations

import pytest
from support import repos, tampering
from support.training import BEST_REF, BRANCH, DOCUMENT, SKILL, Yard

from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository
from skillgit.train.repair.findings import Finding
from skillgit.train.repair.mending import examine_skill

OURS = ("refs/heads/skill/", "refs/skillgit/", "refs/tags/skill/")


def examined(here: Yard, *, repair: bool = False) -> list[Finding]:
    repo = Repository.open(here.root)
    try:
        return list(examine_skill(repo, SKILL, DOCUMENT, repair=repair))
    finally:
        repo.close()


def wrong(here: Yard, *, repair: bool = False) -> list[tuple[str, str]]:
    """What is wrong and stays so."""
    found = [one for one in examined(here, repair=repair) if not one.ok]
    assert all(one.exit_code == 2 for one in found)
    return [(one.what.removeprefix(f"{SKILL}: "), str(one.problem)) for one in found]


def ours(here: Yard) -> dict[str, str]:
    return {ref: oid for ref, oid in here.refs().items() if ref.startswith(OURS)}


def test_all_is_well_after_a_training(here: Yard) -> None:
    before = here.refs()
    for repair in (False, True):
        (one,) = examined(here, repair=repair)
        said = "1 run, 5 entries, 2 rejected refs, 2 tags: all refs are where the journals say"
        assert (one.what, one.detail, one.problem) == (f"{SKILL}: history", said, None)
    assert here.refs() == before


def test_a_skill_without_a_journal_is_no_problem(here: Yard) -> None:
    for ref in ours(here):
        here.git("update-ref", "-d", ref)
    (one,) = examined(here)
    assert (one.detail, one.problem) == ("no journal here", None)


@pytest.mark.parametrize("kind", [BRANCH, BEST_REF, "refs/skillgit/rejected/", "refs/tags/skill/"])
def test_what_is_missing_is_set_again(here: Yard, kind: str) -> None:
    before = ours(here)
    gone = [ref for ref in before if ref.startswith(kind)]
    for ref in gone:
        here.git("update-ref", "-d", ref)
    after = ours(here)
    found = wrong(here)
    assert [text.split(" is missing; ")[0] for _, text in found] == [ref.replace("refs/heads/", "") for ref in gone]
    assert all(f"with `skillgit doctor --repair {SKILL}` it is set to " in text for _, text in found)
    assert ours(here) == after, "looking moves nothing"
    mended = examined(here, repair=True)
    assert [one.repaired is not None for one in mended] == [True] * len(gone)
    assert ours(here) == before
    assert wrong(here) == []


def test_all_at_once_is_one_transaction(here: Yard) -> None:
    before = ours(here)
    for ref in before:
        if "/runs/" not in ref:
            here.git("update-ref", "-d", ref)
    hook = here.root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" = committed ] && echo x >> "$(git rev-parse --git-common-dir)/seen"\nexit 0\n')
    hook.chmod(0o755)
    assert wrong(here, repair=True) == []
    assert (here.root / ".git/seen").read_text() == "x\n"
    # The evidence is no ref that a journal can bring back from nothing, but its commit is in the objects.
    evidence = {ref for ref in before if "/evidence/" in ref}
    assert {ref: oid for ref, oid in before.items() if ref not in evidence} == ours(here)


def test_peoples_commits_on_top_stay(here: Yard) -> None:
    tip = here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nMore.\n"})
    assert wrong(here, repair=True) == []
    assert here.refs()[BRANCH] == tip


def test_a_branch_that_was_set_back_goes_forward(here: Yard) -> None:
    tip = here.refs()[BRANCH]
    back = here.git("rev-parse", f"{BRANCH}~2")
    here.git("update-ref", BRANCH, back)
    ((what, said),) = wrong(here)
    assert (what, said.split(";")[0]) == ("branch", f"skill/{SKILL} was rewound to {back[:12]}")
    assert wrong(here, repair=True) == []
    assert here.refs()[BRANCH] == tip


def test_a_branch_that_went_another_way_is_only_said(here: Yard) -> None:
    wanted = here.refs()[BRANCH]
    here.git("update-ref", BRANCH, f"{BRANCH}~1")
    other = here.commit_on(BRANCH, {DOCUMENT: here.text() + "\nAnother way.\n"})
    for repair in (False, True):
        ((what, said),) = wrong(here, repair=repair)
        assert what == "branch"
        assert said.startswith(
            f"skill/{SKILL} is at {other[:12]}, which does not have the journal's tip {wanted[:12]}; "
        )
        assert here.refs()[BRANCH] == other


def test_a_branch_that_is_checked_out_is_not_moved(here: Yard, tmp_path_factory: pytest.TempPathFactory) -> None:
    here.git("update-ref", BRANCH, f"{BRANCH}~2")
    back, other = here.refs()[BRANCH], tmp_path_factory.mktemp("linked") / "tree"
    here.git("worktree", "add", "-q", str(other), f"skill/{SKILL}")
    ((what, said),) = wrong(here, repair=True)
    assert what == "branch"
    assert f"skill/{SKILL} is checked out at {other}; switch that work tree to another branch" in said
    assert here.refs()[BRANCH] == back


def test_best_that_somebody_moved_comes_back_where_nothing_is_lost(here: Yard) -> None:
    best = here.refs()[BEST_REF]
    here.git("update-ref", BEST_REF, "main")
    ((what, said),) = wrong(here)
    main = here.git("rev-parse", "main")
    assert (what, said.split(";")[0]) == ("best", f"{BEST_REF} is at {main[:12]}, the journal says {best[:12]}")
    assert wrong(here, repair=True) == []
    assert here.refs()[BEST_REF] == best


def test_what_nothing_else_keeps_is_not_overwritten(here: Yard) -> None:
    rejected = next(ref for ref in here.refs() if "/rejected/" in ref)
    for ref in (BEST_REF, rejected):
        alone = here.commit_on(ref, {DOCUMENT: "Kept by this ref alone.\n"})
        ((_, said),) = wrong(here, repair=True)
        assert f"nothing else keeps {alone[:12]}" in said
        assert here.refs()[ref] == alone
        here.git("update-ref", ref, f"{alone}~1")


def test_pruned_candidates_are_not_brought_back(here: Yard) -> None:
    one, other = (ref for ref in here.refs() if "/rejected/" in ref)
    for ref in (one, other):
        here.git("update-ref", "-d", ref)
    blob = here.git("hash-object", "-w", "--stdin", input=f"{one}\n")
    here.git("update-ref", f"refs/skillgit/pruned/{SKILL}", blob)
    assert [text.split(" ")[0] for _, text in wrong(here)] == [other]
    assert wrong(here, repair=True) == []
    assert one not in here.refs()
    assert other in here.refs()


def test_a_tag_whose_object_is_gone_is_written_again(here: Yard) -> None:
    tag = next(ref for ref in here.refs("refs/tags/skill/"))
    message, names = (here.git("for-each-ref", f"--format={what}", tag) for what in ("%(contents)", "%(*objectname)"))
    oid = here.git("rev-parse", tag)
    here.git("update-ref", "-d", tag)
    (here.root / f".git/objects/{oid[:2]}/{oid[2:]}").unlink()
    ((what, said),) = wrong(here)
    assert (what, said) == (
        "tags",
        f"{tag} is missing; with `skillgit doctor --repair {SKILL}` it is written again on {names[:12]}",
    )
    assert wrong(here, repair=True) == []
    assert here.git("for-each-ref", "--format=%(contents)", tag) == message
    assert here.git("for-each-ref", "--format=%(*objectname)", tag) == names
    assert wrong(here) == []
    repos.fsck(here.root)


def test_a_tag_that_was_moved_goes_back(here: Yard) -> None:
    tag, oid = next(iter(here.refs("refs/tags/skill/").items()))
    here.git("tag", "-f", tag.removeprefix("refs/tags/"), "main")
    ((what, _),) = wrong(here)
    assert what == "tags"
    assert wrong(here, repair=True) == []
    assert here.refs()[tag] == oid


def test_what_points_to_a_commit_that_is_not_here_is_said(here: Yard) -> None:
    def lost(number: int, files: dict[str, dict[str, object]]) -> None:
        files["state.json"]["best_commit"] = "1" * 40

    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), lost)
    best = here.refs()[BEST_REF]
    for repair in (False, True):
        ((what, said),) = wrong(here, repair=repair)
        assert what == "best"
        assert said == (
            f"{BEST_REF} is at {best[:12]}, the journal's 111111111111 is not here; get it with `skillgit fetch`"
        )


def test_a_journal_cannot_name_other_peoples_refs(here: Yard) -> None:
    main, tip = here.git("rev-parse", "main"), here.git("rev-parse", BRANCH)
    rejected = next(ref for ref in here.refs() if "/rejected/" in ref)

    def grasping(number: int, files: dict[str, dict[str, list[object]]]) -> None:
        files["step.json"]["refs"] += [["refs/heads/main", main, tip], [f"{rejected}9", None, tip], ["refs/heads/new"]]

    tampering.rewrite(here.root, tampering.journal_ref(here.root, SKILL), grasping)
    before = here.refs()
    assert wrong(here, repair=False) == []
    examined(here, repair=True)
    assert here.refs() == before


def test_an_owner_that_died_in_its_transaction_is_completed(here: Yard) -> None:
    """As a kill between two refs leaves it: the journal has moved, the branch has not, its lock file is there."""
    tip = here.refs()[BRANCH]
    back = here.git("rev-parse", f"{BRANCH}~2")
    refs = [row[0] for row in tampering.read(here.root, tampering.journal_ref(here.root, SKILL))["step.json"]["refs"]]
    repo = Repository.open(here.root)
    lock = SkillLock.acquire(repo, SKILL, "train")
    lock.expect([str(ref) for ref in refs])
    lock.release()  # what was not settled stays written down
    here.git("update-ref", BRANCH, back)
    (here.root / f".git/{BRANCH}.lock").write_text("")
    owner = here.root / f".git/skillgit/locks/{SKILL}.lock"
    owner.write_text(owner.read_text().replace(f'"pid": {lock.owner.pid}', '"pid": 4194399'))
    found = wrong(here)
    assert found[0][0] == "transaction"
    assert found[0][1].startswith("process 4194399 on ")
    assert f"ended while it moved {len(refs)} refs; `skillgit doctor --repair {SKILL}`" in found[0][1]
    mended = examined(here, repair=True)
    assert all(one.ok for one in mended)
    said = [str(one.repaired) for one in mended if one.repaired]
    assert said[0].startswith(f"took over the lock of skill {SKILL} from process 4194399")
    assert "removed the leftover lock file topics.lock of an interrupted transaction" in said
    assert f"{BRANCH} was brought to {tip[:12]}: its transaction was interrupted" in said
    assert here.refs()[BRANCH] == tip
    assert not (here.root / f".git/{BRANCH}.lock").exists()
    assert wrong(here) == []


def test_a_living_owner_is_not_disturbed(here: Yard) -> None:
    here.git("update-ref", "-d", BEST_REF)
    repo = Repository.open(here.root)
    with SkillLock.acquire(repo, SKILL, "train"):
        ((what, said),) = wrong(here, repair=True)
    assert (what, said.split(" by ")[0]) == ("lock", f"skill {SKILL} is in use")
    assert BEST_REF not in here.refs()


@pytest.mark.parametrize(
    ("blocking", "mend"),
    {
        "refs/heads/skill": "rename that branch: git branch -m skill skill-old",
        "refs/tags/skill": "rename that tag: git tag skill-old skill && git tag -d skill",
        f"refs/tags/skill/{SKILL}": f"rename that tag: git tag skill-{SKILL}-old skill/{SKILL} "
        f"&& git tag -d skill/{SKILL}",
        "refs/skillgit/runs": "give it another name, then run: git update-ref -d refs/skillgit/runs",
        "refs/skillgit": "give it another name, then run: git update-ref -d refs/skillgit",
        f"refs/skillgit/rejected/{SKILL}": "give it another name, then run: "
        f"git update-ref -d refs/skillgit/rejected/{SKILL}",
        f"{BEST_REF}/deeper": f"give it another name, then run: git update-ref -d {BEST_REF}/deeper",
    }.items(),
)
def test_names_in_the_way_are_said_and_never_renamed(here: Yard, blocking: str, mend: str) -> None:
    for ref in ours(here):
        here.git("update-ref", "-d", ref)
    here.git("update-ref", blocking, "main")
    for repair in (False, True):
        found = [text for what, text in wrong(here, repair=repair) if what == "names"]
        assert len(found) == 1
        assert found[0].startswith(f"{blocking} is in the way of ")
        assert found[0].endswith(f"; {mend}")
        assert blocking in here.refs()


def test_a_journal_that_cannot_be_read_is_said_and_moves_nothing(here: Yard) -> None:
    ref = tampering.journal_ref(here.root, SKILL)
    here.git("update-ref", "-d", BEST_REF)
    tampering.replace_last(here.root, ref, {"step.json": b"["})
    before = here.refs()
    for repair in (False, True):
        found = wrong(here, repair=repair)
        assert ("journals", f"{ref}: journal {before[ref][:12]}: step.json is no JSON object") in [
            (what, text.split(";")[0]) for what, text in found
        ]
        assert here.refs() == before
