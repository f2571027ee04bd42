"""Aggregation and selection of proposals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document import Edit
from skillgit.train.proposals import Proposal, Source, aggregate, select


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


def test_failures_come_first_in_their_order() -> None:
    given_ = [proposal("s", source="success"), proposal("f1"), proposal("f2", rank=1)]
    kept, dropped = aggregate(given_)
    assert [p.edit.content for p in kept] == ["f1", "f2", "s"]
    assert dropped == []


def test_equal_edits_become_one_and_their_support_adds_up() -> None:
    kept, dropped = aggregate(
        [
            proposal("Use  `ops`.\n", support=2, rank=3),
            proposal("something else"),
            proposal(" Use `ops`.", support=3, rank=1, source="success"),
        ]
    )
    assert [(p.edit.content, p.support, p.source, p.rank) for p in kept] == [
        ("Use  `ops`.\n", 5, "failure", 1),
        ("something else", 1, "failure", 0),
    ]
    assert dropped == []


def test_case_and_place_make_another_edit() -> None:
    given_ = [
        proposal("Use OPS."),
        proposal("Use ops."),
        proposal("Use ops.", op="insert_after", target="# A"),
        proposal("Use ops.", op="insert_after", target="# B"),
    ]
    assert aggregate(given_)[0] == given_


@pytest.mark.parametrize(("first", "second", "winner"), [(1, 2, "b"), (2, 2, "a"), (2, 1, "a")])
def test_of_two_changes_of_one_text_the_better_supported_stays(first: int, second: int, winner: str) -> None:
    kept, dropped = aggregate(
        [
            proposal("a", op="replace", target="old text", support=first),
            proposal("beside", op="insert_after", target="old text"),
            proposal("b", op="replace", target="old  text ", support=second),
        ]
    )
    assert [p.edit.content for p in kept if p.edit.op == "replace"] == [winner]
    assert "beside" in [p.edit.content for p in kept]
    assert [d.proposal.edit.content for d in dropped] == [{"a": "b", "b": "a"}[winner]]


def test_of_three_changes_one_stays() -> None:
    kept, dropped = aggregate(
        [
            proposal("a", op="replace", target="x y", support=1),
            proposal("b", op="replace", target="x y", support=3),
            proposal("", op="delete", target="x y", support=2),
        ]
    )
    assert [p.edit.content for p in kept] == ["b"]
    assert len(dropped) == 2
    assert all(d.reason for d in dropped)


def test_selection_is_by_support_then_failures_then_rank() -> None:
    given_ = [
        proposal("low"),
        proposal("ranked", rank=2, support=2),
        proposal("high", support=3),
        proposal("first", rank=0, support=2),
        proposal("success", rank=0, support=2, source="success"),
    ]
    kept, dropped = select(given_, 3)
    assert [p.edit.content for p in kept] == ["ranked", "high", "first"]
    assert [d.proposal.edit.content for d in dropped] == ["low", "success"]
    assert all("3" in d.reason for d in dropped)


proposals = st.lists(
    st.builds(
        proposal,
        st.sampled_from(["a", "b", "c d"]),
        op=st.sampled_from(["append", "replace", "delete", "insert_after"]),
        target=st.sampled_from(["", "x", "y z", "y  z"]),
        support=st.integers(1, 4),
        source=st.sampled_from(["failure", "success"]),
        rank=st.integers(0, 3),
    ),
    max_size=12,
)


@given(proposals, st.integers(1, 6))
def test_nothing_is_lost_and_the_budget_holds(given_: list[Proposal], budget: int) -> None:
    kept, conflicts = aggregate(given_)
    chosen, outside = select(kept, budget)
    assert len(chosen) == min(budget, len(kept))
    assert [p for p in kept if p in chosen] == chosen
    assert len(chosen) + len(outside) == len(kept)
    total = sum(p.support for p in kept) + sum(d.proposal.support for d in conflicts)
    assert total == sum(p.support for p in given_)
    least = min((p.support for p in chosen), default=0)
    assert all(d.proposal.support <= least for d in outside)
    changed = [" ".join(p.edit.target.split()) for p in kept if p.edit.op in ("replace", "delete")]
    assert len(changed) == len(set(changed))
