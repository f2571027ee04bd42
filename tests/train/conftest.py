"""No test of this room sees the machine's git configuration, or a person's keys and endpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support import repos, training
from support.world import TopicWorld


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repos.plain_environment(monkeypatch)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "SKILLGIT_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for variable in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., training.Yard]]:
    """Makes yards (`support.training.yard`) whose servers run until the test ends."""
    with ExitStack() as stack:

        def make(world: TopicWorld, **more: Any) -> training.Yard:
            return stack.enter_context(training.yard(tmp_path / "repo", monkeypatch, world, **more))

        yield make
