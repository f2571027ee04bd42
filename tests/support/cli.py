"""The command line as a person starts it: in a process of its own, or, much faster, in this one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import repos

from skillgit.cli.main import dispatch

FOREIGN = ("OPENAI_", "ANTHROPIC_", "SKILLGIT_")


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return self.err.rstrip("\n").rpartition("\n")[2]


def plain_environment(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing of this machine and its person: no git configuration, key, endpoint, proxy or colour."""
    repos.plain_environment(patch)
    for name in list(os.environ):
        if name.startswith(FOREIGN) or name.lower().endswith("_proxy"):
            patch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        patch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        patch.setenv(name, str(home))


def start(where: Path, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120) -> Done:
    """`python -m skillgit …` in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "skillgit", *arguments],
        cwd=where,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def call(where: Path, *arguments: str) -> Done:
    """The same without the cost of a start: what the entry point does, in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = Path.cwd()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            os.chdir(where)
            code = dispatch(list(arguments))
        finally:
            os.chdir(before)
    return Done(code, out.getvalue(), err.getvalue())
