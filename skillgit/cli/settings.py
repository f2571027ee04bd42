"""`--set section.key=value`, as commands take it."""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.errors import ConfigError


def overrides(name: str, settings: Sequence[str]) -> list[tuple[str, str, str]]:
    """(skill, `section.key`, value) of each `--set`.

    Raises:
        ConfigError: one has no `=`.
    """
    found = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set {setting}: no value", mend="write section.key=value, for example train.seed=7")
        found.append((name, key.strip(), value))
    return found
