"""What is remembered of baselines: a line each in the notes on the base document's blob."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError
from skillgit.store.notes import add_note, read_notes
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.documents import blob_at
from skillgit.train.archive.journal import Journal, exact_number, exact_text
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.walking import walk
from skillgit.train.scoring.scores import Metric

KIND = "baseline"
Kind = Literal["examples", "one_shot"]
KINDS: tuple[Kind, ...] = ("examples", "one_shot")
NOTHING_FAILED = "nothing failed in train: the base document has it all"
_RECENT = 16
"""Runs whose first documents are looked at for baselines."""


@dataclass(frozen=True, slots=True)
class Tested:
    """Scores on test, means over all tasks, and the digest of what they were measured on."""

    hard: Fraction
    soft: Fraction
    tasks: int
    digest: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """A document that was made without the loop, with its scores on val and the gate's verdict.

    Args:
        val: the `Skill-Val` digest. target: its name and settings. Scores compare only where both are equal.
        optimizer: the model that wrote a one-shot rewrite; empty for examples.
        hard, soft: means over the val tasks. errors: attempts without a score.
        decision: the gate's, or `none` where the baseline is the base document itself; `reason` says why.
        gate: the rule, as `Skill-Gate` has it; empty where the gate was not asked.
        before: the base document's score by the gate metric, on the tasks that both have a score for.
        document: the blob. tokens: of its body. edits: that made it of the base document.
    """

    kind: Kind
    val: str
    target: Mapping[str, Any]
    optimizer: str
    hard: Fraction
    soft: Fraction
    tasks: int
    errors: int
    decision: str
    reason: str
    gate: str
    before: Fraction
    document: str
    tokens: int
    edits: int
    test: Tested | None = None

    @property
    def empty(self) -> bool:
        """Whether no failed task was there to make it of: its score is the base document's, and no baseline's."""
        return self.decision == "none" and self.reason == NOTHING_FAILED

    def fact(self, at: datetime) -> dict[str, Any]:
        """One line of the notes on the base document's blob."""
        found: dict[str, Any] = {
            "kind": KIND,
            "baseline": self.kind,
            "val": self.val,
            "target": self.target["name"],
            "settings": dict(self.target["settings"]),
            "hard": exact_text(self.hard),
            "soft": exact_text(self.soft),
            "tasks": self.tasks,
            "errors": self.errors,
            "decision": self.decision,
            "reason": self.reason,
            "gate": self.gate,
            "before": exact_text(self.before),
            "document": self.document,
            "tokens": self.tokens,
            "edits": self.edits,
            "at": at.isoformat(timespec="seconds"),
        }
        if self.optimizer:
            found["optimizer"] = self.optimizer
        if self.test is not None:
            scores = {"hard": exact_text(self.test.hard), "soft": exact_text(self.test.soft)}
            found["test"] = {**scores, "tasks": self.test.tasks, "digest": self.test.digest}
        return found

    def to_json(self, metric: Metric) -> dict[str, Any]:
        """Stable keys; scores as decimals, `score` and `before` by the gate metric."""
        test = None
        if self.test is not None:
            test = {"score": _decimal(metric.value(self.test.hard, self.test.soft)), "tasks": self.test.tasks}
        return {
            "kind": self.kind,
            "score": _decimal(metric.value(self.hard, self.soft)),
            "hard": _decimal(self.hard),
            "soft": _decimal(self.soft),
            "tasks": self.tasks,
            "errors": self.errors,
            "before": _decimal(self.before),
            "decision": self.decision,
            "reason": self.reason,
            "gate": self.gate,
            "document": self.document,
            "tokens": self.tokens,
            "edits": self.edits,
            "optimizer": self.optimizer or None,
            "target": self.target["name"],
            "val": self.val,
            "test": test,
        }


def remember(repo: Repository, base: str, baselines: Iterable[Baseline]) -> None:
    """Add baselines to the notes on the base document's blob; what is the newest there already is not repeated."""
    for found in baselines:
        newest = {old.kind: old for old in known(repo, [base], found.val, found.target)}.get(found.kind)
        if newest is None or replace(found, test=found.test or newest.test) != newest:
            add_note(repo, base, found.fact(datetime.now(UTC)))


def known(
    repo: Repository,
    blobs: Iterable[str],
    val: str | None,
    target: Mapping[str, Any] | None,
    *,
    empty: bool = True,
) -> tuple[Baseline, ...]:
    """The newest baseline of each kind on the first of the documents that has one.

    Args:
        blobs: base documents.
        val, target: what it was measured on and with (`Session.target_identity`); None for any.
        empty: with those that nothing failed for (`Baseline.empty`).
    """
    found: dict[Kind, Baseline] = {}
    for blob in dict.fromkeys(blobs):
        for fact in reversed(read_notes(repo, blob)):
            one = _read(fact)
            if one is None or one.kind in found or (val is not None and one.val != val):
                continue
            if one.empty and not empty:
                continue
            if target is None or dict(one.target) == dict(target):
                found[one.kind] = one
        if len(found) == len(KINDS):
            break
    return tuple(found[kind] for kind in KINDS if kind in found)


def find(repo: Repository, name: str, settings: SkillSettings) -> tuple[Baseline, ...]:
    """The baselines to show beside a skill's scores: those measured on what the newest run was measured on.

    Where no run was made yet, there is no score to compare with, and the newest ones count. Those that nothing failed
    for are left out: beside a trained document's score they would read as one pass that equals the training.
    """
    if repo.read_ref(NOTES) is None:
        return ()
    last = history.latest(repo, name)
    val, target = (last.state.val, last.state.target) if last is not None else (None, None)
    return known(repo, _bases(repo, name, settings), val, target, empty=False)


def first_entry(repo: Repository, tip: str) -> Journal:
    """A run's first journal commit, which has the document that the run began with."""
    oldest = tip
    for stop in walk(repo, "", tip):
        oldest = stop.commit
    return read_journal(repo, oldest)


def _bases(repo: Repository, name: str, settings: SkillSettings) -> Iterator[str]:
    """Documents that runs began with, the newest run's first, and before them that of the newest one with steps; then
    the base branch's."""
    worked = history.latest_with_steps(repo, name)
    tips = [tip for _, tip in reversed(history.runs(repo, name)[-_RECENT:])]
    for tip in dict.fromkeys(([worked.commit] if worked is not None else []) + tips):
        try:
            first = first_entry(repo, tip)
        except RefusedError:
            continue  # a journal that cannot be read has no document to look at
        yield first.record.document
    into = settings.merge.into
    base = repo.resolve(f"refs/heads/{into}" if into else "HEAD")
    blob = blob_at(repo, base, settings.document) if base is not None else None
    if blob is not None:
        yield blob


def _read(fact: Mapping[str, Any]) -> Baseline | None:
    """A note's line as a baseline; None where it is none. Whoever can push can write notes."""
    kind = next((kind for kind in KINDS if kind == fact.get("baseline")), None)
    if fact.get("kind") != KIND or kind is None:
        return None
    try:
        test = fact.get("test")
        found = Baseline(
            kind=kind,
            val=str(fact["val"]),
            target={"name": str(fact["target"]), "settings": dict(fact["settings"])},
            optimizer=str(fact.get("optimizer", "")),
            hard=_share(fact["hard"]),
            soft=_share(fact["soft"]),
            tasks=int(fact["tasks"]),
            errors=int(fact["errors"]),
            decision=str(fact["decision"]),
            reason=str(fact["reason"]),
            gate=str(fact["gate"]),
            before=_share(fact["before"]),
            document=str(fact["document"]),
            tokens=int(fact["tokens"]),
            edits=int(fact["edits"]),
            test=test and Tested(_share(test["hard"]), _share(test["soft"]), int(test["tasks"]), str(test["digest"])),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if found.tasks > 0 else None


def _share(text: Any) -> Fraction:
    """A score.

    Raises:
        ValueError: it is outside 0..1.
    """
    number = exact_number(str(text)) or Fraction(0)
    if not 0 <= number <= 1:
        raise ValueError(f"{text!r} is no score")
    return number


def _decimal(number: Fraction) -> float:
    return round(float(number), 6)
