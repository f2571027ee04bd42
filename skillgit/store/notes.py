"""Facts learned later, as git notes on `refs/notes/skillgit`: one JSON object per line.

Written by plumbing with an expected old value, never by `git notes`, which would overwrite what another process
wrote meanwhile; `git notes --ref=skillgit show` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from skillgit.errors import RefMovedError
from skillgit.store import trees
from skillgit.store.locks import SkillLock
from skillgit.store.objects import Entry
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs, remove_stale_locks

_TRIES = 20
_MESSAGE = "Notes added by skillgit\n"


def add_note(repo: Repository, oid: str, fact: Mapping[str, Any]) -> None:
    """Append a fact to the note on an object (a document's blob, or a commit). A fact that is there is not repeated.

    Raises:
        ValueError: the fact holds a number that is not finite, or is no JSON.
        LockedError: others kept writing notes for too long. RefusedError, RepositoryError: git said no.
    """
    # What UTF-8 cannot hold (a lone surrogate) becomes its JSON escape, which means the same.
    text = json.dumps(dict(fact), ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
    line = text.encode("utf-8", "backslashreplace")
    with SkillLock.for_notes(repo) as lock:
        remove_stale_locks(repo, lock.inherited)
        _append(repo, oid, line, lock)


def read_notes(repo: Repository, oid: str) -> list[dict[str, Any]]:
    """The facts about an object, in order; lines that people wrote and that are no JSON objects are passed over."""
    tip = repo.read_ref(NOTES)
    if tip is None:
        return []
    content = b"".join(_closed(repo.objects.read_blob(entry.oid)) for entry in _found(repo, tip, oid).values())
    return _facts(content)


def all_notes(repo: Repository, having: bytes = b"") -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every object that has notes, with its facts, in order of the objects' ids.

    Args:
        having: only notes whose text has these bytes.
    """
    tip = repo.read_ref(NOTES)
    found: dict[str, bytes] = {}
    for path, entry in repo.objects.list_files(tip).items() if tip else ():
        content = repo.objects.read_blob(entry.oid)
        if having in content:
            oid = path.replace("/", "")
            found[oid] = found.get(oid, b"") + _closed(content)
    for oid in sorted(found):
        yield oid, _facts(found[oid])


def _append(repo: Repository, oid: str, line: bytes, lock: SkillLock) -> None:
    """Against those who write notes by other means, it is tried anew on what they wrote."""
    for attempt in range(_TRIES):
        tip = repo.read_ref(NOTES)
        found = _found(repo, tip, oid) if tip else {}
        content = b"".join(_closed(repo.objects.read_blob(entry.oid)) for entry in found.values())
        if line in content.split(b"\n"):
            return
        blob = repo.objects.write_blob(content + line + b"\n")
        changes: dict[str, Entry | None] = dict.fromkeys(found)
        changes[f"{oid[:2]}/{oid[2:]}"] = Entry(trees.FILE, blob)
        tree = repo.objects.write_tree(changes, tip)
        commit = repo.objects.write_commit(tree, [tip] if tip else [], _MESSAGE)
        try:
            commit_refs(repo, [RefUpdate(NOTES, tip, commit)], _MESSAGE, lock=lock)
        except RefMovedError:
            if attempt == _TRIES - 1:
                raise
        else:
            return


def _found(repo: Repository, tip: str, oid: str) -> dict[str, Entry]:
    """The notes on an object, by path: whole, or fanned out (`ab/cdef…`, `ab/cd/ef…`) as git does with many notes."""
    found: dict[str, Entry] = {}
    prefix, rest = "", oid
    while rest:
        entry = repo.objects.entry(tip, prefix + rest)
        if entry is not None and entry.mode != trees.FOLDER:
            found[prefix + rest] = entry
        prefix, rest = f"{prefix}{rest[:2]}/", rest[2:]
        if repo.objects.entry(tip, prefix.rstrip("/")) is None:
            break
    return found


def _closed(content: bytes) -> bytes:
    return content if not content or content.endswith(b"\n") else content + b"\n"


def _facts(content: bytes) -> list[dict[str, Any]]:
    return [fact for line in content.split(b"\n") if (fact := _fact(line)) is not None]


def _fact(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
