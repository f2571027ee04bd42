"""`skillgit import`: runs of other trainers; one command per trainer."""

from __future__ import annotations

from typing import ClassVar

import click

from skillgit.cli.lazy import LazyGroup, Table

COMMANDS: dict[str, tuple[str, str]] = {
    "skillopt": ("skillgit.cli.imports.skillopt", "Bring an output folder of SkillOpt in as a skill's history."),
}


class _Commands(LazyGroup):
    """The trainers."""

    table: ClassVar[Table] = COMMANDS


@click.group("import", cls=_Commands)
def command() -> None:
    """Bring a run of another trainer in: branch, rejected candidates, epoch tags and journal, with scores and dates."""
