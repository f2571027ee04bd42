"""A trained skill for tests that change its document, with copies of it, and commands run in them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from support import cli, training
from support.cli import Done
from support.training import SKILL, Yard

from skillgit.store.repository import Repository
from skillgit.train.archive import edits
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.journal import StepRecord


class Hand(Yard):
    """A yard whose skill a person works on with commands."""

    @classmethod
    def on(cls, made: Yard, root: Path, patch: pytest.MonkeyPatch) -> Hand:
        """A copy of a trained yard, with the same server."""
        copy = training.copied(made, root, patch)
        return cls(copy.root, copy.world, copy.server)

    def call(self, *arguments: str, code: int = 0, root: Path | None = None) -> Done:
        """A command in this process."""
        with mock.patch.dict(os.environ, self.server.env()):
            done = cli.call(root or self.root, *arguments)
        assert done.code == code, f"{done.out}\n{done.err}"
        return done

    def json(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.call(*arguments, "--json").out)

    def again(self, *overrides: str) -> None:
        """Train."""
        asyncio.run(self.train(*overrides))

    @property
    def accepted(self) -> list[StepRecord]:
        """The newest run's steps that were accepted, oldest first."""
        return [record for record in self.steps if record.accepted]

    @property
    def last(self) -> StepRecord:
        """The newest entry of the newest run."""
        return self.steps[-1]

    def edits(self) -> list[RecordedEdit]:
        """All accepted edits, oldest first."""
        repo = Repository.open(self.root)
        try:
            return list(edits.accepted(repo, SKILL))[::-1]
        finally:
            repo.close()

    def notes(self, oid: str) -> list[dict[str, Any]]:
        """The facts that plain git shows for an object."""
        text = self.git("notes", "--ref=skillgit", "show", oid)
        return [json.loads(line) for line in text.splitlines()]
