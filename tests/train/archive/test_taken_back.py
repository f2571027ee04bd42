"""What people took out is known by its lines, in the newest fact's sense, and as long as it stays out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import training
from support.carrying import Hand
from support.training import BRANCH, DOCUMENT, SKILL, Yard

from skillgit.document import Edit
from skillgit.store.notes import add_note
from skillgit.store.repository import Repository
from skillgit.train.archive import taken_back
from skillgit.train.archive.taken_back import brings_back, is_taken


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with training.trained_once(tmp_path_factory.mktemp("once") / "repo", training.mixed(), ()) as made:
        yield made


@pytest.fixture
def hand(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand.on(once, tmp_path / "repo", monkeypatch)


def known(hand: Hand, document: str | None = None) -> list[str]:
    repo = Repository.open(hand.root)
    try:
        return [edit.content for edit in taken_back.read(repo, SKILL, hand.text() if document is None else document)]
    finally:
        repo.close()


LINE = "- vpn: K1"


@pytest.mark.parametrize(
    ("edit", "taken"),
    [
        (Edit("append", content="- vpn: K1"), True),
        (Edit("append", content="-  vpn:  K1\n"), True),
        (Edit("insert_after", "# A", "* vpn: K1"), True),
        (Edit("replace", "x", "- mail: K2\n- vpn: K1"), True),
        (Edit("append", content="- vpn: K12"), False),
        (Edit("append", content="- vpn: K2"), False),
        (Edit("delete", "- vpn: K1"), False),
        (Edit("append", content="- mail: K1"), False),
    ],
)
def test_an_edit_that_was_taken_out_is_known_in_other_forms(edit: Edit, taken: bool) -> None:
    assert is_taken([Edit("append", content=LINE)], edit) is taken


def test_a_deletion_that_was_taken_back_is_known_by_what_it_deletes() -> None:
    gone = [Edit("delete", "- vpn: K1")]
    assert is_taken(gone, Edit("delete", "-  vpn: K1"))
    assert not is_taken(gone, Edit("delete", "- vpn: K2"))
    assert not is_taken(gone, Edit("append", content="- vpn: K1"))
    assert not is_taken([Edit("rewrite")], Edit("append", content="- vpn: K1"))


@pytest.mark.parametrize(
    ("after", "back"),
    [
        ("# A\n\n- vpn: K1\n", True),
        ("# A\r\n\r\n- vpn: K1\r\n", True),
        ("# A\n\n- vpn: K12\n", False),  # another line that only begins alike
        ("# A\n\nno - vpn: K1\n", False),  # too few words to be sure
        ("# A\n", False),
    ],
)
def test_a_document_that_brings_a_line_back_is_known(after: str, back: bool) -> None:
    taken = [Edit("append", content=LINE)]
    assert (brings_back(taken, "# A\n", after) is not None) is back
    assert brings_back(taken, f"# A\n\n{LINE}\n", after) is None


def test_all_lines_of_a_text_have_to_be_there_and_a_part_of_a_line_counts_if_it_says_something() -> None:
    two = [Edit("append", content="- first rule here\n\n- second rule here")]
    assert brings_back(two, "", "- second rule here\nbetween\n- first rule here\n")
    assert not brings_back(two, "", "- first rule here\n")
    part = [Edit("replace", "at once", "within two days")]
    assert brings_back(part, "Reply at once.", "Reply within two days, please.")
    assert not brings_back(part, "Reply at once.", "Reply within two daysies.")


def test_what_stands_in_the_document_again_is_not_taken_out(hand: Hand) -> None:
    edit, before = hand.edits()[2], hand.text()
    hand.call("revert", SKILL, edit.commit, "--no-gate")
    assert known(hand) == [edit.row["content"]]
    hand.commit_on(BRANCH, {DOCUMENT: before})  # a person puts it back by hand
    assert known(hand) == []
    hand.call("rollback", SKILL, "--to", "main")
    assert known(hand) == [edit.row["content"]]


def test_a_revert_of_a_revert_brings_back(hand: Hand) -> None:
    edit = hand.edits()[4]  # the last lines: a plain revert of the revert fits
    hand.call("revert", SKILL, edit.commit, "--no-gate")
    out = hand.git("rev-parse", BRANCH)
    hand.call("revert", SKILL, out, "--no-gate")
    back = hand.git("rev-parse", BRANCH)
    facts = hand.notes(edit.commit)
    assert [(fact["kind"], fact["as"]) for fact in facts] == [("taken-back", out), ("brought-back", back)]
    assert known(hand, "") == []
    hand.call("revert", SKILL, back, "--no-gate")
    assert [fact["kind"] for fact in hand.notes(edit.commit)] == ["taken-back", "brought-back", "taken-back"]
    assert known(hand) == [edit.row["content"]]


def test_of_a_change_that_came_by_a_merge_its_lines_are_remembered(hand: Hand) -> None:
    """Its row only has the commit's subject."""
    line = next(hand.world.rule(t) for t in hand.world.codes if hand.world.rule(t) not in hand.text())
    hand.git("branch", "idea", "main")
    text = hand.text("main").replace("# Tickets\n", f"# Tickets of ours\n\n{line}\n")
    hand.call("cherry-pick", SKILL, hand.commit_on("idea", {DOCUMENT: text}))
    picked = hand.git("rev-parse", BRANCH)
    assert hand.last.edits[0]["op"] == "pick"
    hand.call("revert", SKILL, picked, "--no-gate")
    assert known(hand) == [f"# Tickets of ours\n{line}"]


def test_the_newest_fact_counts_whatever_order_a_merge_of_notes_left(hand: Hand) -> None:
    edit = hand.edits()[0]
    repo = Repository.open(hand.root)
    try:
        common = {"skill": SKILL, "content": "- here it is", "op": "append"}
        add_note(repo, edit.commit, {**common, "kind": "brought-back", "at": "2026-03-02T00:00:00+00:00"})
        add_note(repo, edit.commit, {**common, "kind": "taken-back", "at": "2026-03-01T00:00:00+00:00"})
        common |= {"at": "2027-01-01T00:00:00+00:00", "skill": "other"}
        add_note(repo, edit.commit, {**common, "kind": "taken-back"})
    finally:
        repo.close()
    assert known(hand) == []


def test_facts_that_people_wrote_and_that_say_too_little_hurt_nobody(hand: Hand) -> None:
    repo = Repository.open(hand.root)
    try:
        add_note(repo, hand.edits()[0].commit, {"kind": "taken-back", "skill": SKILL, "content": 7, "at": None})
    finally:
        repo.close()
    assert known(hand) == ["7"]
    hand.again("train.seed=5", "train.num_epochs=1")
