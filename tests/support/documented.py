"""docs/git.md as a list of commands, and a trained repository with a remote and another clone to run them in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from support import repos, training
from support.carrying import Hand
from support.sharing import bare, clone, share
from support.training import BRANCH, DOCUMENT, SKILL, Yard

from skillgit.errors import InterruptedRunError

PAGE = Path(__file__).parent.parent.parent / "docs/git.md"
SEED = "train.seed=3"
"""After the first run and a merge: an accepted step, then a rejected one on top of it."""
EDITOR = '#!/bin/sh\nsed \'s/Answer with the code/Answer with the code alone/\' "$1" >"$1.new" && mv "$1.new" "$1"\n'
_DATES = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")
_PLACEHOLDER = re.compile(r"\b(triage|RUN|STEP|ENTRY|COMMIT|LINE|TASK|REJECTED|OLD|REMOTE|LOST)\b")


@dataclass(frozen=True)
class Command:
    """A command of the page, as it stands there."""

    text: str
    section: str
    line: int


def commands(page: str) -> list[Command]:
    """Every `$ ` of a console block with the `> ` lines that go on with it.

    Raises:
        AssertionError: another line in such a block, or a command outside of one.
    """
    found: list[Command] = []
    section, fence = "", ""
    for number, line in enumerate(page.splitlines(), start=1):
        if line.startswith("```"):
            fence = "" if fence else line
        elif fence != "```console":
            assert not line.startswith("$ "), f"line {number} is a command outside of a console block"
            section = line.lstrip("# ") if line.startswith("#") and not fence else section
        elif line.startswith("$ "):
            found.append(Command(line[2:], section, number))
        else:
            assert line.startswith("> "), f"line {number} is no command"
            last = found.pop()
            found.append(Command(f"{last.text}\n{line[2:]}", last.section, last.line))
    return found


class Scene(Hand):
    """Two runs with a merge between, the second one unfinished, a person's commit on top; what the page's words mean
    here; and what git and the journals' own JSON say, read without the page's commands."""

    def __init__(self, made: Yard, folder: Path) -> None:
        super().__init__(made.root, made.world, made.server)
        self.folder, self.bare, self.elsewhere = folder, folder / "bare", folder / "elsewhere"
        self.out = ""
        self.before: dict[str, str] = {}
        self.lost = ""

    def prepare(self) -> None:
        """From a finished first run on."""
        bare(self.bare)
        share(self.root, self.bare)
        clone(self.bare, self.elsewhere)
        self.call("push")
        self.call("merge", SKILL)
        with contextlib.suppress(InterruptedRunError):
            asyncio.run(self.train(SEED, entries=2))
        self.call("eval", SKILL)
        self.call("attribute", SKILL)
        self.commit_on(BRANCH, {DOCUMENT: self.text().replace("# Tickets", "# Tickets and codes")}, "A better title")
        repos.git(self.elsewhere, "notes", "--ref=skillgit", "add", "-m", '{"kind": "note", "text": "there"}', "HEAD")
        repos.git(self.elsewhere, "push", "-q", "origin", "refs/notes/skillgit")
        for name, script in (("skillgit", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m skillgit "$@"\n'),):
            self._script(name, script)
        self._script("editor", EDITOR)
        assert self.words  # as of now, whatever the commands change

    def _script(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    @cached_property
    def runs(self) -> list[str]:
        """Oldest first."""
        return sorted(ref.rpartition("/")[2] for ref in self.refs(f"refs/skillgit/runs/{SKILL}/"))

    def journal(self, run: str) -> list[tuple[str, dict[str, Any]]]:
        """(commit, step.json) of each entry, newest first."""
        found = []
        for commit in self.git("rev-list", "--first-parent", f"refs/skillgit/runs/{SKILL}/{run}").split():
            listed = self.git("ls-tree", "--name-only", commit).split()
            if "step.json" not in listed:
                break
            found.append((commit, json.loads(self.git("show", f"{commit}:step.json"))))
        return found

    def state(self, run: str) -> dict[str, Any]:
        """A run's state.json."""
        return dict(json.loads(self.git("show", f"refs/skillgit/runs/{SKILL}/{run}:state.json")))

    @cached_property
    def run_id(self) -> str:
        """The run that the page speaks of."""
        return self.runs[-1]

    @cached_property
    def entry(self) -> tuple[str, dict[str, Any]]:
        """The accepted step of that run."""
        (found,) = [(c, e) for c, e in self.journal(self.run_id) if e["decision"] == "accept-best"]
        return found

    @cached_property
    def words(self) -> Mapping[str, str]:
        """What stands for the page's words."""
        commit, entry = self.entry
        rejected = f"refs/skillgit/rejected/{SKILL}"
        return {
            "triage": SKILL,
            "RUN": self.run_id,
            "STEP": str(entry["step"]),
            "ENTRY": commit,
            "COMMIT": entry["commits"][-1],
            "LINE": entry["edits"][-1]["content"],
            "TASK": entry["gained"][0],
            "REJECTED": next(ref for ref in self.refs(f"{rejected}/{self.run_id}/")),
            "OLD": next(ref for ref in self.refs(f"{rejected}/{self.runs[0]}/")),
            "REMOTE": "origin",
            "LOST": self.git("rev-parse", f"refs/skillgit/runs/{SKILL}/{self.runs[0]}"),
        }

    def lose_a_journal(self) -> None:
        """An accident: its ref is gone, and so is the fetched copy."""
        for place in ("", "remotes/origin/"):
            self.git("update-ref", "-d", f"refs/skillgit/{place}runs/{SKILL}/{self.runs[0]}")

    def run(self, command: Command) -> None:
        """As a person would, in bash; every failure counts, also in the middle of a pipe."""
        self.before = self.refs()
        text = _PLACEHOLDER.sub(lambda found: self.words[found[1]], command.text)
        kept = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
        plain = {name: value for name, value in repos.ENV.items() if name not in _DATES}
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        env = {**kept, **plain, **self.server.env(), "PATH": path, "EDITOR": str(self.folder / "bin/editor")}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.root,
            env={**env, "LC_ALL": "C.UTF-8", "PAGER": "cat", "GIT_EDITOR": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = f"docs/git.md:{command.line}: {command.text}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, f"{done.returncode}: {said}"
        self.out = done.stdout.rstrip("\n")

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def fields(self) -> dict[str, Any]:
        """Output that is a part of one of our JSON files."""
        return dict(json.loads("{" + self.out.strip().rstrip(",") + "}"))

    def short(self, commit: str) -> str:
        return self.git("rev-parse", "--short", f"{commit}^{{commit}}")


@contextlib.contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Trained once for a module, for all commands in order."""
    with pytest.MonkeyPatch.context() as patch:
        repos.plain_environment(patch)
        with training.trained_once(folder / "repo", training.mixed(), []) as made:
            found = Scene(made, folder)
            found.prepare()
            yield found
