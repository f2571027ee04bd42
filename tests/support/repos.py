"""Real git repositories for tests: fixed dates, no configuration of the machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

DATE = "2026-01-02T03:04:05+0000"
ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_DATE": DATE,
    "GIT_COMMITTER_DATE": DATE,
    "GIT_TERMINAL_PROMPT": "0",
}
_OURS = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL")


def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git, run by the code under test, see nothing of this machine: for an autouse fixture."""
    for name in [n for n in os.environ if n.startswith("GIT_")] + list(_OURS):
        monkeypatch.delenv(name, raising=False)
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)


def git(
    where: Path, *args: str, input: str | bytes | None = None, env: Mapping[str, str] | None = None, check: bool = True
) -> str:
    """Run git as a person would, and give its output without the newlines at the end."""
    raw = input.encode() if isinstance(input, str) else input
    kept = {n: v for n, v in os.environ.items() if not n.startswith("GIT_") and n not in _OURS}
    done = subprocess.run(
        ["git", *args],
        cwd=where,
        input=raw,
        stdin=subprocess.DEVNULL if raw is None else None,
        capture_output=True,
        env={**kept, **ENV, "LC_ALL": "C", **(env or {})},
        check=False,
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(args)}: {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def make_repo(
    where: Path,
    files: Mapping[str, str | bytes] | None = None,
    *,
    bare: bool = False,
    object_format: str = "sha1",
    identity: bool = True,
) -> Path:
    """A repository with branch `main`; with `files`, they are committed (not in a bare one)."""
    where.mkdir(parents=True, exist_ok=True)
    flags = ["--bare"] if bare else []
    git(where, "init", "-q", "-b", "main", f"--object-format={object_format}", *flags)
    if identity:
        identify(where)
    if files is not None:
        commit(where, files)
    return where


def identify(where: Path) -> None:
    """Give a repository (a clone, for example) an identity."""
    git(where, "config", "user.name", "Test Person")
    git(where, "config", "user.email", "test@example.com")


def commit(where: Path, files: Mapping[str, str | bytes | None], message: str = "Start") -> str:
    """Write (or, with None, remove) files in the work tree, commit them, and give the commit's id."""
    for name, content in files.items():
        path = where / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        git(where, "add", "-f", "-A", "--", name)
    git(where, "commit", "-q", "--no-verify", "-m", message)
    return git(where, "rev-parse", "HEAD")


def refs(where: Path, prefix: str = "refs/") -> dict[str, str]:
    """All refs under a prefix."""
    lines = git(where, "for-each-ref", "--format=%(refname) %(objectname)", prefix).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def fsck(where: Path) -> None:
    """Fail unless `git fsck --strict` finds nothing."""
    said = git(where, "fsck", "--strict", "--no-dangling", "--no-progress")
    assert said == "", said
