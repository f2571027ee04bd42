"""The notes of two repositories, united: no line of either is lost (as by git's `cat_sort_uniq`, but in order)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from skillgit.errors import RefMovedError, RepositoryError
from skillgit.store import trees
from skillgit.store.locks import SkillLock
from skillgit.store.objects import Entry
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs, remove_stale_locks

_TRIES = 20
_NOTE = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*")
"""Who can push can write any name into a tree; these do no harm."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of our notes: their old tip and their new one; equal where there was nothing to bring in."""

    old: str | None
    new: str


def merge_notes(repo: Repository, theirs: str) -> Merged:
    """Bring fetched notes into ours.

    Args:
        theirs: a commit of notes.

    Raises:
        LockedError, RefusedError, RepositoryError: as `notes.add_note`.
    """
    with SkillLock.for_notes(repo) as lock:
        remove_stale_locks(repo, lock.inherited)
        for _ in range(_TRIES):
            ours = repo.read_ref(NOTES)
            new = _united(repo, ours, theirs)
            if new == ours:
                return Merged(ours, new)
            try:
                commit_refs(repo, [RefUpdate(NOTES, ours, new)], "skillgit: notes merged", lock=lock)
            except RefMovedError:
                continue  # a person's `git notes` knows nothing of our lock
            return Merged(ours, new)
    raise RefMovedError(f"{NOTES} was moved by others all the time", mend="run it again")


def _united(repo: Repository, ours: str | None, theirs: str) -> str:
    """The commit that has the notes of both."""
    if ours is None or ours == theirs:
        return theirs
    base = _merge_base(repo, ours, theirs)
    if base == theirs:
        return ours
    if base == ours:
        return theirs
    changes = _changes(repo, base, ours, theirs)
    tree = repo.objects.write_tree(changes, ours)
    return repo.objects.write_commit(tree, [ours, theirs], "Notes merged by skillgit\n")


def _merge_base(repo: Repository, ours: str, theirs: str) -> str | None:
    try:
        return repo.objects.merge_base(ours, theirs)
    except RepositoryError:
        return None  # a cut history: without a base every line of both stays


def _changes(repo: Repository, base: str | None, ours: str, theirs: str) -> dict[str, Entry | None]:
    """How our tree has to change."""
    before = _by_object(repo, base) if base else {}
    mine, other = _by_object(repo, ours), _by_object(repo, theirs)
    changes: dict[str, Entry | None] = {}
    for key, entries in other.items():
        own, old = mine.get(key, {}), before.get(key, {})
        if _blobs(entries) in (_blobs(own), _blobs(old)):
            continue
        changes.update(_entry(repo, key, own, entries, old))
    for key, own in mine.items():
        # What they took away, and we left as it was, goes.
        if key not in other and key in before and _blobs(before[key]) == _blobs(own):
            changes.update(dict.fromkeys(own))
    return changes


def _entry(
    repo: Repository, key: str, own: Mapping[str, Entry], theirs: Mapping[str, Entry], old: Mapping[str, Entry]
) -> dict[str, Entry | None]:
    """One object's note, of both; theirs alone where only they have changed it."""
    place = next(iter(own), f"{key[:2]}/{key[2:]}" if _NOTE.fullmatch(key) else next(iter(theirs)))
    changes: dict[str, Entry | None] = {path: None for path in own if path != place}
    if not _NOTE.fullmatch(key):  # a file of a person's among the notes
        return {} if own or not _FILE.fullmatch(place) else {place: next(iter(theirs.values()))}
    if len(theirs) == 1 and (not own or _blobs(own) == _blobs(old)):
        return changes | {place: next(iter(theirs.values()))}
    text = united_lines(_text(repo, own), _text(repo, theirs))
    return changes | {place: Entry(trees.FILE, repo.objects.write_blob(text))}


def united_lines(ours: bytes, theirs: bytes) -> bytes:
    """All lines of ours, then those of theirs that ours has not, each in its order. Pure."""
    lines = ours.split(b"\n")
    known = set(lines)
    new = [line for line in dict.fromkeys(theirs.split(b"\n")) if line not in known]
    if lines[-1] == b"":
        lines.pop()
    return b"".join(line + b"\n" for line in [*lines, *new])


def _text(repo: Repository, entries: Mapping[str, Entry]) -> bytes:
    found = (repo.objects.read_blob(entry.oid) for entry in entries.values())
    return b"".join(text if not text or text.endswith(b"\n") else text + b"\n" for text in found)


def _blobs(entries: Mapping[str, Entry]) -> list[str]:
    return [entry.oid for entry in entries.values()]


def _by_object(repo: Repository, commit: str) -> dict[str, dict[str, Entry]]:
    """A tree's notes by the object that they are about, whatever folders they are spread over; by path."""
    found: dict[str, dict[str, Entry]] = {}
    for path, entry in repo.objects.list_files(commit).items():
        if entry.mode not in (trees.FILE, trees.EXECUTABLE):
            continue
        key = path.replace("/", "")
        found.setdefault(key if _NOTE.fullmatch(key) else path, {})[path] = entry
    return found
