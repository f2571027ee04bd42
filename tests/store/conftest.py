"""Every test of this room runs git without the machine's own configuration."""

from __future__ import annotations

import pytest
from support import repos


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    repos.plain_environment(monkeypatch)
