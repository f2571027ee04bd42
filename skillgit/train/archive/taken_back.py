"""Edits that people took out: remembered as notes on the edits' commits, so that they are not proposed again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from skillgit.document import Edit
from skillgit.store.notes import add_note, all_notes, read_notes
from skillgit.store.repository import Repository
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.propose.likeness import says_the_same
from skillgit.train.propose.proposals import squeezed

TAKEN, BROUGHT = "taken-back", "brought-back"
_KEPT = ("op", "target", "content")


def remember(repo: Repository, name: str, edits: Sequence[RecordedEdit], *, why: str, at: datetime) -> None:
    """Note on each edit's commit that a person took it out."""
    _note(repo, name, edits, {"kind": TAKEN, "by": repo.identity(), "why": why, "at": _time(at)})


def forget(repo: Repository, name: str, edits: Sequence[RecordedEdit], *, at: datetime) -> None:
    """Note that a person brought back what had been taken out; of other edits nothing is noted."""
    gone = [e for e in edits if _is_taken(read_notes(repo, e.commit), name)]
    _note(repo, name, gone, {"kind": BROUGHT, "by": repo.identity(), "at": _time(at)})


def read(repo: Repository, name: str) -> tuple[Edit, ...]:
    """The edits of a skill that are taken out as of now, in no special order."""
    found = []
    for _, facts in all_notes(repo, f'"{TAKEN}"'.encode()):
        if _is_taken(facts, name):
            last = next(fact for fact in reversed(facts) if fact.get("kind") == TAKEN)
            op, target, content = (str(last.get(key, "")) for key in _KEPT)
            found.append(Edit(op, target, content))
    return tuple(found)


def is_taken(taken: Sequence[Edit], edit: Edit) -> bool:
    """Whether an edit is one that people took out, whatever op it comes by; only its wording may be another."""
    return any(_alike(one, edit) for one in taken)


def brings_back(taken: Sequence[Edit], before: str, after: str) -> Edit | None:
    """A text that people took out, and that a document has which came from one without it; None: there is none."""
    had, has = squeezed(before), squeezed(after)
    return next((e for e in taken if (text := squeezed(e.content)) and text in has and text not in had), None)


def _alike(one: Edit, other: Edit) -> bool:
    if one.content.strip() and other.content.strip():
        return squeezed(one.content) == squeezed(other.content) or says_the_same(one.content, other.content)
    removes = not one.content.strip() and not other.content.strip()
    return removes and bool(one.target.strip()) and squeezed(one.target) == squeezed(other.target)


def _is_taken(facts: Sequence[dict[str, Any]], name: str) -> bool:
    told = [fact.get("kind") for fact in facts if fact.get("kind") in (TAKEN, BROUGHT) and fact.get("skill") == name]
    return bool(told) and told[-1] == TAKEN


def _note(repo: Repository, name: str, edits: Sequence[RecordedEdit], fact: dict[str, Any]) -> None:
    for edit in edits:
        row = {key: str(edit.row.get(key, "")) for key in ("op", "target", "content")}
        add_note(
            repo, edit.commit, {**fact, **row, "skill": name, "run": edit.run, "step": edit.step, "edit": edit.number}
        )


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
