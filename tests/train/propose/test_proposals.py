"""How proposals are compared."""

from __future__ import annotations

import pytest

from skillgit.document import Edit
from skillgit.train.propose.proposals import key_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Edit("append", content="Use  `ops`.\n"), Edit(" Append", content="Use `ops`.", reason="why", support=3)),
        (Edit("append", "the end", "x"), Edit("append", "", "x")),
        (Edit("delete", "a  b", "x"), Edit("delete", "a b")),
        (Edit("append", content="```\nif x:\n  y\n```  "), Edit("append", content="```\nif x:\n  y\n```\n")),
    ],
)
def test_what_makes_no_difference(one: Edit, other: Edit) -> None:
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Edit("append", content="Use OPS."), Edit("append", content="Use ops.")),
        (Edit("insert_after", "# A", "x"), Edit("insert_after", "# B", "x")),
        (Edit("append", content="x"), Edit("insert_after", "", "x")),
        (Edit("replace", "a", "x"), Edit("replace", "a", "y")),
        (Edit("append", content="```\nif x:\n  y\n```"), Edit("append", content="```\nif x:\ny\n```")),
    ],
)
def test_what_makes_another_edit(one: Edit, other: Edit) -> None:
    assert key_of(one) != key_of(other)
