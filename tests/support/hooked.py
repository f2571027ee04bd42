"""Repositories with git's hooks at work: git run as a person runs it, hooks included."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import repos
from support.cli import Done

DOCUMENT = "skills/ops/SKILL.md"
BEST = "skills/ops/best_skill.md"
BRANCH = "refs/heads/skill/ops"
RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
CONFIG = f"version: 1\nskills:\n  ops: {{document: {DOCUMENT}, env: builtin/opscli}}\n"
TEXT = "---\nname: ops\ndescription: Answers with one command.\n---\n\n# ops\n\n- Answer with one command.\n"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
"""A secret by its form, made up."""


def git(where: Path, *args: str, input: str | None = None, env: Mapping[str, str] | None = None) -> Done:
    """Run git with its hooks, and give what came of it."""
    done = subprocess.run(
        ["git", *args],
        cwd=where,
        input=None if input is None else input.encode(),
        stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C", **(env or {})},
        check=False,
        timeout=120,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def make(root: Path, *, bare_remote: bool = False) -> Path:
    """A repository with a skill on main and its branch; with a remote that has both."""
    repos.make_repo(root, {DOCUMENT: TEXT, "skillgit.yaml": CONFIG, "README.md": "Ours.\n"})
    repos.git(root, "branch", "skill/ops")
    if bare_remote:
        remote = repos.make_repo(root.with_name("remote.git"), bare=True)
        repos.git(root, "remote", "add", "origin", str(remote))
        repos.git(root, "push", "-q", "--no-verify", "origin", "main", "skill/ops")
    return root


def on_path(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Put a `skillgit` on the PATH that is this one, whatever else is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    program(folder / "skillgit", f'exec "{sys.executable}" -m skillgit "$@"\n')
    patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def off_path(patch: pytest.MonkeyPatch) -> None:
    """Take every `skillgit` off the PATH, and leave git and the shell on it."""
    kept = [f for f in os.environ["PATH"].split(os.pathsep) if not (Path(f) / "skillgit").exists()]
    patch.setenv("PATH", os.pathsep.join(kept))


def program(path: Path, text: str) -> Path:
    """A shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def logging_hook(path: Path, log: Path, *, code: int = 0) -> Path:
    """A hook of somebody else: appends its name, its arguments' number and its standard input to a log."""
    text = f'{{ echo "$(basename "$0") $#"; [ -t 0 ] || cat; }} >>\'{log}\'\nexit {code}\n'
    return program(path, text)


def message(blob: str, **changed: str | None) -> str:
    """A candidate's commit message that scores a blob; trailers by key without `Skill-`, None leaves one out."""
    trailers: dict[str, str | None] = {
        "Name": "ops",
        "Run": RUN,
        "Step": "7",
        "Epoch": "2",
        "Kind": "step",
        "Edit": "1/2 append",
        "Support": "3 failures",
        "Decision": "accept-best",
        "Score": "0.812500",
        "Score_Before": "0.750000",
        "Score_Hard": "0.812500",
        "Score_Soft": "0.861000",
        "Gate": "strict hard n=48 repeats=1",
        "Blob": blob,
        "Val": f"sha256:{'a' * 64}",
        "Target": "openai/gpt-5.5-mini",
        "Optimizer": "anthropic/claude-opus-4-8",
        "Cost": "calls=212 tokens=182340 usd=0.43",
        **changed,
    }
    block = "".join(f"Skill-{k.replace('_', '-')}: {v}\n" for k, v in trailers.items() if v is not None)
    return f"skill(ops): add one rule\n\nBecause three attempts failed.\n\n{block}"
