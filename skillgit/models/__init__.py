"""Model backends and what is read from their replies."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillgit.models.replies import Patch, RawEdit, parse_object, parse_patch

__all__ = ["Patch", "RawEdit", "parse_object", "parse_patch"]

# Loaded on first use, so that the command line starts fast.
_HOMES = dict.fromkeys(__all__, "skillgit.models.replies")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
