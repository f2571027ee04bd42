"""Running the git program: environment, version, and its failures in our words.

GitPython starts the process on Windows, where `safer_popen` never runs a `git.exe` of an untrusted folder; elsewhere
that is `Popen` itself, and importing it would take longer than most commands of git. Its `Git.execute` is not used
because it cannot take a variable out of the environment.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillgit.errors import RefusedError, RepositoryError, SkillgitError

OLDEST = (2, 38)
"""`merge-tree --write-tree` came with this version."""

_KEPT = {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}
_DROPPED_TOO = {"GIT_QUARANTINE_PATH"}
_REFUSALS = {
    "No space left on device": "make room on the disk and run it again",
    "Disk quota exceeded": "make room on the disk and run it again",
    "couldn't write": "see whether the disk is full, then run it again",  # git does not say why
    "Read-only file system": "the repository has to be writable",
    "Permission denied": "give yourself write access to the repository",
}


@dataclass(frozen=True, slots=True)
class GitResult:
    """What a git command left: exit code (negative: killed by that signal), standard output, error text."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text, without the newline at its end; undecodable bytes as Python's paths have them."""
        return self.out.decode("utf-8", "surrogateescape").removesuffix("\n")


@dataclass(frozen=True, slots=True)
class _Program:
    path: str
    dropped: frozenset[str]


@functools.cache
def _checked(path: str) -> _Program:
    told = subprocess.run([path, "version"], capture_output=True, check=False)
    match = re.search(rb"git version (\d+)\.(\d+)\S*", told.stdout)
    if told.returncode or not match:
        raise RepositoryError(f"{path} does not run as git", mend="install git 2.38 or later")
    if (int(match[1]), int(match[2])) < OLDEST:
        raise RepositoryError(f"{match[0].decode()} is too old", mend="install git 2.38 or later")
    local = subprocess.run([path, "rev-parse", "--local-env-vars"], capture_output=True, check=True)
    return _Program(path, frozenset(local.stdout.decode().split()) - _KEPT | _DROPPED_TOO)


def program() -> _Program:
    """The git program that is used, checked once.

    Raises:
        RepositoryError: git is missing or older than 2.38.
    """
    path = shutil.which(os.environ.get("GIT_PYTHON_GIT_EXECUTABLE") or "git")
    if path is None:
        raise RepositoryError("git is not installed or not on the PATH", mend="install git 2.38 or later")
    return _checked(path)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Our environment without what a calling hook says about its repository (DESIGN, "Objects and refs").

    What a person gave by `git -c` stays, and git speaks English, since its messages are read.
    """
    dropped = program().dropped
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "LC_ALL": "C", "LANGUAGE": "C", **(extra or {})}


def _start(args: Sequence[str], directory: Path, extra: Mapping[str, str] | None, **options: Any) -> Any:
    chosen = program()
    start = _safer_popen() if sys.platform == "win32" else subprocess.Popen
    try:
        return start(
            [chosen.path, *args],
            cwd=directory,
            env=environment(extra),
            stdout=subprocess.PIPE,
            **options,
        )
    except (FileNotFoundError, NotADirectoryError):
        raise RepositoryError(f"{directory} is no longer there", mend="run it from an existing folder") from None
    except OSError as error:
        raise RefusedError(f"git cannot be started: {error.strerror}", mend="free memory or processes") from None


def _safer_popen() -> Any:
    try:
        from git.cmd import safer_popen
    except ImportError as error:  # GitPython looks for git while it is imported.
        raise RepositoryError(f"git does not run: {str(error).splitlines()[0]}", mend="run `git version`") from None
    return safer_popen


class Git:
    """git, run in one folder. Never through a shell.

    Args:
        directory: where git looks for the repository.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> GitResult:
        """Run one command to its end.

        Args:
            input: standard input; nothing can be read there when None.
            check: raise when git fails.
            env: variables on top of the environment.
            pass_fds: file descriptors that the child inherits.

        Raises:
            RepositoryError: git is missing, too old, or failed (only with `check`).
            RefusedError: the disk said no (only with `check`).
        """
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        options: dict[str, Any] = {"pass_fds": tuple(pass_fds)} if pass_fds else {}
        with _start(args, self.directory, env, stdin=stdin, stderr=subprocess.PIPE, **options) as process:
            out, err = process.communicate(input)
        result = GitResult(process.returncode, out, err.decode("utf-8", "replace"))
        if check and result.code:
            raise failure(args, result)
        return result

    def batch(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command that is talked to over standard input and output; it ends when its input is closed."""
        process: subprocess.Popen[bytes] = _start(
            args, self.directory, env, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return process


def failure(args: Sequence[str], result: GitResult) -> SkillgitError:
    """A failed command as our error, with git's own first line."""
    command = _subcommand(args)
    if result.code < 0:
        return RepositoryError(f"git {command} was ended by signal {-result.code}", mend="run it again")
    line = first_line(result.err) or f"ended with {result.code}"
    for sign, mend in _REFUSALS.items():
        if sign in result.err:
            return RefusedError(f"git {command}: {line}", mend=mend)
    return RepositoryError(f"git {command}: {line}")


def first_line(err: str) -> str:
    """The line of git's error text that says what is wrong, without its prefix; "" where there is none."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    for prefix in ("fatal: ", "error: "):
        for line in lines:
            if line.startswith(prefix):
                return line.removeprefix(prefix)
    return lines[0] if lines else ""


def disk_failure(error: OSError, what: str) -> RefusedError:
    """An OSError of our own file work beside git, as the same refusal that git's would be."""
    reason = error.strerror or str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    mend = "make room on the disk and run it again" if full else "give yourself write access to the repository"
    return RefusedError(f"{what}: {reason}", mend=mend)


def _subcommand(args: Sequence[str]) -> str:
    words = iter(args)
    for word in words:
        if word in ("-c", "-C"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return " ".join(args)
