"""The real weights for tests marked `local_model`: fetched once per user, wherever a test's HOME points."""

from __future__ import annotations

import pytest

from skillgit.models import weights

NAME = "qwen2.5-coder-0.5b"
SPEC = f"local/{NAME}"
CACHE_DIR = str(weights.cache_folder().parent)
"""Of the person who runs the tests: read when the tests are collected, before any of them sets HOME."""


def use_real_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this test, and the processes that it starts, find the real weights; fetches them if need be."""
    monkeypatch.setenv("SKILLGIT_CACHE_DIR", CACHE_DIR)
    weights.pull(NAME, yes=True, say=print)
