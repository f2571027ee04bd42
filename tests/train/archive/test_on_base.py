"""How the base's document stands to the best one, where the base has the best commit: of blobs alone."""

from __future__ import annotations

import pytest

from skillgit.train.archive.on_base import State, state


@pytest.mark.parametrize(
    ("theirs", "copy", "found"),
    [
        ("best", "best", "best"),
        ("best", None, "best"),
        ("best", "old", "copy"),
        ("mixed", "mixed", "merged"),
        ("mixed", "best", "person"),
        ("mixed", None, "person"),
    ],
)
def test_where_the_base_has_the_best_commit(theirs: str, copy: str | None, found: State) -> None:
    assert state(theirs, "best", copy) == found
