"""The attempts behind a verdict: the tasks that flipped, as both documents answered them, where evidence is here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import forms
from skillgit.train.archive.known import Knowledge
from skillgit.train.archive.story import Entry, Steps

VAL = "val.jsonl"
MOST_CHARACTERS = 300
"""Of a reply that is shown."""
_SAME_DOCUMENT = ("reject", "indecisive", "none", "end")
"""Decisions after which the incumbent is the one from before."""

Way = Literal["gained", "lost"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One scored attempt, or one that failed.

    Args:
        trial: from 0. hard, soft: None where the attempt failed.
        reply: its beginning. cut: whether there was more. said: the scorer's reason, or the error.
    """

    trial: int
    hard: Fraction | None
    soft: Fraction | None
    reply: str
    cut: bool
    said: str

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        return {
            "trial": self.trial,
            "hard": None if self.hard is None else round(float(self.hard), 6),
            "soft": None if self.soft is None else round(float(self.soft), 6),
            "reply": self.reply,
            "cut": self.cut,
            "reason": self.said,
        }


@dataclass(frozen=True, slots=True)
class Flip:
    """A task whose score rose or fell, with an attempt from before and one from after, as far as they are here."""

    task: str
    way: Way
    input: str
    before: Attempt | None
    after: Attempt | None

    def to_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "task": self.task,
            "input": self.input or None,
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
        }


def flips(repo: Repository, name: str, steps: Steps, entry: Entry) -> list[Flip]:
    """The tasks that a candidate gained, then those that it lost, in the record's order."""
    record = entry.record
    tasks: list[tuple[str, Way]] = [(task, "gained") for task in record.gained]
    tasks += [(task, "lost") for task in record.lost]
    if not tasks:
        return []
    wanted = {task for task, _ in tasks}
    after = _rows(repo, name, entry.run, record.step, record.document, wanted)
    before: dict[str, list[dict[str, Any]]] = {}
    for run, step in _measured(repo, name, steps, entry):
        for task, rows in _rows(repo, name, run, step, record.document_before, wanted - before.keys()).items():
            before[task] = rows
        if wanted == before.keys():
            break
    return [_flip(task, way, before.get(task, []), after.get(task, [])) for task, way in tasks]


def _measured(repo: Repository, name: str, steps: Steps, entry: Entry) -> Iterator[tuple[str, int]]:
    """The (run, step) at which the incumbent may have been measured, the likeliest first, none twice."""
    refs, seen = SkillRefs(name), set[tuple[str, int]]()
    evidence = {ref.rpartition("/")[2] for ref in repo.list_refs(refs.evidence(entry.run).rpartition("/")[0])}
    if not evidence:
        return

    def places() -> Iterator[tuple[str, int]]:
        for stop in steps.older(entry):
            if stop.step is not None and stop.decision not in _SAME_DOCUMENT:
                yield entry.run, stop.step
                break
        for known in Knowledge(repo, name, [entry.record.document_before]).of(entry.record.document_before):
            if known.run is not None and known.step is not None:
                yield known.run, known.step

    for place in places():
        if place not in seen and place[0] in evidence:
            seen.add(place)
            yield place


def _rows(
    repo: Repository, name: str, run: str, step: int, document: str, tasks: Iterable[str]
) -> dict[str, list[dict[str, Any]]]:
    """The val attempts of a document in a step's evidence, by task."""
    wanted, found = set(tasks), dict[str, list[dict[str, Any]]]()
    tip = repo.read_ref(SkillRefs(name).evidence(run)) if wanted else None
    if tip is None:
        return found
    subject = f"^skillgit evidence: {name} step {step}$"
    listed = repo.git("rev-list", "--first-parent", f"--grep={subject}", tip, "--")
    for commit in listed.text.split("\n") if listed.text else ():
        entry = repo.objects.entry(commit, VAL)
        for line in repo.objects.read_blob(entry.oid).split(b"\n") if entry else ():
            row = _row(line) if document.encode() in line else None
            if row is not None and row.get("document") == document and row.get("task") in wanted:
                found.setdefault(str(row["task"]), []).append(row)
    return found


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _flip(task: str, way: Way, before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> Flip:
    """The pair of attempts that shows best what changed: of several trials the worst beside the best."""
    rose = way == "gained"
    one, other = _chosen(before, best=not rose), _chosen(after, best=rose)
    if one is not None and other is not None and not _differ(one, other, rose=rose):
        one = None  # of other tasks or another target: it shows something else than what was compared
    rows = [*after, *before]
    text = next((str(row["input"]) for row in rows if row.get("input")), "")
    return Flip(task, way, _cut(text)[0], one, other)


def _chosen(rows: Sequence[dict[str, Any]], *, best: bool) -> Attempt | None:
    attempts = [attempt for attempt in map(_attempt, rows) if attempt is not None]
    scored = [attempt for attempt in attempts if attempt.hard is not None] or attempts
    pick = max if best else min
    return pick(scored, key=_height) if scored else None


def _height(attempt: Attempt) -> tuple[Fraction, Fraction]:
    return attempt.hard or Fraction(0), attempt.soft or Fraction(0)


def _differ(before: Attempt, after: Attempt, *, rose: bool) -> bool:
    low, high = (before, after) if rose else (after, before)
    return _height(low) < _height(high)


def _attempt(row: dict[str, Any]) -> Attempt | None:
    """A row of evidence as an attempt; None where it is none."""
    try:
        if "error" in row:
            return Attempt(int(row["trial"]), None, None, "", cut=False, said=str(row["error"]))
        reply, cut = _cut(str(row["reply"]))
        hard, soft = forms.score(row["hard"]), forms.score(row["soft"])
        return Attempt(int(row["trial"]), hard, soft, reply, cut, str(row.get("reason") or ""))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _cut(text: str) -> tuple[str, bool]:
    return (text, False) if len(text) <= MOST_CHARACTERS else (text[:MOST_CHARACTERS].rstrip() + "…", True)
