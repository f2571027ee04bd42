"""Skills, runs, models and revisions beside each other: what is known of each, and what compares with what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Literal

from skillgit.config import SkillSettings
from skillgit.document.length import length
from skillgit.envs.contract import Split
from skillgit.errors import UsageError
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.comparing import Paired, paired
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.known import RUN_PREFIX, Knowledge, Known, decimal
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.revisions import BEST, Revision, find
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Metric

Against = Literal["first", "same", "other tasks", "other target", "unknown"]
"""How a score stands to the first row's: it is that one, it compares, or why it does not; unknown: one is missing."""

_LEAST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run in numbers. Scores are the gate metric on val; None where they are not known.

    Args:
        start: of the document that it began with. best: of the best one at its end. compares: whether tasks and target
            stayed the same in between.
        usd: None where a price is not known.
    """

    run: str
    status: str
    start: Fraction | None
    best: Fraction | None
    compares: bool
    steps: int
    accepted: int
    rejected: int
    calls: int
    tokens: int
    usd: Decimal | None

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        found: dict[str, Any] = {key: getattr(self, key) for key in RunFacts.__slots__}
        found["start"], found["best"] = decimal(self.start), decimal(self.best)
        found["usd"] = None if self.usd is None else f"{self.usd:.4f}"
        return found


@dataclass(frozen=True, slots=True)
class Item:
    """What a person named, with its document."""

    named: str
    skill: str
    revision: Revision
    run: RunFacts | None
    lines: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A score on one split, and how it stands to the first row's."""

    known: Known | None
    against: Against
    paired: Paired | None = None

    def to_json(self, metric: Metric) -> dict[str, Any] | None:
        """Stable keys."""
        if self.known is None:
            return None
        by = self.paired.to_json() if self.paired else None
        return {**self.known.to_json(metric), "against_first": self.against, "paired": by}


@dataclass(frozen=True, slots=True)
class Row:
    """An item with one target; the target is None where no score is known."""

    item: Item
    target: str | None
    val: Cell
    test: Cell

    def to_json(self, metric: Metric) -> dict[str, Any]:
        """Stable keys."""
        item = self.item
        return {
            "what": item.named,
            "skill": item.skill,
            **item.revision.to_json(),
            "lines": item.lines,
            "tokens": item.tokens,
            "target": self.target,
            "val": self.val.to_json(metric),
            "test": self.test.to_json(metric),
            "training": item.run.to_json() if item.run else None,
        }


def identify(repo: Repository, settings_of: Callable[[str], SkillSettings], text: str, metric: Metric) -> Item:
    """NAME (its best document), NAME@REV, or NAME@RUN with the beginning of a run's id (the run's best document).

    Raises:
        UsageError: no such skill, run or revision, or more than one run.
    """
    name, _, rest = text.partition("@")
    settings = settings_of(name)
    run = _run(repo, name, rest)
    if run is None:
        revision, facts = find(repo, name, settings, rest or BEST), None
    else:
        revision, facts = _of_run(repo, text, *run, metric)
    document = repo.objects.read_blob(revision.blob).decode("utf-8", "replace")
    return Item(text, name, revision, facts, len(document.splitlines()), length(document))


def rows(repo: Repository, items: Sequence[Item], metric: Metric, target: str | None = None) -> list[Row]:
    """A row per item and target, in the order of the items; each compared with the first row.

    Args:
        target: only scores of this target.
    """
    by_skill = {
        name: Knowledge(repo, name, [item.revision.blob for item in items if item.skill == name])
        for name in dict.fromkeys(item.skill for item in items)
    }
    found: list[Row] = []
    for item in items:
        known = [k for k in by_skill[item.skill].of(item.revision.blob) if target in (None, k.target)]
        if item.run is not None:  # the run's own measurement first
            known.sort(key=lambda k: k.run != item.revision.run)
        for name in dict.fromkeys(k.target for k in known) or [None]:
            mine = [k for k in known if k.target == name]
            first = found[0] if found else None
            val = _cell(mine, "val", first.val if first else None, metric)
            test = _cell(mine, "test", first.test if first else None, metric)
            found.append(Row(item, name, val, test))
    return found


def _cell(known: Iterable[Known], split: Split, first: Cell | None, metric: Metric) -> Cell:
    """The score that compares with the first row's where there is one, else the newest."""
    mine = [k for k in known if k.split == split]
    if first is None:
        return Cell(mine[0] if mine else None, "first" if mine else "unknown")
    bar = first.known
    if not mine or bar is None:
        return Cell(mine[0] if mine else None, "unknown")
    same = next((k for k in mine if k.compares(bar)), None)
    if same is None:
        tasks_differ = mine[0].digest != bar.digest or mine[0].tasks != bar.tasks
        return Cell(mine[0], "other tasks" if tasks_differ else "other target")
    if same.measurement is None or bar.measurement is None:
        return Cell(same, "same")
    return Cell(same, "same", paired(bar.measurement, same.measurement, metric))


def _run(repo: Repository, name: str, text: str) -> tuple[str, str] | None:
    """The run whose id begins so, and its journal's tip; None where the text is a revision."""
    if len(text) < _LEAST_PREFIX or not re.fullmatch(r"[0-9a-z]{1,26}", text) or text.isdigit():
        return None
    fitting = [(run, tip) for run, tip in history.runs(repo, name) if run.startswith(text)]
    if len(fitting) > 1:
        shown = ", ".join(run[:RUN_PREFIX] for run, _ in fitting)
        raise UsageError(f"{name} has more than one run {text}: {shown}", mend="write more of the run's id")
    return fitting[0] if fitting else None


def _of_run(repo: Repository, text: str, run: str, tip: str, metric: Metric) -> tuple[Revision, RunFacts]:
    journal = read_journal(repo, tip)
    last, records = journal.state, history.records(repo, tip)
    kept = journal.scores.get(last.best)
    measured = [record for record in records if record.scores and record.maximum is None]
    facts = RunFacts(
        run=run,
        status=last.status,
        start=scores.mean(scores.decode(measured[0].scores), metric) if measured else None,
        best=scores.mean(scores.decode(kept), metric) if kept else None,
        compares=all(record.kind != "remeasure" for record in records),
        steps=last.step,
        accepted=last.accepted_count,
        rejected=last.rejected_count,
        calls=sum(_count(record, "calls") for record in records),
        tokens=sum(_count(record, "tokens") for record in records),
        usd=_usd(records),
    )
    return Revision(text, last.best, last.best_commit, run, last.step), facts


def _count(record: StepRecord, key: str) -> int:
    value = record.cost.get(key, 0)
    return value if isinstance(value, int) else 0


def _usd(records: Iterable[StepRecord]) -> Decimal | None:
    """What all entries cost; None where one's price is not known."""
    total = Decimal(0)
    for record in records:
        if _count(record, "calls"):
            try:
                total += Decimal(str(record.cost.get("usd")))
            except InvalidOperation:
                return None
    return total
