"""Environments: tasks, splits, and scoring of attempts.

What other rooms and an `env.py` use is here by name and is imported when first asked for, so that the command line
starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillgit.envs.builtin import builtin_folder, builtin_names, builtin_root, resolve_env
    from skillgit.envs.contract import (
        SPLITS,
        Ask,
        Attempt,
        Environment,
        Explanation,
        Score,
        Split,
        Task,
    )
    from skillgit.envs.declarative import DeclarativeEnvironment, EnvironmentSpec
    from skillgit.envs.digests import canonical_json, val_digest
    from skillgit.envs.loading import load_environment

__all__ = [
    "SPLITS",
    "Ask",
    "Attempt",
    "DeclarativeEnvironment",
    "Environment",
    "EnvironmentSpec",
    "Explanation",
    "Score",
    "Split",
    "Task",
    "builtin_folder",
    "builtin_names",
    "builtin_root",
    "canonical_json",
    "load_environment",
    "resolve_env",
    "val_digest",
]

_MODULES = {
    "builtin": ("builtin_folder", "builtin_names", "builtin_root", "resolve_env"),
    "declarative": ("DeclarativeEnvironment", "EnvironmentSpec"),
    "digests": ("canonical_json", "val_digest"),
    "loading": ("load_environment",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOME.get(name, 'contract')}"), name)
