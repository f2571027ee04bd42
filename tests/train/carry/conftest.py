"""A skill that was trained once; each test gets a copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import training
from support.carrying import Hand
from support.training import Yard


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """Two accepted steps, of three and of two edits, and two rejected ones."""
    with training.trained_apart(tmp_path_factory.mktemp("carry") / "repo", training.mixed(), ()) as made:
        yield made


@pytest.fixture
def hand(trained: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand.on(trained, tmp_path / "repo", monkeypatch)
