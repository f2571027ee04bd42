"""`--set section.key=value`, as commands take it."""

from __future__ import annotations

import pytest

from skillgit.cli.settings import overrides
from skillgit.errors import ConfigError


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("train.seed=7", ("train.seed", "7")),
        ("train.seed = 7", ("train.seed", " 7")),
        ("models.target=openai/a=b", ("models.target", "openai/a=b")),
        ("merge.into=", ("merge.into", "")),
    ],
)
def test_parts(setting: str, found: tuple[str, str]) -> None:
    assert overrides("x", [setting]) == [("x", *found)]


def test_order_is_kept() -> None:
    assert [value for _, _, value in overrides("x", ["a.b=1", "a.b=2"])] == ["1", "2"]
    assert overrides("x", []) == []


def test_no_value() -> None:
    with pytest.raises(ConfigError, match=r"--set train\.seed: no value; write section\.key=value"):
        overrides("x", ["train.seed"])
