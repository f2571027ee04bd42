"""Take edits out of the tip's document, whatever came after them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillgit.document import Edit, apply_edits
from skillgit.errors import ConflictError, UnfitChangeError
from skillgit.store.merging import merge_file
from skillgit.store.repository import Repository
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.carry.change import outcome
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.propose.proposals import squeezed

_BROUGHT = ("append", "insert_after", "replace", "guidance")
"""Ops whose content is the text that the edit brought."""


def reverted(repo: Repository, path: str, before: Placed, edits: Sequence[RecordedEdit], why: str = "") -> Candidate:
    """The document without some edits: the newest is taken out first, a commit each.

    Args:
        why: a person's reason; may be empty.

    Raises:
        ConflictError: later edits changed the same lines; `shown` has both sides.
        UnfitChangeError: an edit is not in the document any more.
    """
    text, outcomes = before.text, list[EditOutcome]()
    for edit in sorted(edits, key=lambda e: (e.run, e.step, e.number), reverse=True):
        less = without(repo, path, text, edit)
        if less == text:
            if outcomes and without(repo, path, before.text, edit) != before.text:
                continue  # it went with another one
            raise UnfitChangeError(f"edit {edit.place} of run {edit.run} is not in the document any more")
        text = less
        subject = repo.objects.read_commit(edit.commit).subject.partition(": ")[2]
        told = f"Takes back {edit.commit}, edit {edit.number} of {edit.count} of step {edit.step} of run {edit.run}."
        outcomes.append(outcome("revert", subject, f"{why}\n\n{told}" if why else told, text, of=edit.commit))
    return Candidate(text, tuple(outcomes))


def without(repo: Repository, path: str, text: str, edit: RecordedEdit) -> str:
    """A document without an edit that it has, or that it lost already; then it is as before.

    Three ways, as `git revert` does it; where neighbouring lines came later, which conflicts there, by the edit itself
    turned round.

    Raises:
        ConflictError: later edits changed the same lines. UnfitChangeError: the commit has no parent, or is about
            another file.
    """
    info = repo.objects.read_commit(edit.commit)
    if not info.parents:
        raise UnfitChangeError(f"{edit.commit[:12]} has no parent: it cannot be taken back")
    if any(documents.blob_at(repo, commit, path) is None for commit in (info.parents[0], edit.commit)):
        raise UnfitChangeError(f"edit {edit.place} of run {edit.run} is of another file than {path}")
    had = documents.read(repo, info.parents[0], path).text
    has = documents.read(repo, edit.commit, path).text
    labels = ("now", f"edit {edit.place}", f"before edit {edit.place}")
    merged, shown = merge_file(repo, text, has, had, labels=labels)
    if merged:
        return merged
    told = edit.edit.op in _BROUGHT and edit.edit.content.strip()
    if told and squeezed(edit.edit.content) not in squeezed(text):
        return text  # later edits took it out, or made something else of it
    turned = _turned(edit.edit, text)
    after = apply_edits(text, [turned]) if turned else None
    if after is not None and after.reports[0].status == "applied":
        return after.document
    mend = "take those out with it, or edit the document by hand"
    if edit.edit.op == "revert":
        mend = f"bring back what it took out with `skillgit cherry-pick` and {edit.edit.target[:12]}"
    raise ConflictError(
        f"edit {edit.place} of run {edit.run} cannot be taken out alone: later edits changed the same lines",
        mend=mend,
        shown=shown,
    )


def _turned(edit: Edit, text: str) -> Edit | None:
    """The edit that undoes another one, where the lines that it brought stand in the document as it brought them."""
    content, lines = (re.sub(r"\r\n?", "\n", one) for one in (edit.content.strip(), text))
    if not content or f"\n{lines}\n".count(f"\n{content}\n") != 1:
        return None  # of a line that somebody went on writing, a part would be left
    if edit.op in ("append", "insert_after"):
        return Edit("delete", target=content)
    return Edit("replace", target=content, content=edit.target) if edit.op == "replace" else None
