"""Plugins by entry points: what an installed distribution adds to a decision that has names (DESIGN, section 4, llm).

[project.entry-points."skillgit.gates"]
sign-test = "my_package.gates:sign_test"
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from skillgit.envs import user_code
from skillgit.errors import ConfigError
from skillgit.strictyaml import nearest

GATES = "skillgit.gates"
PROPOSERS = "skillgit.proposers"
CALLBACKS = "skillgit.callbacks"
ASKED_BY = {GATES: "evaluation.gate_mode", PROPOSERS: "gradient.proposer", CALLBACKS: "--track"}
"""Where a person writes a plugin's name."""


class Border(user_code.Border):
    """The border of a plugin's code."""

    def __init__(self, where: str) -> None:
        super().__init__(where, ConfigError, mend="mend or update the plugin")


def load(group: str, name: str, known: Sequence[str]) -> Any:
    """The object behind a plugin's name.

    Args:
        group: the entry-point group, such as `skillgit.gates`.
        known: names that are built in, for the message where there is no such plugin.

    Raises:
        ConfigError: no plugin has this name (says the nearest name there is), two distributions have one each, or it
            cannot be imported (says whose it is).
    """
    installed = entry_points(group=group)
    found = {point.value: point for point in installed if point.name == name}
    if not found:
        names = sorted({*known, *installed.names})
        meant = nearest(name, names)
        mend = f"did you mean {meant!r}?" if meant else f"known: {', '.join(names)}"
        raise ConfigError(f"{ASKED_BY.get(group, group)}: there is no {name!r}", mend=mend)
    if len(found) > 1:
        owners = " and ".join(sorted(_owner(point) for point in found.values()))
        raise ConfigError(f"{group}: {name!r} is in {owners}", mend="uninstall one of them")
    point = next(iter(found.values()))
    with Border(f"{group}: {name!r} of {_owner(point)}"):
        return point.load()


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown distribution"
