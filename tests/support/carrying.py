"""A trained skill for tests that change its document, with copies of it, and commands run in them."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from support import cli, repos, training
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
        copied = training.copied(made, root, patch)
        # What a test does to the world is no other test's: the server answers as the first one does.
        return cls(copied.root, copy.deepcopy(copied.world), copied.server)

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


SHARED = ("refs/heads/skill/*", "refs/tags/*", "refs/skillgit/*")


@dataclass
class Two:
    """Two clones of a bare repository."""

    here: Hand
    there: Hand

    def send(self) -> None:
        """What the other clone has goes to the remote, and this clone fetches it, by plain git."""
        self.there.git("push", "-q", "origin", *(f"{ref}:{ref}" for ref in SHARED))
        self.here.git("fetch", "-q", "origin")

    def turned(self) -> Two:
        """The same, as the other clone sees it."""
        return Two(self.there, self.here)


@contextlib.contextmanager
def two_clones(root: Path, patch: pytest.MonkeyPatch) -> Iterator[Two]:
    """A yard and a clone of it, neither of them trained, with a bare remote between them."""
    with training.yard(root / "here", patch, training.mixed()) as made:
        repos.git(root, "init", "-q", "--bare", "-b", "main", "bare")
        made.git("remote", "add", "origin", str(root / "bare"))
        made.git("push", "-q", "origin", "main")
        made.git("fetch", "-q", "origin")
        yield Two(Hand(made.root, made.world, made.server), another(made, root, "there"))


def another(made: Yard, root: Path, name: str) -> Hand:
    """One more clone of the remote."""
    repos.git(root, "clone", "-q", "bare", name)
    repos.identify(root / name)
    return Hand(root / name, made.world, made.server)
