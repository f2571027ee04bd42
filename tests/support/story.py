"""A skill's whole way through the command line, and an independent reckoning of what its history must say."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

from support import cli, repos
from support.cli import Done
from support.server import Server
from support.world import SEED_DOCUMENT, TopicWorld

SKILL = "tickets"
DOCUMENT = "skills/tickets/SKILL.md"
BEST = "skills/tickets/best_skill.md"
BRANCH = "refs/heads/skill/tickets"


@dataclass
class Story:
    """A repository whose skill is taken from `init` on, command by command."""

    root: Path
    world: TopicWorld
    server: Server
    before: tuple[str, str, dict[str, bytes]] | None = None
    trained: Done = field(default_factory=lambda: Done(-1, "", ""))

    def run(self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> Done:
        """A command in a process of its own."""
        done = cli.start(self.root, *arguments, env={**self.server.env(), **(env or {})})
        assert done.code == code, done.err
        return done

    def call(self, *arguments: str, code: int = 0) -> Done:
        """A command in this process, which is much faster."""
        with mock.patch.dict(os.environ, self.server.env()):
            done = cli.call(self.root, *arguments)
        assert done.code == code, done.err
        return done

    def json(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.call(*arguments, "--json").out)

    def git(self, *arguments: str) -> str:
        return repos.git(self.root, *arguments)

    def document(self, rev: str, path: str = DOCUMENT) -> str:
        """The document at a commit, byte for byte."""
        return repos.git(self.root, "show", f"{rev}:{path}") + "\n"

    def passed(self, document: str, split: str) -> dict[str, bool]:
        """Which tasks a document answers: the world's rule, applied without skillgit."""
        return {
            row["id"]: self.world.target(document, row["input"]) == row["answer"] for row in self.world.tasks[split]
        }

    def score(self, document: str, split: str = "val") -> Fraction:
        """The share of tasks that a document answers."""
        passed = self.passed(document, split)
        return Fraction(sum(passed.values()), len(passed))

    def trailers(self, rev: str) -> dict[str, str]:
        """A commit's trailers, as git itself prints them."""
        text = self.git("log", "-1", "--format=%(trailers:only,unfold)", rev)
        return dict(line.split(": ", 1) for line in text.splitlines() if line)

    def snapshot(self) -> tuple[str, str, dict[str, bytes]]:
        """The index, what git says of the work tree, and the work tree's bytes."""
        status = self.git("status", "--porcelain=v2", "--untracked-files=all")
        return self.git("ls-files", "-s"), status, dict(self._files())

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and ".git" not in path.relative_to(self.root).parts:
                yield str(path.relative_to(self.root)), path.read_bytes()


def begin(root: Path, world: TopicWorld, server: Server, *, target: str, optimizer: str) -> Story:
    """`git init`, `skillgit init`, and what a person then does: write tasks and document, choose models, commit."""
    story = Story(repos.make_repo(root), world, server)
    (root / "notes.txt").write_text("one\n")
    said = story.run("init", "--skill", SKILL)
    assert [line for line in said.out.splitlines() if line.startswith("wrote ")] == [
        f"wrote {path}" for path in ("skillgit.yaml", DOCUMENT, *(f"envs/tickets/{n}" for n in ("env.yaml", *_TASKS)))
    ]
    world.write_env(root / "envs/tickets")
    (root / DOCUMENT).write_text(SEED_DOCUMENT)
    config = (root / "skillgit.yaml").read_text()
    config = config.replace("target: local/qwen2.5-coder-0.5b", f"target: {target}")
    config = config.replace("optimizer: local/qwen2.5-coder-0.5b", f"optimizer: {optimizer}")
    config = config.replace("    merge:", "    train: {num_epochs: 2, batch_size: 8}\n    merge:")
    (root / "skillgit.yaml").write_text(f"{config}limits: {{in_flight: 8}}\n")
    story.git("add", "-A")
    story.git("commit", "-q", "-m", "Add the tickets skill")
    return story


_TASKS = ("train.jsonl", "val.jsonl", "test.jsonl")


def early_maximum(before: Mapping[str, bool], after: Mapping[str, bool]) -> Fraction | None:
    """What a rejected candidate could still reach when it was given up; None where only the last task decided.

    Tasks that the incumbent fails come first, then by id; a candidate is given up as soon as it cannot get ahead.
    """
    order = sorted(before, key=lambda task: (before[task], task))
    for seen in range(1, len(order)):
        done, rest = order[:seen], order[seen:]
        lead = sum(after[t] - before[t] for t in done) + sum(not before[t] for t in rest)
        if lead <= 0:
            return Fraction(sum(after[t] for t in done) + len(rest), len(order))
    return None
