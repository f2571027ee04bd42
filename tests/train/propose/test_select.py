"""Selection: a ranking, and a model only inside a tie."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.optimizer import Bench

from skillgit.document import Edit
from skillgit.train.propose.proposals import Proposal, Source
from skillgit.train.propose.select import border, ranked, select


def proposal(name: str, support: int = 1, *, source: Source = "failure", rank: int = 0) -> Proposal:
    return Proposal(Edit("append", content=name, support=support), support, source, rank)


def names(found: Any) -> list[str]:
    return [p.edit.content for p in found.chosen]


MIXED = [
    proposal("low", rank=3),
    proposal("ranked", 2, rank=2),
    proposal("high", 3),
    proposal("first", 2),
    proposal("success", 2, source="success"),
]
TIED = [proposal("w"), proposal("top", 2), proposal("x"), proposal("y"), proposal("late", rank=1)]


def test_the_ranking_is_by_support_then_failures_then_rank() -> None:
    found = ranked(MIXED, 3)
    assert names(found) == ["ranked", "high", "first"]
    assert [d.proposal.edit.content for d in found.dropped] == ["low", "success"]
    assert all("3 edits" in d.reason for d in found.dropped)


@pytest.mark.parametrize("budget", [None, 1, 2, 3, 4, 5, 9, 0])
async def test_a_clear_cut_is_no_call(tmp_path: Path, budget: int | None) -> None:
    bench = Bench(tmp_path)
    assert await select(MIXED, budget, "", bench.optimizer) == ranked(MIXED, budget)
    assert bench.requests == []
    assert len(ranked(MIXED, budget).chosen) == (5 if budget is None else min(budget, 5))


async def test_within_the_budget_ties_are_no_call(tmp_path: Path) -> None:
    assert names(await select(TIED, 5, "", Bench(tmp_path).optimizer)) == ["w", "top", "x", "y", "late"]


async def test_inside_a_tie_the_model_chooses(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{"reasoning": "", "selected": ["e3", "e1"]}], meta="Short lines work.")
    found = await select(TIED, 3, "# Rules\n", bench.optimizer)
    assert names(found) == ["w", "top", "y"]
    assert [d.proposal.edit.content for d in found.dropped] == ["x", "late"]
    assert found.calls == 1
    chosen, open_ = bench.prompt.split("Choose among")
    assert '"top"' in chosen
    assert '"w"' in open_
    assert '"late"' not in bench.prompt
    for told in ("# Rules", "Short lines work.", "Choose at most 2 edits."):
        assert told in bench.prompt
    assert names(ranked(TIED, 3)) == ["w", "top", "x"]


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        (["e3"], ["w", "top", "y"]),
        ([], ["w", "top", "x"]),
        (["e3", "e3", "e9", "e0", None, True, 2.5, "top"], ["w", "top", "y"]),
        ([3, 2, 1], ["top", "x", "y"]),
        (["3", " E2 "], ["top", "x", "y"]),
    ],
)
async def test_what_is_selected_is_validated(tmp_path: Path, selected: list[Any], expected: list[str]) -> None:
    bench = Bench(tmp_path, [{"selected": selected}])
    assert names(await select(TIED, 3, "", bench.optimizer)) == expected
    assert len(bench.requests) == 1


async def test_a_reply_that_cannot_be_used_leaves_the_ranking(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ["e3 and e1", {"selected": "e3"}])
    assert names(await select(TIED, 3, "", bench.optimizer)) == ["w", "top", "x"]
    assert "'selected'" in bench.log.last_problem


proposals = st.lists(
    st.builds(
        proposal,
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 3),
        source=st.sampled_from(["failure", "success"]),
        rank=st.integers(0, 2),
    ),
    max_size=10,
)


@given(proposals, st.integers(0, 12))
def test_the_budget_holds_and_nothing_is_lost(given_: list[Proposal], budget: int) -> None:
    found = ranked(given_, budget)
    assert len(found.chosen) == min(budget, len(given_))
    assert len(found.chosen) + len(found.dropped) == len(given_)
    least = min((p.support for p in found.chosen), default=9)
    assert all(d.proposal.support <= least for d in found.dropped)
    rest = iter(given_)
    assert all(p in rest for p in found.chosen), "in the order given"
    cut = border(given_, budget)
    assert len(cut.settled) + cut.room == len(found.chosen)
    assert len(cut.tied) > cut.room or (cut.tied, cut.room) == ((), 0)


@given(proposals.filter(lambda p: len(p) > 1), st.data())
async def test_whatever_the_model_says_the_budget_holds(given_: list[Proposal], data: st.DataObject) -> None:
    budget = data.draw(st.integers(1, len(given_)))
    said = data.draw(st.lists(st.integers(-2, 12)))
    with TemporaryDirectory() as folder:
        bench = Bench(Path(folder), [json.dumps({"selected": said})])
        found = await select(given_, budget, "", bench.optimizer)
    assert len(found.chosen) == budget
    assert sorted(p.support for p in found.chosen) == sorted(p.support for p in ranked(given_, budget).chosen)
