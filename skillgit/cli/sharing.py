"""How `push` and `fetch` tell of refs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgit.store.sync.namespaces import Shared

_ONE = ("branch", "best", "published", "tasks")
"""Kinds of which a skill has one."""


def kinds(refs: Iterable[Shared]) -> dict[str, dict[str, int]]:
    """How many refs of each kind, by skill, in the order in which they come."""
    counts: dict[str, dict[str, int]] = {}
    for one in refs:
        of_skill = counts.setdefault(one.name, {})
        of_skill[one.kind.value] = of_skill.get(one.kind.value, 0) + 1
    return counts


def listed(counts: Mapping[str, int]) -> str:
    """`branch, best, 1 journal, 12 rejected candidates`."""
    return ", ".join(_told(kind, number) for kind, number in counts.items())


def _told(kind: str, number: int) -> str:
    if kind in _ONE:
        return kind
    if kind == "pruned":
        return "the list of pruned candidates"
    if kind == "evidence":
        return f"evidence of {number} run{'' if number == 1 else 's'}"
    return f"{number} {kind}{'' if number == 1 else 's'}"
