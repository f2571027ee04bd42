"""How the base branch's document stands to the best one: what a merge would find there, without measuring."""

from __future__ import annotations

from typing import Literal

from skillgit.store.merging import best_path, merge_file
from skillgit.store.repository import Repository
from skillgit.train.archive.documents import blob_at

State = Literal["best", "merged", "copy", "person", "behind", "gone"]
"""best: the base has the best document. merged: it has the best commit, whose document was merged with people's
changes. copy: it has the best document, and another best_skill.md. person: people's document, to which the best one
would bring nothing. behind: there is something to merge. gone: the document is not there."""


def on_base(repo: Repository, path: str, base: str, best: str) -> State:
    """What a merge of the best commit into the base would find.

    Args:
        path: of the document. base, best: commits; the best one has a document.
    """
    theirs, placed = blob_at(repo, base, path), blob_at(repo, best, path)
    if theirs is None or placed is None:
        return "gone"
    copy, held = blob_at(repo, base, best_path(path)), repo.objects.is_ancestor(best, base)
    if held or copy == theirs == placed:
        return state(theirs, placed, copy)
    if theirs != placed and _brings_nothing(repo, path, base, best, theirs, placed):
        return "person"
    return "behind"


def state(theirs: str, placed: str, copy: str | None) -> State:
    """The same where the base has the best commit: blobs of its document, the best one and its best_skill.md. Pure."""
    if theirs == placed:
        return "best" if copy in (None, placed) else "copy"
    return "merged" if copy == theirs else "person"


def _brings_nothing(repo: Repository, path: str, base: str, best: str, theirs: str, placed: str) -> bool:
    """Whether a three-way merge would leave the base's document as it stands."""
    fork = repo.objects.merge_base(base, best)
    before = blob_at(repo, fork, path) if fork else None
    if before is None:
        return False
    if before == placed:
        return True
    ours, common, best_text = (repo.objects.read_blob(b).decode(errors="replace") for b in (theirs, before, placed))
    return merge_file(repo, ours, common, best_text) == (ours, "")
