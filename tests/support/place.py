"""A folder with a skill that could be trained, and commands that must fail in it without a trace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from support import cli, repos, training
from support.server import Server
from support.training import SKILL
from support.world import Kinds, TopicWorld

from skillgit.cli.output import one_line

CONFIG = training.configuration(
    models="{target: openai/sim, optimizer: openai/sim}", train="{num_epochs: 1, batch_size: 4}"
)
TRAIN = ("train", SKILL)
WORLD = TopicWorld(4, 3, kinds=Kinds(35, 40))


@dataclass
class Place:
    """A folder, most often a repository with a skill, and a server for its models."""

    root: Path
    server: Server

    def git(self, *arguments: str) -> str:
        return repos.git(self.root, *arguments)

    def seen(self) -> object:
        """All that a refused command may not change."""
        if not (self.root / ".git").exists() and not (self.root / "HEAD").exists():
            return sorted(str(path) for path in self.root.rglob("*"))
        status = repos.git(self.root, "status", "--porcelain", "--untracked-files=all", check=False)
        return repos.refs(self.root), status, repos.git(self.root, "ls-files", "-s", check=False)

    def refused(self, *arguments: str, code: int = 2, calls: bool = False, moved: bool = False) -> str:
        """Run a command that must fail, and give its one line without the `skillgit: error: ` before it."""
        before, count = self.seen(), self.server.count
        done = cli.call(self.root, *arguments)
        assert done.code == code, done
        errors = [line for line in done.err.splitlines() if line.startswith("skillgit: error: ")]
        assert done.err.splitlines()[-1:] == errors, done.err
        assert "Traceback" not in done.err
        assert done.out == ""
        assert done.last == one_line(done.last)
        if not moved:
            assert self.seen() == before
        if not calls:
            assert self.server.count == count
        return done.last.removeprefix("skillgit: error: ")

    def trained(self, *arguments: str) -> dict[str, object]:
        """Train to the end, and see that all is well."""
        done = cli.call(self.root, *TRAIN, *arguments, "--json")
        assert done.code == 0, done.err
        repos.fsck(self.root)
        return dict(json.loads(done.out))

    def configure(self, old: str, new: str) -> None:
        """Change a text in skillgit.yaml."""
        path = self.root / "skillgit.yaml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
