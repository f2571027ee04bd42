"""The notes, read line by line: every object that has one, and what is no fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skillgit.errors import RepositoryError
from skillgit.store import trees
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.train.repair.findings import Finding
from skillgit.train.repair.reading import rows

_WHAT = "notes"


def all_notes(repo: Repository) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """(object, fact) of every line of the notes; None for a line that is no JSON object.

    Raises:
        RepositoryError: the notes are damaged.
    """
    tip = repo.read_ref(NOTES)
    if tip is None:
        return
    try:
        files = repo.objects.list_files(tip)
    except (KeyError, IndexError, ValueError):
        raise RepositoryError(f"{NOTES} is not well-formed") from None
    for path, entry in files.items():
        if entry.mode in (trees.FILE, trees.EXECUTABLE):
            for row in rows(repo.objects.read_blob(entry.oid)):
                yield path.replace("/", ""), row


def strange_lines(repo: Repository) -> Iterator[Finding]:
    """Notes that no command reads: only said, since a person may have written them."""
    try:
        strange = [oid for oid, row in all_notes(repo) if row is None]
    except RepositoryError as error:
        yield Finding(_WHAT, "", f"{NOTES}: {error.message}; `skillgit fetch` may bring a whole one", error.exit_code)
        return
    if strange:
        many = f"{len(strange)} lines are" if len(strange) > 1 else "a line is"
        said = f"{NOTES}: {many} no JSON object and not read, the first on {strange[0][:12]}"
        yield Finding(_WHAT, "", f"{said}; `git notes --ref=skillgit show {strange[0][:12]}` shows it")
