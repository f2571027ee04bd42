"""What commands tell of a skill's past, read from refs and journals alone, and only as far as it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

from skillgit.errors import RefusedError
from skillgit.store.refs import SkillRefs, parse_rejected
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.journal import RunInfo, StepRecord, exact_number, load
from skillgit.train.archive.walking import Stop, walk

_STEP = re.compile(r"(?:([0-9a-z]{0,26})/)?0*(\d{1,9})(?:-0*(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Entry:
    """A step of a run, or another entry of its journal, with the commit that it left behind.

    Args:
        journal: the journal's commit; empty where the journal is not here and the trailers alone speak.
    """

    run: str
    record: StepRecord
    journal: str = ""

    @property
    def commit(self) -> str | None:
        """The candidate's last commit."""
        return self.record.commits[-1] if self.record.commits else None

    @property
    def score(self) -> Fraction | None:
        """Over all val tasks; None on an early rejection, and where nothing was measured."""
        return exact_number(self.record.score)

    @property
    def reached(self) -> Fraction | None:
        """The score, or on an early rejection what could still have been reached."""
        return exact_number(self.record.maximum) if self.record.maximum is not None else self.score

    @property
    def before(self) -> Fraction | None:
        """The incumbent's score on the same tasks."""
        return exact_number(self.record.before)

    @property
    def delta(self) -> Fraction | None:
        """Score minus the incumbent's."""
        return None if self.score is None or self.before is None else self.score - self.before

    @property
    def others(self) -> list[Entry]:
        """The step's other measured candidates, without costs of their own."""
        if not self.record.others:
            return []
        known = {f.name for f in fields(StepRecord)}
        parts = ({key: value for key, value in part.items() if key in known} for part in self.record.others)
        return [Entry(self.run, StepRecord(**part), self.journal) for part in parts]

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        record = self.record
        return {
            "run": self.run,
            "step": record.step,
            "epoch": record.epoch,
            "kind": record.kind,
            "candidate": record.candidate,
            "decision": record.decision,
            "reason": record.reason,
            "score": decimal(exact_number(record.score)),
            "score_max": decimal(exact_number(record.maximum)),
            "before": decimal(exact_number(record.before)),
            "delta": decimal(self.delta),
            "best": decimal(exact_number(record.best)),
            "learning_rate": record.learning_rate,
            "edits": record.edits,
            "commits": record.commits,
            "document": record.document,
            "parent": record.came_from,
            "gained": record.gained,
            "lost": record.lost,
            "cost": {key: record.cost.get(key) for key in ("calls", "tokens", "usd")},
            "models": record.models,
            "journal": self.journal or None,
            "others": [other.to_json() for other in self.others],
        }


def decimal(number: Fraction | None) -> float | None:
    """A score as JSON has it: six decimals."""
    return None if number is None else round(float(number), 6)


def steps(repo: Repository, name: str, run: str = "") -> Iterator[Entry]:
    """Every entry of every run, newest first, read one by one; only of runs whose id begins with `run`."""
    for ident, tip in reversed(history.runs(repo, name)):
        if ident.startswith(run):
            for stop in walk(repo, ident, tip):
                yield read(repo, stop)


def read(repo: Repository, stop: Stop) -> Entry:
    """An entry of a journal, whole.

    Raises:
        RefusedError: it is not readable.
    """
    return Entry(stop.run, stop.record(repo), stop.commit)


class Steps:
    """A skill's journals, looked up by run and step. A journal is walked once, as far as is asked for; of its entries
    only those that are asked for are read."""

    def __init__(self, repo: Repository, name: str) -> None:
        self._repo = repo
        self._tips = dict(history.runs(repo, name))
        self._walked: dict[str, _Walked] = {}

    @property
    def runs(self) -> list[str]:
        """The newest first."""
        return sorted(self._tips, reverse=True)

    def tip(self, run: str) -> str | None:
        """A run's last journal commit; None where its journal is not here."""
        return self._tips.get(run)

    def document(self, run: str) -> str | None:
        """The path at which a run has its document; None where its journal is not here or does not say."""
        tip = self._tips.get(run)
        entry = self._repo.objects.entry(tip, "run.json") if tip else None
        try:
            return load(RunInfo, self._repo.objects.read_blob(entry.oid), tip or "").document if entry else None
        except RefusedError:
            return None

    def stops(self, run: str) -> Iterator[Stop]:
        """A run's entries as their commits alone tell, newest first; none where its journal is not here."""
        return self._run(run).all()

    def read(self, stop: Stop) -> Entry:
        """An entry, whole.

        Raises:
            RefusedError: it is not readable.
        """
        return read(self._repo, stop)

    def at(self, run: str, step: int) -> list[Entry]:
        """The entries of a step, newest first: what came behind it (a slow update, a person's commit), and itself."""
        return [self.read(stop) for stop in self._run(run).at(step)]

    def candidate(self, run: str, step: int, number: int) -> Entry | None:
        """A measured candidate of a step, by its number."""
        entries = (one for entry in self.at(run, step) for one in (entry, *entry.others))
        return next((one for one in entries if one.record.commits and one.record.candidate == number), None)

    def older(self, entry: Entry) -> Iterator[Stop]:
        """What comes before an entry in its journal, newest first."""
        stops = self.stops(entry.run)
        for stop in stops:
            if stop.commit == entry.journal:
                break
        yield from stops

    def _run(self, run: str) -> _Walked:
        if run not in self._walked:
            tip = self._tips.get(run)
            self._walked[run] = _Walked(walk(self._repo, run, tip) if tip else iter(()))
        return self._walked[run]


class _Walked:
    """A journal's entries, walked as far as was needed so far."""

    def __init__(self, rest: Iterator[Stop]) -> None:
        self._rest = rest
        self._stops: list[Stop] = []
        self._steps: dict[int, list[Stop]] = {}
        self._oldest: int | None = None

    def all(self) -> Iterator[Stop]:
        """Every entry."""
        number = 0
        while number < len(self._stops) or self._advance():
            yield self._stops[number]
            number += 1

    def at(self, step: int) -> list[Stop]:
        """The entries of a step. Numbers only fall on the way back, so those behind it need not be walked."""
        while (self._oldest is None or self._oldest >= step) and self._advance():
            continue
        return self._steps.get(step, [])

    def _advance(self) -> bool:
        stop = next(self._rest, None)
        if stop is None:
            return False
        self._stops.append(stop)
        if stop.step is not None:
            self._steps.setdefault(stop.step, []).append(stop)
            self._oldest = stop.step
        return True


@dataclass(frozen=True, slots=True)
class Asked:
    """A step as a person names it: `7`, `RUN/7`, `7-02`; `run` is the beginning of a run's id, or empty."""

    run: str
    step: int
    candidate: int | None


def parse_step(text: str) -> Asked | None:
    """What a person means by `7`, `RUN/7` or `RUN/7-02`; None where it is no such name."""
    found = _STEP.fullmatch(text)
    return Asked(found[1] or "", int(found[2]), int(found[3]) if found[3] else None) if found else None


class Rejected:
    """A rejected candidate: its ref, its commit, and the record of it, where the journal is here; read on first use."""

    def __init__(
        self, ref: str, commit: str, run: str, step: int, candidate: int, load: Callable[[], Entry | None]
    ) -> None:
        self.ref, self.commit = ref, commit
        self.run, self.step, self.candidate = run, step, candidate
        self._load = load

    @cached_property
    def entry(self) -> Entry | None:
        """None where the journal is not here, cannot be read, or tells of another commit."""
        try:
            found = self._load()
        except RefusedError:
            return None
        return found if found is not None and found.commit == self.commit else None


def rejected(repo: Repository, name: str, found: Steps | None = None) -> list[Rejected]:
    """The rejected buffer: the newest step first, its candidates in order. Only refs are read.

    Args:
        found: the skill's journals, where they are open already.
    """
    known = found or Steps(repo, name)
    items = []
    for ref, commit in repo.list_refs(SkillRefs(name).rejected_prefix).items():
        parts = parse_rejected(ref)
        if parts is not None:
            items.append(_item(ref, commit, parts.run, parts.step, parts.k, known))
    return sorted(sorted(items, key=lambda r: r.candidate), key=lambda r: (r.run, r.step), reverse=True)


def _item(ref: str, commit: str, run: str, step: int, candidate: int, known: Steps) -> Rejected:
    def load() -> Entry | None:
        return known.candidate(run, step, candidate)

    return Rejected(ref, commit, run, step, candidate, load)
