"""Several skills in one repository, each with a world and model names of its own, one server for all of them."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from support import repos
from support.server import Answer, Call
from support.training import PLAIN
from support.world import SEED_DOCUMENT, TopicWorld

_PREFIX = "sim-"


@dataclass
class Worlds:
    """Answers for each skill as its own world does; the model's name says which.

    Args:
        delay_s: before each answer, so that trainings are under way beside each other.
    """

    worlds: Mapping[str, TopicWorld]
    delay_s: float = 0.0

    def __call__(self, call: Call) -> Answer:
        return replace(self.worlds[call.model.removeprefix(_PREFIX)](call), delay_s=self.delay_s)


def document(name: str) -> str:
    """Where a skill's document lies."""
    return f"skills/{name}/SKILL.md"


def make(root: Path, worlds: Mapping[str, TopicWorld], **sections: Mapping[str, object]) -> Path:
    """A repository with a skill for each world; sections are the skills' settings."""
    repos.make_repo(root)
    skills = {}
    for name, world in worlds.items():
        world.write_env(root / "envs" / name)
        (root / document(name)).parent.mkdir(parents=True)
        (root / document(name)).write_text(SEED_DOCUMENT)
        model = f"openai/{_PREFIX}{name}"
        skills[name] = {
            "document": document(name),
            "env": f"envs/{name}",
            "models": {"target": model, "optimizer": model},
            "merge": {"into": "main"},
            **{section: {**keys, **sections.get(section, {})} for section, keys in PLAIN.items()},
            **{section: keys for section, keys in sections.items() if section not in PLAIN},
        }
    config = {"version": 1, "limits": {"in_flight": 4}, "skills": skills}
    (root / "skillgit.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    repos.git(root, "add", "-A")
    repos.git(root, "commit", "-q", "-m", "Start")
    return root


@dataclass
class Busybody:
    """A person who commits to the base branch and tidies the repository up, over and over.

    Args:
        done: how often each thing worked. refused: what git itself refused, since another git was at it.
    """

    root: Path
    done: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def round(self, number: int) -> None:
        """Everything once."""
        (self.root / f"busy-{number % 7}.txt").write_text(f"{number}\n")
        self._git("add", f"busy-{number % 7}.txt")
        self._git("commit", "-q", "-m", f"Busy {number}")
        self._git("pack-refs", "--all")
        self._git("gc", "-q", "--prune=5.minutes.ago")
        self._git("pack-refs", "--all")

    def _git(self, *arguments: str) -> None:
        try:
            repos.git(self.root, *arguments)
        except AssertionError as error:
            self.refused.append(str(error))
        else:
            self.done[arguments[0]] = self.done.get(arguments[0], 0) + 1


@contextmanager
def busy(root: Path, pause_s: float = 0.2) -> Iterator[Busybody]:
    """Somebody is at it until the block ends."""
    person, over = Busybody(root), threading.Event()

    def work() -> None:
        number = 0
        while not over.is_set():
            person.round(number)
            number += 1
            time.sleep(pause_s)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield person
    finally:
        over.set()
        thread.join()


def note_lines(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """Every line of every note as git shows them, with the object that it is about."""
    listed = [line.split() for line in repos.git(root, "notes", "--ref=skillgit", "list", check=False).splitlines()]
    shown = {about: repos.git(root, "cat-file", "blob", note).splitlines() for note, about in listed}
    return [(about, json.loads(line)) for about, lines in shown.items() for line in lines]


def lost_objects(root: Path) -> str:
    """What `git fsck --strict` finds; nothing where all is well."""
    command = ["git", "fsck", "--strict", "--no-dangling", "--no-progress"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"ended with {done.returncode}")
