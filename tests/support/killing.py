"""Commands in processes of their own, killed with all their children at a chosen moment, and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from support import repos

# In `prepared`, git holds a lock file with the new value for every ref and renames them one by one, in the order of its
# standard input. Renaming the first ones and dying is what a kill in the middle of that leaves.
_HOOK = """#!/bin/sh
plan="$CRASH_PLAN"
[ -f "$plan" ] || exit 0
read -r state moved about < "$plan"
[ "$1" = "$state" ] || exit 0
refs=$(cut -d' ' -f3)
case "$refs" in *"$about"*) ;; *) exit 0 ;; esac
rm "$plan"
dir=$(git rev-parse --git-common-dir)
for ref in $refs; do
  [ "$moved" -gt 0 ] || break
  mv "$dir/$ref.lock" "$dir/$ref"
  moved=$((moved - 1))
done
kill -9 0
"""


class Ended(NamedTuple):
    """How a process ended: a negative code is the signal's number."""

    code: int
    out: str
    err: str


class Killer:
    """Starts commands in a repository and kills them.

    Args:
        root: the repository; gets a `reference-transaction` hook.
    """

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self.root = root
        self._plan = root.with_name(f"{root.name}.plan")
        self._env = {**os.environ, **env, "CRASH_PLAN": str(self._plan)}
        hook = root / ".git/hooks/reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK)
        hook.chmod(0o755)

    def start(self, *command: str, plan: str = "", after_s: float | None = None) -> Ended:
        """Run `skillgit COMMAND` to its end or its death.

        Args:
            plan: `STATE MOVED REFS`: die in the first transaction with such a ref, in the state `prepared` or
                `committed`, behind so many refs that have moved.
            after_s: or die so many seconds after the start.
        """
        self._plan.unlink(missing_ok=True)
        if plan:
            self._plan.write_text(f"{plan}\n")
        process = subprocess.Popen(
            [sys.executable, "-m", "skillgit", *command],
            cwd=self.root,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(after_s or 0, _kill, (process,))
        if after_s is not None:
            timer.start()
        out, err = process.communicate(timeout=120)
        timer.cancel()
        self._plan.unlink(missing_ok=True)
        return Ended(process.returncode, out, err)

    def check_whole(self) -> None:
        """Git calls the repository sound, and no lock file lies about."""
        repos.fsck(self.root)
        own = self.root / ".git/skillgit/locks"
        assert [path for path in (self.root / ".git").rglob("*.lock") if path.parent != own] == []


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
