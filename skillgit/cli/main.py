"""The `skillgit` command: a group that loads a verb's module only when that verb is called."""

from __future__ import annotations

import gc
import os
import sys
from typing import ClassVar

import click

from skillgit import __version__
from skillgit.cli import failure
from skillgit.cli.lazy import LazyGroup, Table
from skillgit.errors import UsageError

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("skillgit.cli.demo", "Train a sample skill in a fresh repository and show its history."),
    "init": ("skillgit.cli.init", "Write skillgit.yaml and what is missing."),
    "train": ("skillgit.cli.train", "Train a skill; resumes an unfinished run."),
    "eval": ("skillgit.cli.evaluate", "Score a revision of a skill."),
    "baseline": ("skillgit.cli.baseline", "Measure what one pass over train brings without the loop."),
    "gate": ("skillgit.cli.gate", "Measure the noise floor of a skill's val tasks."),
    "status": ("skillgit.cli.status", "Show where each skill stands."),
    "log": ("skillgit.cli.log", "Show a skill's steps with their scores."),
    "show": ("skillgit.cli.show", "Show one step whole: edits, verdict, tasks that flipped, cost."),
    "diff": ("skillgit.cli.diff", "Compare two revisions of a document: text, score, task flips."),
    "blame": ("skillgit.cli.blame", "Show which edit or person brought each line of a document."),
    "compare": ("skillgit.cli.compare", "Compare skills, runs, models and revisions."),
    "rejected": ("skillgit.cli.rejected", "Look at, retry, note and prune rejected candidates."),
    "revert": ("skillgit.cli.revert", "Take edits out of a skill's document."),
    "cherry-pick": ("skillgit.cli.cherry_pick", "Bring edits of other skills, runs or branches in."),
    "rollback": ("skillgit.cli.rollback", "Bring an earlier document back."),
    "bisect": ("skillgit.cli.bisect", "Find the edit that broke or fixed a task."),
    "attribute": ("skillgit.cli.attribute", "Measure what each accepted edit carries."),
    "merge": ("skillgit.cli.merge", "Bring a skill's best document to the base branch."),
    "push": ("skillgit.cli.push", "Send a skill's history to a remote."),
    "fetch": ("skillgit.cli.fetch", "Get a skill's history from a remote."),
    "verify": ("skillgit.cli.verify", "Recompute what a skill's history says of itself."),
    "doctor": ("skillgit.cli.doctor", "Check git, configuration, environments and models; repair refs."),
    "import": ("skillgit.cli.imports", "Bring a run of another trainer in."),
    "hooks": ("skillgit.cli.hooks", "Install, remove and run the git hooks."),
    "check": ("skillgit.cli.check", "Check a SKILL.md as agents read it."),
    "model": ("skillgit.cli.model", "Fetch and check the weights of the embedded model."),
}


class _Verbs(LazyGroup):
    """The verbs."""

    table: ClassVar[Table] = VERBS


def _change_directory(ctx: click.Context, parameter: click.Parameter, folders: tuple[str, ...]) -> None:
    """As `git -C`: one after the other, an empty one changes nothing."""
    if ctx.resilient_parsing:
        return
    for folder in filter(None, folders):
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(f"-C {folder}: {error.strerror}", mend="name a folder that exists") from None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C",
    "folders",
    metavar="DIR",
    multiple=True,
    expose_value=False,
    is_eager=True,
    callback=_change_directory,
    help="Run as if started in DIR; may be given more than once, as for git.",
)
@click.version_option(__version__, "--version", message="skillgit %(version)s")
def main() -> None:
    """Train agent skills inside the git repository they live in.

    Every accepted edit is a commit, every score a trailer.
    """


def _program() -> str:
    """How the person called us, for help texts: `git skill` where git did."""
    name = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return "git skill" if name == "git-skill" else "skillgit"


def dispatch(arguments: list[str]) -> int:
    """Run one command line.

    Returns: its exit code; the failure has been said on stderr. A verb returns an int only where it ends with
        another code than 0 without having failed (`train --exit-code`).
    """
    try:
        with main.make_context(_program(), list(arguments)) as context:
            result = main.invoke(context)
        sys.stdout.flush()
        return result if type(result) is int else 0
    except BaseException as error:
        code = failure.report(error)
        if code is None:
            raise
        return code


def run() -> None:
    """The console entry point of `skillgit` and `git-skill`."""
    gc.set_threshold(50_000)  # a start makes many objects and drops none: looking for such is a tenth of it
    if "_SKILLGIT_COMPLETE" in os.environ:
        main.main(prog_name="skillgit")
    sys.exit(dispatch(sys.argv[1:]))
