"""The `skillgit` command: a group that loads a verb's module only when that verb is called."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

import click

from skillgit import __version__
from skillgit.cli import failure
from skillgit.errors import UsageError

# verb -> (module with `command`, short help). The help stands here so that listing imports nothing.
VERBS: dict[str, tuple[str, str]] = {
    "demo": ("skillgit.cli.demo", "Train a sample skill in a fresh repository and show its history."),
    "init": ("skillgit.cli.init", "Write skillgit.yaml and what is missing."),
    "train": ("skillgit.cli.train", "Train a skill; resumes an unfinished run."),
    "eval": ("skillgit.cli.evaluate", "Score a revision of a skill."),
    "baseline": ("skillgit.cli.baseline", "Measure what one pass over train brings without the loop."),
    "gate": ("skillgit.cli.gate", "Measure the noise floor of a skill's val tasks."),
    "status": ("skillgit.cli.status", "Show where each skill stands."),
    "log": ("skillgit.cli.log", "Show a skill's steps with their scores."),
    "rejected": ("skillgit.cli.rejected", "List and show rejected candidates."),
    "merge": ("skillgit.cli.merge", "Bring a skill's best document to the base branch."),
    "doctor": ("skillgit.cli.doctor", "Check git, configuration, environments and models."),
    "model": ("skillgit.cli.model", "Fetch and check the weights of the embedded model."),
}


class _Verbs(click.Group):
    """Finds commands by the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb, (module, _) in VERBS.items() if importlib.util.find_spec(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, short_help = VERBS[cmd_name]
        command = importlib.import_module(module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.command is no click command")
        command.short_help = short_help
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb, known = args[0], self.list_commands(ctx)
        if verb not in known and not verb.startswith("-"):
            import difflib

            close = difflib.get_close_matches(verb, known, n=1, cutoff=0.5)
            meant = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            ctx.fail(f"no command {verb!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


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
    if "_SKILLGIT_COMPLETE" in os.environ:
        main.main(prog_name="skillgit")
    sys.exit(dispatch(sys.argv[1:]))
