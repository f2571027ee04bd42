"""Refspecs for many refs: few enough, and short enough, for a command line and for git's own search."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence

from skillgit.store.sync.namespaces import Shared, prefix_of
from skillgit.store.sync.push_plan import Send

SINGLE = 24_000
"""Bytes of single refspecs: git looks for each among all refs of both sides, and a command line of Windows ends at
32,767 characters."""
_MOST = 256_000
_FEW = 64


def room() -> int:
    """Bytes of arguments that one command can be given."""
    if sys.platform == "win32":
        return SINGLE
    # The system's limit is for arguments and environment together.
    taken = sum(len(os.fsencode(name)) + len(os.fsencode(value)) + 16 for name, value in os.environ.items())
    return max(SINGLE // 4, min(_MOST, (os.sysconf("SC_ARG_MAX") - taken) // 4))


def for_push(send: Sequence[Send], kept_back: Collection[str], most: int = SINGLE) -> list[str]:
    """Refspecs that send these refs. A value is pinned, unless there are too many: then folders go as wildcards.

    Args:
        kept_back: whole names of refs of ours that must not go.
        most: bytes of single refspecs.
    """
    single = {one.what: f"{one.new}:{one.what.ref}" for one in send}
    folders: dict[str, list[Shared]] = {}
    for one in single:
        if (prefix := prefix_of(one)).endswith("/"):
            folders.setdefault(prefix, []).append(one)
    wild: list[str] = []
    for prefix, inside in sorted(folders.items(), key=lambda item: -len(item[1])):
        if _size([*single.values(), *wild]) <= most:
            break
        pattern = [f"{prefix}*:{prefix}*", *(f"^{ref}" for ref in kept_back if ref.startswith(prefix))]
        if _size(pattern) < _size(single[one] for one in inside):
            wild += pattern
            for one in inside:
                del single[one]
    return [*single.values(), *wild]


def for_fetch(wanted: Sequence[tuple[Shared, str]], theirs: Iterable[str]) -> list[str]:
    """Refspecs that fetch refs, each into its place; many immutable ones of a folder as one wildcard.

    Args:
        wanted: a ref and where it goes. theirs: whole names of all refs that the remote has.
    """
    single: list[str] = []
    folders: dict[str, list[Shared]] = {}
    for one, place in wanted:
        if one.kind.immutable:
            folders.setdefault(prefix_of(one), []).append(one)
        else:
            single.append(f"+{one.ref}:{place}")
    names = list(theirs)
    wild: list[str] = []
    for prefix, inside in folders.items():
        refs = {one.ref for one in inside}
        unwanted = [ref for ref in names if ref.startswith(prefix) and ref not in refs]
        if len(refs) > max(_FEW, len(unwanted)):
            wild += [f"{prefix}*:{prefix}*", *(f"^{ref}" for ref in unwanted)]
        else:
            single += [f"{ref}:{ref}" for ref in sorted(refs)]
    return [*single, *wild]


def batches(parts: Iterable[Sequence[str]], most: int | None = None) -> Iterator[list[str]]:
    """Arguments in as many lists as a command line's length asks for; parts stay whole."""
    most = room() if most is None else most
    batch: list[str] = []
    used = 0
    for part in parts:
        size = _size(part)
        if batch and used + size > most:
            yield batch
            batch, used = [], 0
        batch += part
        used += size
    if batch:
        yield batch


def _size(arguments: Iterable[str]) -> int:
    return sum(len(argument.encode()) + 9 for argument in arguments)
