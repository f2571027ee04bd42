"""What history is made, and the repository that it begins in."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SKILL, DOCUMENT = "triage", "skills/triage/SKILL.md"
CONFIG = f"""\
version: 1
models: {{target: openai/target, optimizer: openai/optimizer}}
skills:
  {SKILL}:
    document: {DOCUMENT}
    env: env
    train: {{num_epochs: 4, batch_size: 16}}
    optimizer: {{use_slow_update: false, use_meta_skill: false}}
    merge: {{into: main}}
"""
_ENV = """\
version: 1
description: Answers a ticket with its code.
tasks: {train: train.jsonl, val: val.jsonl, test: test.jsonl}
system: "{skill}"
prompt: "{input}"
extract: last_line
scorer: exact
"""
_WORDS = (
    "check",
    "name",
    "refund",
    "code",
    "the order",
    "a missing part",
    "each ticket",
    "before",
    "by",
    "then",
    "and",
)


@dataclass(frozen=True, slots=True)
class Size:
    """How long a history is.

    Args:
        steps, rejected: in all; the rest is accepted, but for one step in ten that had no applicable edit.
        runs: the steps are divided among them. rules: of the document. val: tasks of a run.
        evidence: the gate's attempts too.
    """

    steps: int = 10_000
    rejected: int = 5_000
    runs: int = 100
    rules: int = 100
    val: int = 48
    evidence: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        each = (self.steps - self.rejected) / self.runs - self.steps // self.runs // 10
        if self.rejected >= self.steps or each > self.val - 2:
            raise ValueError(f"a run of {self.val} val tasks has not {each:g} steps to win: make more runs of it")


@dataclass(slots=True)
class Made:
    """A history.

    Args:
        objects: how many the pack has. steps: of all runs. runs: their ids. accepted: the last commits of accepted
            candidates; rejected: refs; the oldest first.
    """

    root: Path
    objects: int = 0
    steps: int = 0
    runs: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)

    def told(self) -> str:
        """In a line."""
        kinds = f"{len(self.accepted):,} accepted, {len(self.rejected):,} rejected"
        return f"{self.steps:,} steps in {len(self.runs)} runs ({kinds}), {self.objects:,} objects"


def begin(root: Path, rules: int) -> None:
    """A repository with a document of many rules, a configuration and an environment."""
    text = f"---\nname: {SKILL}\ndescription: Answers tickets.\n---\n# Tickets\n\n"
    text += "".join(f"- {rule(random.Random(number))}\n" for number in range(rules))
    files = {"skillgit.yaml": CONFIG, "env/env.yaml": _ENV, DOCUMENT: text}
    for split in ("train", "val", "test"):
        files[f"env/{split}.jsonl"] = f'{{"id": "{split}-0", "input": "ticket of {split}", "answer": "W1"}}\n'
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    git(root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "bench"), ("user.email", "bench@example.invalid"), ("gc.auto", "0")):
        git(root, "config", key, value)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Start")


def rule(chance: random.Random) -> str:
    """A rule of the document; no two are the same."""
    return f"{' '.join(chance.choices(_WORDS, k=9))} ({chance.randrange(10**9)})."


def git(root: Path, *arguments: str, input: bytes | None = None) -> str:
    """What git says.

    Raises:
        CalledProcessError: it failed.
    """
    done = subprocess.run(["git", *arguments], cwd=root, check=True, input=input, stdout=subprocess.PIPE)
    return done.stdout.decode()
