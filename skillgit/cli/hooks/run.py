"""`skillgit hooks run`: what the scripts in git's hooks folder call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from skillgit.train.hooks.outgoing import Reason


@click.command("run")
@click.argument("hook", type=click.Choice(["commit-msg", "pre-push", "post-merge"]))
@click.argument("arguments", nargs=-1)
def command(hook: str, arguments: tuple[str, ...]) -> None:
    """Do what HOOK does, with the ARGUMENTS, variables and standard input that git gives it.

    commit-msg and pre-push end with 2 where they refuse. `git commit --no-verify` and `git push --no-verify` pass
    them by. Transcripts go out with SKILLGIT_PUSH_EVIDENCE=1 or `git config skillgit.pushEvidence true`.
    """
    {"commit-msg": _commit_msg, "pre-push": _pre_push, "post-merge": _post_merge}[hook](arguments)


def _commit_msg(arguments: tuple[str, ...]) -> None:
    import os
    from pathlib import Path

    from skillgit.train.hooks.commit_message import MEND
    from skillgit.train.hooks.commit_msg import check_message
    from skillgit.train.hooks.outgoing import Reason

    if len(arguments) != 1:
        raise click.UsageError("commit-msg takes the file with the message")
    found = check_message(Path(arguments[0]), Path.cwd(), os.environ)
    _refuse("this commit", [Reason(problem, MEND if "secret" not in problem else "take it out") for problem in found])


def _pre_push(arguments: tuple[str, ...]) -> None:
    import os
    import sys
    from pathlib import Path

    from skillgit.train.hooks import outgoing
    from skillgit.train.hooks.pre_push import check_push

    remote = arguments[0] if arguments else os.environ.get("PRE_COMMIT_REMOTE_NAME", "the remote")
    lines = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\n")
    pushed = outgoing.parse(lines) or outgoing.of_framework(os.environ)
    _refuse("this push", check_push(pushed, remote, Path.cwd(), os.environ))


def _post_merge(_: tuple[str, ...]) -> None:
    """A merge is done when the hook runs: nothing here is a failure."""
    import os
    from pathlib import Path

    from skillgit.cli.output import one_line, say
    from skillgit.errors import SkillgitError
    from skillgit.train.hooks.post_merge import unmeasured

    try:
        lines = unmeasured(Path.cwd(), os.environ)
    except SkillgitError as error:
        lines = [str(error)]
    for line in lines:
        say(f"skillgit: {one_line(line)}")


def _refuse(what: str, reasons: list[Reason]) -> None:
    """One reason is the error itself; of more, each has a line, and the error counts them."""
    from skillgit.cli.output import one_line, say
    from skillgit.errors import RefusedError

    if not reasons:
        return
    if len(reasons) == 1:
        raise RefusedError(f"{what} is refused: {reasons[0].message}", mend=reasons[0].mend)
    for reason in reasons:
        say(f"skillgit: {one_line(f'{reason.message}; {reason.mend}')}")
    raise RefusedError(f"{what} is refused for {len(reasons)} reasons", mend="they stand above")
