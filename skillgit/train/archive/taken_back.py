"""Edits that people took out: remembered as notes on the edits' commits, so that they are not proposed again.

The journal's entry of the change is the truth; the notes, which clones share and merge, are made from it. Where a
command was killed between the two, whoever holds the skill's lock next makes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from skillgit.document import Edit
from skillgit.store.notes import add_note, all_notes, read_notes
from skillgit.store.repository import Repository
from skillgit.train.archive import documents, edits
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.journal import StepRecord
from skillgit.train.propose.likeness import says_the_same, words_in
from skillgit.train.propose.proposals import squeezed

TAKEN, BROUGHT = "taken-back", "brought-back"
BY_HAND = ("revert", "cherry-pick", "retry")
"""Kinds of entries that can take an edit out, or bring it back."""
_SAYS_IT_ALL = ("append", "insert_after", "replace", "delete", "guidance")
"""Ops whose content is the text that the edit brought; others only have a summary of it."""
_PICKED = re.compile(r"\(cherry picked from commit ([0-9a-f]{40}(?:[0-9a-f]{24})?)\)\s*\Z")
_MOST_CHARACTERS = 20_000
_LEAST_WORDS = 3
"""Below these, a part of a line may stand in a document by chance."""


def picked_from(commit: str) -> str:
    """What the message of a commit says that brings another one's change; git's own words."""
    return f"(cherry picked from commit {commit})"


def keep(repo: Repository, name: str, path: str, record: StepRecord) -> None:
    """Note what an entry took out or brought back, on the edits' commits. What is noted already is not repeated.

    Args:
        path: the skill's document.

    Raises: as `add_note` does.
    """
    if not record.accepted or record.kind not in BY_HAND:
        return
    rows = [row for row in record.edits if row.get("status") == "applied"]
    for row, commit in zip(rows, record.commits, strict=False):
        about, taken = _about(row)
        if not about or any(fact.get("as") == commit for fact in read_notes(repo, about)):
            continue
        edit, taken = _followed(repo, name, about, taken=taken)
        if edit is not None:
            _note(repo, name, edit, commit, _text(repo, path, edit, str(row.get("reason") or "")) if taken else None)


def read(repo: Repository, name: str, document: str) -> tuple[Edit, ...]:
    """The edits of a skill that people took out, as of now, in no special order. What stands in the document again,
    however it came there, is not taken out."""
    found = []
    for _, facts in all_notes(repo, f'"{TAKEN}"'.encode()):
        last = _last(facts, name)
        if last is not None and last["kind"] == TAKEN:
            edit = Edit(str(last.get("op", "")), str(last.get("target", "")), str(last.get("content", "")))
            if not (edit.content.strip() and _has(document, edit.content)):
                found.append(edit)
    return tuple(found)


def is_taken(taken: Sequence[Edit], edit: Edit) -> bool:
    """Whether an edit is one that people took out, or brings one along, whatever op it comes by; only its wording may
    be another."""
    return any(_alike(one, edit) for one in taken)


def brings_back(taken: Sequence[Edit], before: str, after: str) -> Edit | None:
    """A text that people took out, and that a document has which came from one without it; None: there is none."""
    texts = (edit for edit in taken if edit.content.strip())
    return next((e for e in texts if _has(after, e.content) and not _has(before, e.content)), None)


def _has(document: str, text: str) -> bool:
    """Whether a document has a text's lines, wherever they stand; a line of some words may be part of a longer one."""
    lines = _lines(document)
    wanted = _lines(text)
    if wanted <= lines:
        return bool(wanted)
    if len(wanted) > 1 or words_in(text) < _LEAST_WORDS:
        return False
    return any(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", line) for part in wanted for line in lines)


def _lines(text: str) -> set[str]:
    return {line for part in text.splitlines() if (line := squeezed(part))}


def _alike(one: Edit, other: Edit) -> bool:
    if one.content.strip() and other.content.strip():
        return _lines(one.content) <= _lines(other.content) or says_the_same(one.content, other.content)
    removes = not one.content.strip() and not other.content.strip()
    return removes and bool(one.target.strip()) and squeezed(one.target) == squeezed(other.target)


def _about(row: dict[str, Any]) -> tuple[str, bool]:
    """The commit that an entry's edit is about, and whether it takes it out; empty where it is about none."""
    if row.get("op") == "revert":
        return str(row.get("target") or ""), True
    picked = _PICKED.search(str(row.get("reason") or ""))
    return (picked[1] if picked else ""), False


def _followed(repo: Repository, name: str, commit: str, *, taken: bool) -> tuple[RecordedEdit | None, bool]:
    """The edit that it is about in the end: what takes back a revert brings its edit back."""
    seen: set[str] = set()
    while commit not in seen:
        seen.add(commit)
        edit = edits.by_commit(repo, name, commit)
        if edit is None or edit.row.get("op") != "revert" or not edit.row.get("target"):
            return edit, taken
        commit, taken = str(edit.row["target"]), not taken
    return None, taken


def _last(facts: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The newest fact of the two kinds: where notes of clones were merged, their lines are in another order."""
    told = [fact for fact in facts if fact.get("kind") in (TAKEN, BROUGHT) and fact.get("skill") == name]
    return max(enumerate(told), key=lambda pair: (str(pair[1].get("at", "")), pair[0]))[1] if told else None


def _note(repo: Repository, name: str, edit: RecordedEdit, commit: str, taken: dict[str, str] | None) -> None:
    """Note on an edit's commit what `commit` did to it: took out the text in `taken`, or brought it back."""
    last = _last(read_notes(repo, edit.commit), name)
    if taken is None and (last is None or last["kind"] == BROUGHT):
        return  # it had not been taken out
    info = repo.objects.read_commit(commit)
    fact = {
        "kind": BROUGHT if taken is None else TAKEN,
        "skill": name,
        "run": edit.run,
        "step": edit.step,
        "edit": edit.number,
        "as": commit,
        "by": info.author,
        "at": datetime.fromtimestamp(info.commit_time, UTC).isoformat(timespec="seconds"),
    }
    add_note(repo, edit.commit, fact | (taken or {}))


def _text(repo: Repository, path: str, edit: RecordedEdit, reason: str) -> dict[str, str]:
    """What the edit brought, as it was proposed, or the lines that its commit added; and why it was taken out."""
    row = {key: str(edit.row.get(key, "")) for key in ("op", "target", "content")}
    row["why"] = reason.rpartition("\n\n")[0]  # the last paragraph says which edit it is
    if row["op"] in _SAYS_IT_ALL:
        return row
    info = repo.objects.read_commit(edit.commit)
    had, has = (documents.blob_at(repo, c, path) if c else None for c in (*info.parents[:1], edit.commit))
    old = set(_text_of(repo, had))
    added = [line for line in _text_of(repo, has) if line not in old]
    content = "\n".join(added)
    return {**row, "target": "", "content": content if len(content) <= _MOST_CHARACTERS else ""}


def _text_of(repo: Repository, blob: str | None) -> list[str]:
    return repo.objects.read_blob(blob).decode("utf-8", "replace").splitlines() if blob else []
