"""From what a command raised to one line on stderr and an exit code (DESIGN, section 3)."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback

import click

from skillgit.cli.output import colour, one_line, say
from skillgit.errors import InterruptedRunError, SkillgitError

USAGE, BUG, INTERRUPTED = 2, 4, 130
PIPE_CLOSED = 141
"""What a shell reports for a program that SIGPIPE ended, as git does when its reader leaves."""

# What the disk or its owner refuses is the person's to mend, not a bug of ours.
_DISK = {
    errno.ENOSPC: ("no space left on the disk", "free some space and run the command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run the command again"),
    errno.EROFS: ("the file system is read-only", "choose a place that can be written"),
    errno.EACCES: ("permission denied", "check who owns the file"),
    errno.EPERM: ("operation not permitted", "check who owns the file"),
}


def report(error: BaseException) -> int | None:
    """Say what ended a command, in one line.

    Returns: the exit code, or None for what is no failure of a command (SystemExit and its kin).
    """
    if isinstance(error, BaseExceptionGroup):
        return report(_foremost(error))
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        _close_stdout()
        return PIPE_CLOSED
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        say("skillgit: interrupted")
        return INTERRUPTED
    if isinstance(error, InterruptedRunError):
        say(f"skillgit: {one_line(str(error))}")
        return error.exit_code
    if isinstance(error, SkillgitError):
        _error(str(error))
        return error.exit_code
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, OSError) and error.errno in _DISK:
        what, mend = _DISK[error.errno]
        where = f"{error.filename}: " if error.filename is not None else ""
        _error(f"{where}{what}; {mend}")
        return USAGE
    return _bug(error) if isinstance(error, Exception) else None


def _foremost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one to tell of several that ended tasks at once: an interruption, then a bug, then the gravest."""
    leaves: list[BaseException] = []
    queue: list[BaseException] = [group]
    while queue:
        here = queue.pop(0)
        if isinstance(here, BaseExceptionGroup):
            queue.extend(here.exceptions)
        else:
            leaves.append(here)

    def gravity(error: BaseException) -> int:
        if isinstance(error, (KeyboardInterrupt, InterruptedRunError)):
            return INTERRUPTED
        return error.exit_code if isinstance(error, SkillgitError) else BUG

    return max(leaves, key=gravity)


def _error(message: str) -> None:
    say(f"skillgit: {colour('error:', 'red')} {one_line(message)}")


def _usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return USAGE
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if context is not None:
        message += f"{' ' if message.endswith('?') else '; '}see `{context.command_path} --help`"
    _error(message)
    return USAGE


def _bug(error: Exception) -> int:
    """A bug of ours: the traceback is kept for the report, not thrown at the person."""
    text = "".join(traceback.format_exception(error))
    what = f"bug: {type(error).__name__}: {error}"
    if os.environ.get("SKILLGIT_DEBUG"):
        _error(f"{what}; the traceback follows")
        say(text.rstrip("\n"))
        return BUG
    try:
        handle, path = tempfile.mkstemp(prefix="skillgit-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        _error(f"{what}; SKILLGIT_DEBUG=1 shows the traceback")
        return BUG
    _error(f"{what}; the traceback is in {path} (SKILLGIT_DEBUG=1 shows it)")
    return BUG


def _close_stdout() -> None:
    """Nobody reads any more: what is still buffered must not raise again when the interpreter ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
