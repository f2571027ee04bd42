"""Edits on a document: applied in order, each to the result of the last, each with a status.

The rules are DESIGN, section 3, "Edits".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillgit.document import ops
from skillgit.document.content import refused_content
from skillgit.document.integrity import check_change
from skillgit.document.refusal import Refusal, Status, quoted
from skillgit.document.structure import Change, Structure

_NEEDS = {
    "append": ("content",),
    "insert_after": ("target", "content"),
    "replace": ("target", "content"),
    "delete": ("target",),
}

OPS = tuple(_NEEDS)
"""The ops that an edit can have."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit as the optimizer proposed it.

    Args:
        op: one of `OPS`; any other makes the edit `invalid`.
        target: the text that it is about; `append` needs none.
        content: the text that it brings; `delete` needs none.
        reason: why, in the optimizer's words.
        support: how many attempts asked for it.
    """

    op: str
    target: str = ""
    content: str = ""
    reason: str = ""
    support: int = 1


@dataclass(frozen=True, slots=True)
class EditReport:
    """What became of one edit.

    Args:
        edit: the edit.
        status: `applied`, or why not.
        reason: one sentence that says what is wrong; empty where it was applied.
    """

    edit: Edit
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A document after its edits.

    Args:
        document: the document after all of them.
        reports: one for each edit, in order.
        documents: the whole document after each edit; unchanged by one that was not applied.
    """

    document: str
    reports: tuple[EditReport, ...]
    documents: tuple[str, ...]


def apply_edits(document: str, edits: Sequence[Edit]) -> Applied:
    """Apply edits in order, each to the result of the last. Never raises for what a document or an edit holds."""
    structure = Structure(document)
    reports, documents = [], []
    for edit in edits:
        try:
            structure = _applied(structure, edit)
            reports.append(EditReport(edit, "applied", ""))
        except Refusal as refusal:
            reports.append(EditReport(edit, refusal.status, f"Not applied: {refusal.reason}."))
        documents.append(structure.text)
    return Applied(structure.text, tuple(reports), tuple(documents))


def _applied(structure: Structure, edit: Edit) -> Structure:
    """The structure of the document after one edit.

    Raises:
        Refusal: it does not apply.
    """
    if structure.problem is not None:
        raise Refusal("protected", structure.problem)
    _check_fields(edit)
    change = _change(structure, edit)
    after = structure.changed(change)
    if after.text == structure.text:
        raise Refusal("no_change", "the document would stay as it is")
    check_change(structure, after, change)
    return after


def _check_fields(edit: Edit) -> None:
    """An edit comes from a model, so its fields are checked whatever their annotations say."""
    op: object = edit.op
    if not isinstance(op, str) or op not in _NEEDS:
        raise Refusal("invalid", f"{quoted(str(op))} is no op; ops are {', '.join(OPS)}")
    for name in _NEEDS[op]:
        value: object = getattr(edit, name)
        if not isinstance(value, str):
            raise Refusal("invalid", f"its {name} is not text")
        if not value.strip():
            raise Refusal("invalid", f"its {name} is empty, and {op} needs one")
    if "content" in _NEEDS[op]:
        refused = refused_content(edit.content)
        if refused is not None:
            raise Refusal("invalid", refused)


def _change(structure: Structure, edit: Edit) -> Change:
    if edit.op == "append":
        return ops.append(structure, edit.content)
    if edit.op == "insert_after":
        return ops.insert_after(structure, edit.target, edit.content)
    if edit.op == "replace":
        return ops.replace(structure, edit.target, edit.content)
    return ops.delete(structure, edit.target)
