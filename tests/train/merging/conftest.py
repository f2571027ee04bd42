"""A skill that was trained, for a whole module at once, and a copy of it for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import training
from support.merging import CONFIG, LONG
from support.training import Yard
from support.world import Kinds, TopicWorld


@pytest.fixture(scope="package")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """After a run that found four of eight codes."""
    root, world = tmp_path_factory.mktemp("once") / "repo", TopicWorld(8, 1, kinds=Kinds(100, 0))
    with training.trained_apart(root, world, [], config=CONFIG, document=LONG) as made:
        yield made


@pytest.fixture
def trained(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    return training.copied(once, tmp_path / "repo", monkeypatch)
