"""The ASCII column of `log --graph`."""

from __future__ import annotations

import pytest

from skillgit.train.archive.graph import WIDTH, column, kind_of, placed
from skillgit.train.archive.journal import StepRecord


@pytest.mark.parametrize(
    ("kind", "decision", "place", "text"),
    [
        ("step", "accept-best", "main", "*"),
        ("step", "accept", "main", "*"),
        ("slow-update", "forced", "main", "*"),
        ("step", "reject", "side", "| x"),
        ("revert", "reject", "side", "| x"),
        ("step", "indecisive", "side", "| ?"),
        ("step", "none", "none", "|"),
        ("end", "end", "none", "|"),
        ("baseline", "baseline", "main", "o"),
        ("remeasure", "remeasure", "main", "o"),
        ("human", "human", "main", "h"),
        ("unmeasured", "unmeasured", "main", "h"),
        ("merge", "accept", "main", "m"),
        ("revert", "forced", "main", "r"),
        ("rollback", "forced", "main", "b"),
        ("cherry-pick", "accept-best", "main", "c"),
        ("retry", "accept", "main", "t"),
        ("something-new", "something", "none", "|"),
    ],
)
def test_where_an_entry_stands(kind: str, decision: str, place: str, text: str) -> None:
    assert placed(kind, decision) == place
    assert column(kind, decision) == text.ljust(WIDTH)


def test_a_rollback_is_a_revert_whose_edit_says_so() -> None:
    def kind(kind: str, *ops: str) -> str:
        record = StepRecord(kind, 1, 1, "forced", "", document="", document_before="")
        record.edits = [{"op": op} for op in ops]
        return kind_of(record)

    assert kind("revert", "rollback") == "rollback"
    assert kind("revert", "revert", "revert") == "revert"
    assert kind("step", "append") == kind("step") == "step"
