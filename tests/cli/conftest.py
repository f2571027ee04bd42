"""No test of this folder sees the machine's git configuration, or a person's keys and endpoints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import cli, training
from support.place import CONFIG, WORLD, Place
from support.server import Server, serve


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cli.plain_environment(monkeypatch, tmp_path / "home")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serve(WORLD) as running:
        yield running


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return training.make(tmp_path_factory.mktemp("template") / "r", WORLD, config=CONFIG)


@pytest.fixture
def place(tmp_path: Path, template: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A repository that could be trained."""
    training.point_at(monkeypatch, server.env())
    return Place(shutil.copytree(template, tmp_path / "r", symlinks=True), server)
