"""The trained document as it stands in a commit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from skillgit.errors import DocumentError
from skillgit.store.objects import Entry
from skillgit.store.repository import Repository
from skillgit.store.trees import SUBMODULE


@dataclass(frozen=True, slots=True)
class Placed:
    """A document in a commit: its text, its blob and its mode there."""

    text: str
    blob: str
    mode: int


def read(repo: Repository, commit: str, path: str) -> Placed:
    """The document at a commit.

    Raises:
        DocumentError: it is not there, is no plain file, or is no usable document.
    """
    entry = repo.objects.entry(commit, path)
    where = f"{path} at {commit[:12]}"
    if entry is None:
        raise _missing(repo, commit, path, where)
    if entry.mode not in (0o100644, 0o100755):
        raise DocumentError(f"{where}: not a plain file", mend="commit the document itself, no link or folder")
    return read_blob(repo, entry.oid, entry.mode, where)


def _missing(repo: Repository, commit: str, path: str, where: str) -> DocumentError:
    for folder in PurePosixPath(path).parents:
        entry = repo.objects.entry(commit, str(folder)) if folder.name else None
        if entry is not None and entry.mode == SUBMODULE:
            return DocumentError(f"{where}: it belongs to the submodule {folder}", mend="train it in that repository")
    return DocumentError(f"{where}: there is no such file", mend=f"commit {path} first")


def read_blob(repo: Repository, blob: str, mode: int, where: str) -> Placed:
    """A document that need not be in a commit.

    Raises:
        DocumentError: it is no usable document.
    """
    from skillgit.document.structure import check_document

    return Placed(check_document(repo.objects.read_blob(blob), where), blob, mode)


def read_editable(repo: Repository, commit: str, path: str) -> Placed:
    """A document that edits can apply to.

    Raises:
        DocumentError: as `read` does, or its structure makes every edit `protected`.
    """
    from skillgit.document.structure import Structure

    placed = read(repo, commit, path)
    problem = Structure(placed.text).problem
    if problem:
        raise DocumentError(f"{path} at {commit[:12]}: no edit can apply: {problem}", mend="mend the document")
    return placed


def blob_at(repo: Repository, commit: str, path: str) -> str | None:
    """The document's blob at a commit, None where it has none."""
    entry = repo.objects.entry(commit, path)
    return entry.oid if entry else None


def replaced(repo: Repository, treeish: str, path: str, text: str, mode: int) -> tuple[str, str]:
    """Write a document into a tree, or a commit's.

    Returns: the new tree and the document's blob.
    """
    blob = repo.objects.write_blob(text.encode())
    tree = repo.objects.write_tree({path: Entry(mode, blob)}, treeish)
    return tree, blob
