"""Trees as git stores them: parsed, serialised and edited. Pure but for the two callables that are handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

FOLDER = 0o040000
FILE = 0o100644
EXECUTABLE = 0o100755
SUBMODULE = 0o160000

_FORBIDDEN = {"", ".", "..", ".git", "git~1"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree.

    Args:
        mode: what it is: 0o100644 a file, 0o100755 one that can be run, 0o120000 a link, 0o160000 a submodule, FOLDER.
        oid: the object's id.
    """

    mode: int
    oid: str


def parse(data: bytes, oid_bytes: int) -> dict[str, Entry]:
    """A tree object's entries by name, in git's order. Names that are no UTF-8 come as Python's paths have them."""
    entries: dict[str, Entry] = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        name = data[space + 1 : end].decode("utf-8", "surrogateescape")
        entries[name] = Entry(int(data[at:space], 8), data[end + 1 : end + 1 + oid_bytes].hex())
        at = end + 1 + oid_bytes
    return entries


def serialized(entries: Mapping[str, Entry]) -> bytes:
    """A tree object's bytes: sorted as git sorts (a folder as if its name ended in a slash)."""
    rows = [(name.encode("utf-8", "surrogateescape"), entry) for name, entry in entries.items()]
    rows.sort(key=lambda row: row[0] + (b"/" if row[1].mode == FOLDER else b""))
    return b"".join(b"%o " % entry.mode + name + b"\0" + bytes.fromhex(entry.oid) for name, entry in rows)


def write_tree(
    read: Callable[[str], Mapping[str, Entry]],
    write: Callable[[Mapping[str, Entry]], str],
    changes: Mapping[str, Entry | None],
    base: str | None,
) -> str:
    """A tree with some paths changed; `ObjectStore.write_tree` says how.

    Args:
        read: a tree's entries by its id.
        write: writes a tree and gives its id.
        base: the tree to start from; None is the empty one.
    """
    direct: dict[str, Entry | None] = {}
    below: dict[str, dict[str, Entry | None]] = {}
    for path, entry in changes.items():
        first, slash, rest = path.partition("/")
        _check(path, first)
        if slash:
            below.setdefault(first, {})[rest] = entry
        else:
            direct[first] = entry
    entries = dict(read(base)) if base else {}
    for name, entry in direct.items():
        old = entries.get(name)
        if entry is not None:
            entries[name] = entry
        elif old is not None and old.mode != FOLDER:  # a folder is no file that could be removed by its name
            del entries[name]
    for name, inner in below.items():
        _write_below(read, write, entries, name, inner)
    return write(entries)


def _write_below(
    read: Callable[[str], Mapping[str, Entry]],
    write: Callable[[Mapping[str, Entry]], str],
    entries: dict[str, Entry],
    name: str,
    inner: Mapping[str, Entry | None],
) -> None:
    old = entries.get(name)
    is_folder = old is not None and old.mode == FOLDER
    if not is_folder and not any(inner.values()):
        for path in inner:
            _check(path, path.partition("/")[0])
        return
    oid = write_tree(read, write, inner, old.oid if old is not None and is_folder else None)
    if read(oid):
        entries[name] = Entry(FOLDER, oid)
    else:
        entries.pop(name)


def _check(path: str, part: str) -> None:
    if part.lower() in _FORBIDDEN or "\0" in part or "\\" in part:
        raise ValueError(f"{path!r} cannot be a path in a tree")
