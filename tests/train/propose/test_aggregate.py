"""Aggregation: mechanically where it can be, by the optimizer where edits really conflict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.optimizer import Bench

from skillgit.document import Edit
from skillgit.errors import ModelError
from skillgit.models.base import Request
from skillgit.train.propose.aggregate import (
    AS_MUCH_SUPPORT,
    GIVEN_UP,
    MORE_SUPPORT,
    NOT_MERGED,
    Aggregated,
    aggregate,
    mechanical,
)
from skillgit.train.propose.conflicts import Ground
from skillgit.train.propose.proposals import Proposal, Source

DOCUMENT = "# Rules\n\nAlways greet the customer. Never promise a date.\n\n- refunds: R1\n- billing: B1\n"


def proposal(
    content: str = "",
    *,
    op: str = "append",
    target: str = "",
    support: int = 1,
    source: Source = "failure",
    rank: int = 0,
) -> Proposal:
    return Proposal(Edit(op, target, content, support=support), support, source, rank)


def replaces(content: str, support: int = 1, target: str = "- refunds: R1", source: Source = "failure") -> Proposal:
    return proposal(content, op="replace", target=target, support=support, source=source)


def test_failures_come_first_in_their_order() -> None:
    found = mechanical([proposal("s", source="success"), proposal("f1"), proposal("f2", rank=1)], DOCUMENT)
    assert [p.edit.content for p in found.kept] == ["f1", "f2", "s"]
    assert (found.dropped, found.merged, found.calls) == ((), (), 0)


def test_equal_edits_become_one_and_their_support_adds_up() -> None:
    found = mechanical(
        [
            proposal("Use  `ops`.\n", support=2, rank=3),
            proposal("something else"),
            proposal(" Use `ops`.", support=3, rank=1, source="success"),
        ],
        DOCUMENT,
    )
    assert [(p.edit.content, p.support, p.source, p.rank) for p in found.kept] == [
        ("Use  `ops`.\n", 5, "failure", 1),
        ("something else", 1, "failure", 0),
    ]
    assert [d.proposal.edit.content for d in found.merged] == [" Use `ops`."]
    assert found.dropped == ()


@pytest.mark.parametrize(
    ("first", "second", "winner", "reason"),
    [(1, 2, "b", MORE_SUPPORT), (2, 2, "a", AS_MUCH_SUPPORT), (2, 1, "a", MORE_SUPPORT)],
)
def test_of_two_changes_of_one_text_the_better_supported_stays(
    first: int, second: int, winner: str, reason: str
) -> None:
    found = mechanical(
        [
            replaces("a", first),
            proposal("beside", op="insert_after", target="- refunds: R1"),
            replaces("b", second, target="- refunds: R1\n- billing: B1"),
        ],
        DOCUMENT,
    )
    assert [p.edit.content for p in found.kept] == ["beside", winner]
    assert [(d.proposal.edit.content, d.reason) for d in found.dropped] == [({"a": "b", "b": "a"}[winner], reason)]


async def test_no_conflict_is_no_call(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    given_ = [proposal("- a: 1"), proposal("- b: 2"), replaces("x"), replaces("y", target="- billing: B1")]
    found = await aggregate([*given_, proposal("* a: 1")], DOCUMENT, bench.optimizer, 8)
    assert [p.edit for p in found.kept] == [p.edit for p in given_]
    assert found.kept[0].support == 2
    assert (bench.requests, found.calls) == ([], 0)


async def test_votes_between_values_are_no_call(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    found = await aggregate([proposal("- a: 1"), proposal("- a: 2", support=2)], DOCUMENT, bench.optimizer, 8)
    assert [p.edit.content for p in found.kept] == ["- a: 2"]
    assert [(d.proposal.edit.content, d.reason) for d in found.dropped] == [("- a: 1", MORE_SUPPORT)]
    assert bench.requests == []


def merged(*edits: tuple[str, list[str]], target: str = "- refunds: R1") -> dict[str, Any]:
    told = [{"op": "replace", "target": target, "content": c, "reason": "both", "support": ids} for c, ids in edits]
    return {"reasoning": "settled", "edits": told}


async def test_a_conflict_is_merged_by_one_call(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [merged(("- refunds: R2 or R3", ["e1", "e2"]))], meta="Short lines work.")
    given_ = [
        proposal("first"),
        replaces("- refunds: R2", 2, source="success"),
        replaces("- refunds: R3", 3, target="- refunds: R1\n- billing: B1"),
        proposal("last", source="success"),
    ]
    found = await aggregate(given_, DOCUMENT, bench.optimizer, 8)
    assert [(p.edit.content, p.support, p.source) for p in found.kept] == [
        ("first", 1, "failure"),
        ("- refunds: R2 or R3", 5, "failure"),
        ("last", 1, "success"),
    ]
    assert found.dropped == ()
    assert [d.proposal for d in found.merged] == [given_[2], given_[1]]
    assert found.calls == 1
    for told in (
        '<edit id="e1">',
        '<edit id="e2">',
        "- refunds: R3",
        "Always greet",
        "Some tasks.",
        "Short lines work.",
    ):
        assert told in bench.prompt
    assert "first" not in bench.prompt


async def test_what_no_edit_stands_for_is_dropped_and_its_support_counts_nowhere(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [merged(("b", ["e2"]))])
    given_ = [replaces("a", 5), replaces("b", 2)]
    found = await aggregate(given_, DOCUMENT, bench.optimizer, 8)
    assert found.kept == (given_[1],)
    assert [(d.proposal, d.reason) for d in found.dropped] == [(given_[0], GIVEN_UP)]
    assert found.merged == ()


@pytest.mark.parametrize("replies", [["I cannot.", "Still not."], [{"reasoning": "none", "edits": []}]])
async def test_without_a_usable_merge_more_support_wins(tmp_path: Path, replies: list[Any]) -> None:
    bench = Bench(tmp_path, replies)
    found = await aggregate([replaces("a"), replaces("b", 2)], DOCUMENT, bench.optimizer, 8)
    assert [p.edit.content for p in found.kept] == ["b"]
    assert [(d.proposal.edit.content, d.reason) for d in found.dropped] == [("a", MORE_SUPPORT + NOT_MERGED)]
    assert len(bench.requests) == len(replies)


async def test_edits_of_a_merge_that_overlap_are_settled_once_more(tmp_path: Path) -> None:
    answer = merged(("a", ["e1"]), ("b", ["e2"]))
    bench = Bench(tmp_path, [answer])
    found = await aggregate([replaces("a"), replaces("b", 2)], DOCUMENT, bench.optimizer, 8)
    assert [p.edit.content for p in found.kept] == ["b"]
    assert [d.proposal.edit.content for d in found.dropped] == ["a"]
    assert len(bench.requests) == 1


async def test_what_the_model_lets_stand_side_by_side_stays(tmp_path: Path) -> None:
    """It only looked like a contradiction."""
    answer = {
        "edits": [
            {"op": "append", "content": "- tone: friendly", "support": ["e1"]},
            {"op": "append", "content": "- tone: short", "support": ["e2"]},
        ]
    }
    given_ = [proposal("- tone: friendly"), proposal("- tone: short")]
    found = await aggregate(given_, DOCUMENT, Bench(tmp_path, [answer]).optimizer, 8)
    assert found.kept == tuple(given_)
    assert found.dropped == found.merged == ()
    assert len(mechanical(given_, DOCUMENT).kept) == 1


async def test_a_call_that_fails_ends_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def down(_: Request) -> str:
        raise ModelError("down")

    bench.model._answer = down
    with pytest.raises(ModelError, match="down"):
        await aggregate([replaces("a"), replaces("b")], DOCUMENT, bench.optimizer, 8)


proposals = st.lists(
    st.builds(
        proposal,
        st.sampled_from(["- a: X1", "- a: X2", "* a: X1.", "- b: X1", "c d", "C d!", "do not c d", ""]),
        op=st.sampled_from(["append", "Append ", "replace", "delete", "insert_after", "?"]),
        target=st.sampled_from(["", "# Rules", "greet the", "customer. Never", "Always greet the customer", "nowhere"]),
        support=st.integers(1, 4),
        source=st.sampled_from(["failure", "success"]),
        rank=st.integers(0, 3),
    ),
    max_size=10,
)


def total(found: Aggregated) -> int:
    return sum(p.support for p in (*found.kept, *(d.proposal for d in found.dropped)))


@given(proposals, st.randoms(use_true_random=False))
def test_nothing_is_lost_and_nothing_is_left_in_conflict(given_: list[Proposal], chance: Any) -> None:
    found = mechanical(given_, DOCUMENT)
    assert len(found.kept) + len(found.dropped) + len(found.merged) == len(given_)
    assert total(found) == sum(p.support for p in given_)
    assert all(d.reason for d in (*found.dropped, *found.merged))
    ground = Ground(DOCUMENT)
    changed = [p.edit.target for p in found.kept if p.edit.op in ("replace", "delete")]
    assert len(changed) == len(set(changed))
    assert not any(ground.overlap(a, b) for i, a in enumerate(changed) for b in changed[i + 1 :])
    again = mechanical(found.kept, DOCUMENT)
    assert {p.edit for p in again.kept} == {p.edit for p in found.kept}
    shuffled = list(given_)
    chance.shuffle(shuffled)
    other = mechanical(shuffled, DOCUMENT)
    units = [sorted(p.support for p in (*f.kept, *(d.proposal for d in f.dropped))) for f in (found, other)]
    assert units[0] == units[1]
