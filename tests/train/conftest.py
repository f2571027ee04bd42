"""No test of this room sees the machine's git configuration, or a person's keys and endpoints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import repos


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repos.plain_environment(monkeypatch)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "SKILLGIT_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for variable in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
