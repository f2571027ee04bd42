"""Edits of other places are brought in by the gate, as they were proposed or as their commits have them."""

from __future__ import annotations

import pytest
from support import repos
from support.carrying import Hand
from support.training import BRANCH, DOCUMENT, trailer
from support.truth import share

from skillgit.errors import RefusedError
from skillgit.store.repository import Repository
from skillgit.train.carry.pick import as_edit, find

OTHER = "skills/other/SKILL.md"
SEED = "---\nname: other\ndescription: Another.\n---\n\n# Other\n\nSay it.\n"


def missing(hand: Hand) -> str:
    """A right line that the document does not have."""
    return next(hand.world.rule(topic) for topic in hand.world.codes if hand.world.rule(topic) not in hand.text())


def test_a_person_s_commit_of_another_branch_is_gated_and_merged_three_ways(hand: Hand) -> None:
    hand.git("branch", "idea", "skill/topics~1")
    line = missing(hand)
    old = hand.text("idea")
    commit = hand.commit_on("idea", {DOCUMENT: old.replace("Answer with", f"{line}\n\nAnswer with")}, "An idea")
    before, tip = hand.text(), hand.git("rev-parse", BRANCH)
    done = hand.call("cherry-pick", "topics", commit)
    assert hand.text() == before.replace("Answer with", f"{line}\n\nAnswer with")
    now = hand.git("rev-parse", BRANCH)
    assert hand.git("rev-parse", f"{now}^") == tip
    assert trailer(hand.root, now, "Skill-Kind") == "cherry-pick"
    assert trailer(hand.root, now, "Skill-Score") == f"{float(share(hand.world, hand.text())):.6f}"
    assert f"(cherry picked from commit {commit})" in hand.git("log", "-1", "--format=%b", now)
    assert f"val {float(share(hand.world, hand.text())) * 100:.1f}%" in done.out
    repos.fsck(hand.root)


def test_an_edit_of_another_skill_is_found_by_its_file(hand: Hand) -> None:
    line = missing(hand)
    hand.git("switch", "-q", "-c", "shelf", "main")
    repos.commit(hand.root, {OTHER: SEED}, "Another skill")
    commit = repos.commit(hand.root, {OTHER: f"{SEED}\n{line}\n", "x.txt": "x\n"}, "A rule of another skill")
    hand.git("switch", "-q", "main")
    before = hand.text()
    hand.call("cherry-pick", "topics", commit)
    assert hand.text() == f"{before}{line}\n"
    assert trailer(hand.root, BRANCH, "Skill-Edit") == "1/1 append"


@pytest.mark.parametrize(
    ("had", "has", "op"),
    [
        ("# A\n\na\n", "# A\n\na\n\nb\n", "append"),
        ("# A\n\na\n\nz\n", "# A\n\na\nb\n\nz\n", "insert_after"),
        ("# A\n\na\n", "# A\n\nb\n", None),
        ("# A\n\na\nz\n", "# A\nb\n\na\nc\nz\n", None),
        ("# A\n\na\n", "# A\n", None),
        ("# A\n", "# A\n\n\n", None),
        ("", "a\n", None),
    ],
)
def test_only_lines_added_in_one_place_are_an_edit(had: str, has: str, op: str | None) -> None:
    edit = as_edit(had, has)
    assert (edit.op if edit else None) == op
    if edit:
        assert edit.content == "b"


def test_a_recorded_edit_is_applied_as_it_was_proposed_where_lines_differ(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("revert", "topics", edit.commit, "--no-gate")
    # Everything around the place is other text now: three ways it would conflict, the edit itself fits.
    text = hand.text().replace("- ", "* ").replace("Answer with the code.", "Answer with its code.")
    hand.commit_on("skill/topics", {DOCUMENT: text})
    hand.call("cherry-pick", "topics", edit.commit)
    assert str(edit.row["content"]) in hand.text()
    assert trailer(hand.root, BRANCH, "Skill-Edit") == f"1/1 {edit.row['op']}"
    assert trailer(hand.root, BRANCH, "Skill-Support") == "1 person"


def test_what_comes_back_may_be_proposed_again(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("revert", "topics", edit.commit, "--no-gate")
    hand.call("cherry-pick", "topics", edit.commit)
    assert [f["kind"] for f in hand.notes(edit.commit)] == ["taken-back", "brought-back"]
    start = len(hand.server.calls)
    hand.again("train.num_epochs=1")
    assert not any("A person took this out" in text for call in hand.server.calls[start:] for _, text in call.turns)


def test_what_does_not_help_is_rejected_and_kept(hand: Hand) -> None:
    hand.git("branch", "idea", "main")
    commit = hand.commit_on("idea", {DOCUMENT: hand.text("main") + "\nAlways be brief.\n"})
    tip = hand.git("rev-parse", BRANCH)
    hand.call("cherry-pick", "topics", commit, code=2)
    assert hand.git("rev-parse", BRANCH) == tip
    assert (hand.last.kind, hand.last.decision) == ("cherry-pick", "reject")
    assert hand.git("rev-parse", f"{hand.last.commits[-1]}^") == tip


def test_a_conflict_moves_nothing_and_shows_both_sides(hand: Hand) -> None:
    hand.git("branch", "idea", "main")
    commit = hand.commit_on("idea", {DOCUMENT: hand.text("main").replace("Answer with the code.", "Reply with it.")})
    hand.commit_on("skill/topics", {DOCUMENT: hand.text().replace("Answer with the code.", "Tell the code.")})
    refs = hand.refs()
    done = hand.call("cherry-pick", "topics", commit, "--dry-run", code=2)
    assert "does not fit into this document" in done.last
    assert hand.refs() == refs


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("\nThe key is AKIAIOSFODNN7EXAMPLE, use it.\n", "secret"),
        ("", "changes no Markdown file"),
    ],
)
def test_what_may_not_come_in_is_refused(hand: Hand, change: str, said: str) -> None:
    hand.git("branch", "idea", "main")
    files = {DOCUMENT: hand.text("main") + change, "note.txt": "x\n"} if change else {"note.txt": "x\n"}
    commit = hand.commit_on("idea", files)
    refs = hand.refs()
    done = hand.call("cherry-pick", "topics", commit, code=2)
    assert said in done.last
    assert hand.refs() == refs


def test_frontmatter_is_not_brought_in(hand: Hand) -> None:
    hand.git("branch", "idea", "main")
    commit = hand.commit_on("idea", {DOCUMENT: hand.text("main").replace("Finds the code", "Guesses the code")})
    assert "frontmatter" in hand.call("cherry-pick", "topics", commit, code=2).last


def test_a_merge_and_a_first_commit_stand_for_no_change(hand: Hand) -> None:
    root = hand.git("rev-list", "--max-parents=0", "main")
    hand.call("merge", "topics", "--into", "main")
    repo = Repository.open(hand.root)
    try:
        for rev, what in ((root, "a first commit"), ("main", "a merge")):
            with pytest.raises(RefusedError, match=what):
                find(repo, DOCUMENT, rev)
    finally:
        repo.close()


def test_the_person_says_which_file_is_meant_where_several_are(hand: Hand) -> None:
    hand.git("switch", "-q", "-c", "shelf", "main")
    line = missing(hand)
    repos.commit(hand.root, {"a.md": "# A\n\nAnswer with the code.\n", "b.md": "# B\n"}, "Two")
    commit = repos.commit(
        hand.root, {"a.md": f"# A\n\nAnswer with the code.\n{line}\n", "b.md": "# B\n\nb\n"}, "Change two"
    )
    hand.git("switch", "-q", "main")
    done = hand.call("cherry-pick", "topics", commit, code=2)
    assert "a.md, b.md" in done.last
    assert "--path" in done.last
    shown = hand.call("cherry-pick", "topics", commit, "--path", "a.md", "--dry-run")
    assert [row for row in shown.out.splitlines() if row[:1] in "+-"][2:] == [f"+{line}"]
    other = hand.call("cherry-pick", "topics", commit, "--path", "c.md", "--dry-run", code=2)
    assert "does not change c.md" in other.last
