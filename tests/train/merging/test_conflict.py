"""A conflict of the document: nothing moves, and both sides are shown with what brought their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos
from support.merging import LONG, bring
from support.training import BRANCH, DOCUMENT, Yard

from skillgit.errors import ConflictError, RefusedError


def people(trained: Yard) -> list[str]:
    """Two commits on the base's document, the second of which ends where training appended."""
    first = repos.commit(trained.root, {DOCUMENT: LONG.replace("First things", "The first things")}, "Elsewhere")
    second = repos.commit(
        trained.root,
        {DOCUMENT: LONG.replace("First things", "The first things") + "- mine is at the end\n"},
        "The same place",
    )
    return [first, second]


async def test_both_sides_with_their_reasons(trained: Yard) -> None:
    _, mine = people(trained)
    before = trained.refs()
    with pytest.raises(
        ConflictError, match="changed the same lines; let the optimizer settle it with --resolve"
    ) as caught:
        await bring(trained.root)
    assert trained.refs() == before
    assert trained.git("status", "--porcelain") == ""
    (conflict,) = caught.value.conflicts
    assert conflict["number"] == 1
    assert conflict["before"] == ""
    assert conflict["ours"] == {
        "name": "main",
        "text": "- mine is at the end\n",
        "commits": [
            {
                "commit": mine,
                "author": "Test Person",
                "subject": "The same place",
                "brought": ["- mine is at the end"],
                "took": [],
                "run": None,
                "step": None,
                "edit": None,
                "delta": None,
                "reason": None,
            }
        ],
    }
    step = trained.steps[1]
    lines = [edit["content"] for edit in step.edits]
    assert conflict["theirs"]["name"] == "skill/topics"
    assert conflict["theirs"]["text"] == "".join(f"{line}\n" for line in lines)
    # Newest first: each edit of the one step is a commit. Four codes of eight: half of the val tasks more than none.
    run = trained.git("for-each-ref", "--format=%(refname:lstrip=4)", "refs/skillgit/runs/topics")
    found = conflict["theirs"]["commits"]
    assert [origin["commit"] for origin in found] == step.commits[::-1]
    assert [origin["brought"] for origin in found] == [[line] for line in lines[::-1]]
    assert [origin["edit"] for origin in found] == ["4/4", "3/4", "2/4", "1/4"]
    assert [origin["reason"] for origin in found] == [edit["reason"] for edit in step.edits[::-1]]
    assert {(origin["run"], origin["step"], origin["delta"]) for origin in found} == {(run, 1, 0.5)}


async def test_what_is_shown_to_people(trained: Yard) -> None:
    _, mine = people(trained)
    with pytest.raises(ConflictError) as caught:
        await bring(trained.root)
    step = trained.steps[1]
    lines = [edit["content"] for edit in step.edits]
    assert caught.value.shown.splitlines() == [
        f"{DOCUMENT}: conflict 1 of 1",
        "<<<<<<< main",
        "- mine is at the end",
        "||||||| before",
        "=======",
        *lines,
        ">>>>>>> skill/topics",
        f"main: {mine[:12]} The same place (Test Person)",
        *(
            f"skill/topics: {commit[:12]} step 1, +0.5000: {edit['reason']}"
            for commit, edit in zip(step.commits[::-1], step.edits[::-1], strict=True)
        ),
    ]


async def test_people_s_commits_on_the_training_branch_are_theirs(trained: Yard) -> None:
    """A line of the trained side that a person took out there, and another in its place on the base."""
    trained.commit_on(BRANCH, {DOCUMENT: trained.text().replace("- none so far\n", "- some by now\n")}, "On the branch")
    await trained.train()
    base = repos.commit(trained.root, {DOCUMENT: LONG.replace("- none so far\n", "- never any\n")}, "On the base")
    with pytest.raises(ConflictError) as caught:
        await bring(trained.root)
    conflict = caught.value.conflicts[0]
    assert conflict["before"] == "- none so far\n"
    ours = conflict["ours"]["commits"]
    assert [(o["commit"], o["brought"], o["took"]) for o in ours] == [(base, ["- never any"], ["- none so far"])]
    theirs = {o["subject"]: o for o in conflict["theirs"]["commits"]}
    person = theirs["On the branch"]
    assert (person["brought"], person["took"], person["step"]) == (["- some by now"], ["- none so far"], None)


async def test_without_a_journal_a_commit_tells_of_itself_but_no_score(trained: Yard) -> None:
    people(trained)
    step = trained.steps[1]
    for ref in trained.refs("refs/skillgit/runs/"):
        trained.git("update-ref", "-d", ref)
    with pytest.raises(ConflictError) as caught:
        await bring(trained.root)
    found = caught.value.conflicts[0]["theirs"]["commits"]
    assert [(o["step"], o["edit"], o["delta"]) for o in found] == [(1, f"{n}/4", None) for n in (4, 3, 2, 1)]
    assert [o["reason"] for o in found] == [edit["reason"] for edit in step.edits[::-1]]
    assert f"step 1: {step.edits[0]['reason']}" in caught.value.shown


async def test_two_places_are_two_conflicts(trained: Yard) -> None:
    trained.commit_on(BRANCH, {DOCUMENT: trained.text().replace("First things first.", "First of all.")}, "Reworded")
    await trained.train()
    text = LONG.replace("First things first.", "Begin at the beginning.") + "- mine\n"
    repos.commit(trained.root, {DOCUMENT: text}, "Both places")
    with pytest.raises(ConflictError) as caught:
        await bring(trained.root)
    assert [c["ours"]["text"] for c in caught.value.conflicts] == ["Begin at the beginning.\n", "- mine\n"]
    assert f"{DOCUMENT}: conflict 2 of 2" in caught.value.shown


@pytest.mark.parametrize("path", [None, "skills/topics/NEW.md"], ids=["deleted", "renamed"])
async def test_a_document_that_is_gone_from_the_base(trained: Yard, path: str | None) -> None:
    repos.commit(trained.root, {DOCUMENT: None, **({path: LONG} if path else {})}, "Moved away")
    before = trained.refs()
    for resolve in (False, True):
        with pytest.raises(RefusedError, match=f"{DOCUMENT} is not on main: it was deleted or renamed on one side"):
            await bring(trained.root, resolve=resolve)
    assert trained.refs() == before


async def test_a_document_that_was_trained_under_another_path(trained: Yard) -> None:
    path = "skills/topics/NEW.md"
    config = (trained.root / "skillgit.yaml").read_text().replace(DOCUMENT, path)
    repos.commit(trained.root, {DOCUMENT: None, path: LONG, "skillgit.yaml": config}, "Another path")
    with pytest.raises(RefusedError, match=rf"{path} is not on the best commit: .*train topics again"):
        await bring(trained.root)


async def test_a_document_that_git_does_not_merge_as_text(trained: Yard) -> None:
    """It has a conflict without a line that both sides changed."""
    repos.commit(trained.root, {DOCUMENT: LONG.replace("First things", "The first things")}, "Elsewhere")
    (trained.root / ".git/info").mkdir(exist_ok=True)
    (trained.root / ".git/info/attributes").write_text("*.md binary\n")
    with pytest.raises(RefusedError, match="git does not merge it as text"):
        await bring(trained.root)


async def test_in_a_bare_repository(trained: Yard, tmp_path: Path) -> None:
    people(trained)
    bare = tmp_path / "bare.git"
    repos.git(tmp_path, "clone", "-q", "--mirror", str(trained.root), str(bare))
    repos.identify(bare)
    with pytest.raises(ConflictError) as caught:
        await bring(bare)
    assert [c["ours"]["text"] for c in caught.value.conflicts] == ["- mine is at the end\n"]
