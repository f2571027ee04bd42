"""The ASCII column of `log --graph`."""

from __future__ import annotations

import pytest

from skillgit.train.archive.graph import WIDTH, column, placed


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
