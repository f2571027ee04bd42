"""What each edit carries, against the world's own rule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import repos
from support.carrying import Hand
from support.training import BEST_REF, BRANCH, trailer
from support.truth import passed, share

from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.journal import StepRecord
from skillgit.train.trace.attribute import decisive, weighed


def without(hand: Hand, edit: RecordedEdit) -> str:
    return "".join(line for line in hand.text().splitlines(keepends=True) if line.rstrip() != edit.row["content"])


def effect(hand: Hand, edit: RecordedEdit) -> str:
    less, full = share(hand.world, without(hand, edit)), share(hand.world, hand.text())
    return "carries" if less < full else "harms" if less > full else "nothing"


def by_commit(facts: Any) -> dict[str, Any]:
    return {row["commit"]: row for row in facts["edits"]}


def test_each_edit_has_the_effect_that_the_world_gives_it(hand: Hand) -> None:
    found = by_commit(hand.json("attribute", "topics", "--full"))
    edits = hand.edits()
    assert set(found) == {edit.commit for edit in edits}
    full = passed(hand.world, hand.text())
    for edit in edits:
        row, less = found[edit.commit], passed(hand.world, without(hand, edit))
        assert row["effect"] == effect(hand, edit)
        assert row["without"] == round(sum(less.values()) / len(less), 6)
        assert row["with"] == round(sum(full.values()) / len(full), 6)
        assert row["lost"] == sorted(task for task in full if less[task] < full[task])
        assert row["gained"] == []


def test_racing_says_the_same_of_each_edit_with_fewer_calls(hand: Hand) -> None:
    calls = len(hand.server.calls)
    raced = by_commit(hand.json("attribute", "topics"))
    cheap = len(hand.server.calls) - calls
    full = by_commit(hand.json("attribute", "topics", "--full"))
    assert {c: row["effect"] for c, row in raced.items()} == {c: row["effect"] for c, row in full.items()}
    assert len(hand.server.calls) - calls >= cheap
    for commit, row in raced.items():
        if row["without"] is None:
            assert row["effect"] == "carries"
            assert full[commit]["without"] <= row["without_max"] < row["with"]
            assert set(row["lost"]) <= set(full[commit]["lost"])


def test_a_second_time_nothing_is_asked(hand: Hand) -> None:
    first = hand.json("attribute", "topics", "--full")
    calls = len(hand.server.calls)
    assert hand.json("attribute", "topics", "--full") == first
    assert len(hand.server.calls) == calls


def test_what_was_found_is_noted_on_the_edit_s_commit(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("attribute", "topics", edit.commit, "--full")
    (fact,) = hand.notes(edit.commit)
    less = share(hand.world, without(hand, edit))
    assert (fact["kind"], fact["effect"], Fraction(fact["without"])) == ("attribution", "carries", less)
    assert fact["document"] == hand.git("rev-parse", f"{BRANCH}:skills/topics/SKILL.md")
    assert fact["target"] == "openai/sim"
    assert hand.refs("refs/heads")["refs/heads/skill/topics"] == hand.accepted[-1].commits[-1]


def test_edits_that_carry_nothing_are_taken_out_together_by_a_gate_that_is_content_with_a_tie(hand: Hand) -> None:
    useless = [edit for edit in hand.edits() if effect(hand, edit) == "nothing"]
    assert len(useless) == 3
    before, text = share(hand.world, hand.text()), hand.text()
    hand.call("attribute", "topics", "--delete")
    gone = {edit.row["content"] for edit in useless}
    assert hand.text() == "".join(line for line in text.splitlines(keepends=True) if line.rstrip() not in gone)
    assert share(hand.world, hand.text()) == before
    assert trailer(hand.root, BRANCH, "Skill-Gate") == "no-worse hard n=16 repeats=1"
    assert trailer(hand.root, BRANCH, "Skill-Decision") == "accept-best"
    assert hand.git("rev-parse", BEST_REF) == hand.git("rev-parse", BRANCH)
    assert {f["kind"] for edit in useless for f in hand.notes(edit.commit)} == {"attribution", "taken-back"}
    hand.again("train.seed=5")
    assert not gone & set(hand.text().splitlines())
    repos.fsck(hand.root)


def test_two_edits_that_stand_in_for_each_other_do_not_both_go(hand: Hand) -> None:
    # The same right line twice: each alone carries nothing, both together do.
    edit = hand.edits()[2]
    hand.commit_on("skill/topics", {"skills/topics/SKILL.md": hand.text() + f"{edit.row['content']} again\n"})
    found = by_commit(hand.json("attribute", "topics", edit.commit, "--full"))
    assert found[edit.commit]["effect"] == "nothing"


def test_lines_that_were_edited_since_are_inseparable(hand: Hand) -> None:
    edit = hand.edits()[2]
    text = hand.text().replace(str(edit.row["content"]), f"{edit.row['content']} (since May)")
    hand.commit_on("skill/topics", {"skills/topics/SKILL.md": text})
    found = by_commit(hand.json("attribute", "topics", edit.commit))
    assert found[edit.commit]["effect"] == "inseparable"
    assert hand.git("for-each-ref", "refs/notes/skillgit") == "" or "attribution" not in str(
        hand.git("show", "refs/notes/skillgit")
    )


def test_edits_that_are_gone_are_not_measured(hand: Hand) -> None:
    hand.call("revert", "topics", "2.1", "--no-gate")
    assert hand.edits()[0].commit not in by_commit(hand.json("attribute", "topics"))


HAVE = {"a": Fraction(1), "b": Fraction(0), "c": Fraction(1), "d": None}
EDIT = RecordedEdit("0" * 26, 1, 1, 1, "c" * 40, {}, StepRecord("step", 1, 1, "accept", "", "x", "y"))


def test_numbers_worked_out_by_hand() -> None:
    # with it 2 of 3; without it a is lost and b won: 2 of 3; d has no pair.
    found = weighed(EDIT, HAVE, {"a": Fraction(0), "b": Fraction(1), "c": Fraction(1), "d": Fraction(1)})
    assert (found.effect, found.with_it, found.without) == ("nothing", Fraction(2, 3), Fraction(2, 3))
    assert (found.lost, found.gained) == (("a",), ("b",))
    # a errored: of b and c, with it 1 of 2.
    found = weighed(EDIT, HAVE, {"a": None, "b": Fraction(1), "c": Fraction(1), "d": None})
    assert (found.effect, found.with_it, found.without) == ("harms", Fraction(1, 2), Fraction(1))
    # a and c lost: without it at most b is won, 1 of 3.
    found = weighed(EDIT, HAVE, {"a": Fraction(0), "c": Fraction(0)})
    assert (found.effect, found.without, found.at_most) == ("carries", None, Fraction(1, 3))


values = st.one_of(st.none(), st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]))


@given(st.lists(st.tuples(values, values), min_size=1, max_size=12))
def test_the_early_end_never_contradicts_the_whole_measurement(
    pairs: list[tuple[Fraction | None, Fraction | None]],
) -> None:
    order = [str(n) for n in range(len(pairs))]
    have = {task: pair[0] for task, pair in zip(order, pairs, strict=True)}
    found = {task: pair[1] for task, pair in zip(order, pairs, strict=True)}
    stop = decisive(have, order, found)
    both = [(old, new) for old, new in pairs if old is not None and new is not None]
    if stop:
        assert sum(new for _, new in both) < sum(old for old, _ in both) or not both
        assert not decisive(have, order, {task: found[task] for task in order[: stop - 1]})


@pytest.mark.parametrize("name", ["9", "nope"])
def test_mistakes_are_one_clear_line(hand: Hand, name: str) -> None:
    assert name in hand.call("attribute", "topics", name, code=2).last
