"""One trained skill for the tests of this room; each works on a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import training
from support.training import Yard

MakeYard = Callable[[], Yard]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """Two epochs of two steps: rejected, accepted, rejected, accepted."""
    with training.trained_apart(tmp_path_factory.mktemp("trained") / "repo", training.mixed(), ()) as made:
        assert [step.decision for step in made.steps] == ["baseline", "reject", "accept-best", "reject", "accept-best"]
        yield made


@pytest.fixture
def here(template: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    """A copy of it."""
    return training.copied(template, tmp_path / "repo", monkeypatch)
