"""No test of this folder sees the machine's git configuration, or a person's keys and endpoints."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import cli


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cli.plain_environment(monkeypatch, tmp_path / "home")
