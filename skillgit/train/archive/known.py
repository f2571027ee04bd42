"""What is known of documents, without measuring: scores from the journals and the notes, never from a trailer.

Scores of two documents compare only where what they were measured on (the digest) and with (the target and all its
settings) is equal. A run may measure anew in its middle, where tasks grew; an entry's own state says which it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from skillgit.config import SkillSettings
from skillgit.envs.contract import SPLITS, Split
from skillgit.errors import MeasurementError, RefusedError
from skillgit.store.notes import read_notes
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.train.archive import forms, history
from skillgit.train.archive.journal import Journal, RunState, StepRecord, load
from skillgit.train.archive.walking import Stop, walk
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Measurement, Metric, metric_of

RUN_PREFIX = 10
"""Characters of a run's id that name it: its time, and no two runs of a skill have the same."""

_STEPS = frozenset(("accept-best", "accept", "forced", "reject", "indecisive", "none"))
"""Decisions about candidates; other entries can measure the best document beside their own."""


@dataclass(frozen=True, slots=True)
class Known:
    """A measurement of a document on a whole split.

    Args:
        digest: of what it was measured on. target, settings: the model and all that changes its replies; settings
            are None where an older note does not say, and then compare with nothing.
        hard, soft: means over the tasks that have a score. errors: attempts without one.
        measurement: by task; None where only the means are known.
        run, step: of the journal's entry that has it; None where it is from the notes. at: a note's date.
    """

    blob: str
    split: Split
    digest: str
    target: str
    settings: Mapping[str, Any] | None
    hard: Fraction
    soft: Fraction
    tasks: int
    errors: int
    measurement: Measurement | None
    run: str | None = None
    step: int | None = None
    at: str = ""

    def score(self, metric: Metric) -> Fraction:
        """What the gate looks at."""
        return metric.value(self.hard, self.soft)

    def compares(self, other: Known) -> bool:
        """Whether two scores are of the same tasks, judged in the same way, with the same target."""
        same = (self.split, self.digest, self.target, self.settings) == (
            other.split,
            other.digest,
            other.target,
            other.settings,
        )
        return same and self.settings is not None and self.tasks == other.tasks

    @property
    def source(self) -> str:
        """Where it is from, for people: `run 01k9x0c5v2 step 7`, or `notes of 2026-01-02`."""
        if self.run is not None:
            return f"run {self.run[:RUN_PREFIX]} step {self.step}"
        return f"notes of {self.at[:10]}" if self.at else "notes"

    def to_json(self, metric: Metric) -> dict[str, Any]:
        """Stable keys; scores as decimals, `score` by the gate metric."""
        return {
            "document": self.blob,
            "split": self.split,
            "score": decimal(self.score(metric)),
            "hard": decimal(self.hard),
            "soft": decimal(self.soft),
            "tasks": self.tasks,
            "errors": self.errors,
            "digest": self.digest,
            "target": self.target,
            "source": "notes" if self.run is None else "journal",
            "run": self.run,
            "step": self.step,
            "at": self.at or None,
        }


class Knowledge:
    """What is known of some documents of a skill. Notes are read at once, journals as far as is asked for.

    Args:
        blobs: the documents; others are not looked for.
    """

    def __init__(self, repo: Repository, name: str, blobs: Iterable[str]) -> None:
        chosen = dict.fromkeys(blobs)
        noted = repo.read_ref(NOTES) is not None
        self._notes = {blob: from_notes(repo, blob) if noted else [] for blob in chosen}
        self._found: dict[str, list[Known]] = {blob: [] for blob in chosen}
        self._rest = _search(repo, name, tuple(chosen))
        self._then = _newest_state(repo, name)

    def of(self, blob: str) -> list[Known]:
        """All that is known of a document: from the journals, newest first, then from the notes, newest first."""
        while self._advance():
            continue
        return self._so_far(blob)

    def noted(self, blob: str) -> list[Known]:
        """What the notes say of a document, newest first."""
        return list(self._notes[blob])

    def newest(self, blob: str, split: Split, target: str | None = None) -> Known | None:
        """The newest measurement on a split, with a target's name where one is given."""
        while True:
            found = [k for k in self._so_far(blob) if k.split == split and target in (None, k.target)]
            if any(k.run is not None for k in found) or split != "val" or not self._advance():
                return next(iter(found), None)

    def like(self, blob: str, then: RunState) -> Known | None:
        """A measurement of what a run's state says, with its target: of the journals, else of the notes."""
        while True:
            found = [k for k in self._so_far(blob) if k.split == "val" and _is_of(k, then)]
            if any(k.run is not None for k in found) or not self._advance():
                return next(iter(found), None)

    def pair(self, a: str, b: str, split: Split, target: str | None = None) -> tuple[Known, Known] | None:
        """Measurements of two documents that compare: on what the newest run measures where there are such, else the
        newest ones of the journals, else of the notes; with the scores of each task where they are known."""
        while True:
            found = self._pairs(a, b, split, target)
            today = next((pair for pair in found if self._is_newest(pair[0])), None)
            if today is not None or split != "val" or not self._advance():
                return today or next(iter(found), None)

    def _pairs(self, a: str, b: str, split: Split, target: str | None) -> list[tuple[Known, Known]]:
        mine, theirs = (
            [k for k in self._so_far(blob) if k.split == split and target in (None, k.target)] for blob in (a, b)
        )
        found = [(one, other) for one in mine for other in theirs if one.compares(other)]
        return sorted(found, key=lambda pair: pair[0].measurement is None or pair[1].measurement is None)

    def _is_newest(self, known: Known) -> bool:
        """Whether it is of the tasks and the target of the newest run."""
        return self._then is not None and known.measurement is not None and _is_of(known, self._then)

    def _so_far(self, blob: str) -> list[Known]:
        return [*self._found[blob], *self._notes[blob]]

    def _advance(self) -> bool:
        """Read the journals until they say something new; False at their end."""
        found = next(self._rest, None)
        if found is not None:
            self._found[found.blob].append(found)
        return found is not None


def known_today(
    repo: Repository, name: str, newest: Journal | None, blob: str, settings: SkillSettings
) -> Fraction | None:
    """A document's score on what the newest run measures, with its target; None where nobody measured that.

    Args:
        newest: the newest run's journal, which is looked at first; with None nothing is known.
    """
    score = history.known_score(newest, blob, settings)
    if score is not None or newest is None:
        return score
    found = Knowledge(repo, name, [blob]).like(blob, newest.state)
    return found.score(metric_of(settings.evaluation)) if found else None


def from_notes(repo: Repository, blob: str) -> list[Known]:
    """What `eval` left on a document, newest first; of equal tasks and target only the newest."""
    found: dict[tuple[object, ...], Known] = {}
    for fact in reversed(read_notes(repo, blob)):
        one = _noted(blob, fact)
        if one is not None:
            found.setdefault((one.split, one.digest, one.target, repr(one.settings)), one)
    return list(found.values())


def decimal(number: Fraction | None) -> float | None:
    """A score as `--json` gives it."""
    return None if number is None else round(float(number), 6)


def _is_of(known: Known, then: RunState) -> bool:
    """Whether it is of the tasks and the target that a run's state names."""
    return (known.digest, {"name": known.target, "settings": known.settings}) == (then.val, then.target)


def _newest_state(repo: Repository, name: str) -> RunState | None:
    """Where the newest run stands; None where there is none, or it cannot be read."""
    for run, tip in history.runs(repo, name)[-1:]:
        stop = next(walk(repo, run, tip), None)
        blob = stop.files(repo).get("state.json") if stop else None
        try:
            return load(RunState, repo.objects.read_blob(blob) if blob else None, tip)
        except RefusedError:
            return None
    return None


def _search(repo: Repository, name: str, blobs: tuple[str, ...]) -> Iterator[Known]:
    """Measurements of the documents in all journals, newest first."""
    wanted = {blob: (f'"document": "{blob}"'.encode(), f'"{blob}":'.encode()) for blob in blobs}
    for run, tip in reversed(history.runs(repo, name)) if blobs else ():
        try:
            for stop in walk(repo, run, tip):
                yield from _entry(repo, stop, wanted)
        except (RefusedError, MeasurementError):
            continue  # a journal that cannot be read tells nothing


def _entry(repo: Repository, stop: Stop, wanted: Mapping[str, tuple[bytes, bytes]]) -> Iterator[Known]:
    """What one entry measured. Only files that name a document are parsed."""
    files = stop.files(repo)
    step, state, kept = (files.get(name) for name in ("step.json", "state.json", "scores.json"))
    if step is None or state is None:
        return
    data = repo.objects.read_blob(step)
    found: dict[str, Measurement] = {}
    if any(mark in data for mark, _ in wanted.values()):
        found = {blob: m for blob, m in _measured(load(StepRecord, data, stop.commit)) if blob in wanted}
    # Where a run begins or measures anew, the best document is measured beside the entry's own.
    if kept is not None and stop.decision not in _STEPS and stop.decision != "end":
        data = repo.objects.read_blob(kept)
        for blob in [blob for blob, (_, mark) in wanted.items() if mark in data and blob not in found]:
            found[blob] = scores.decode(_kept(data, blob))
    if not found:
        return
    then = load(RunState, repo.objects.read_blob(state), stop.commit)
    for blob, measurement in found.items():
        one = _from_journal(blob, measurement, then, stop)
        if one is not None:
            yield one


def _kept(data: bytes, blob: str) -> dict[str, Any]:
    """A document's scores in `scores.json`; none where the file is not as we write it."""
    try:
        found = json.loads(data)[blob]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _measured(record: StepRecord) -> Iterator[tuple[str, Measurement]]:
    """The documents that an entry has all val scores of: an early rejection has only some."""
    own = {key: getattr(record, key) for key in ("document", "scores", "val_tasks", "maximum", "decision")}
    for part in (own, *(other for other in record.others if isinstance(other, dict))):
        values, decided = part.get("scores"), part.get("maximum") is None and part.get("decision") != "indecisive"
        if isinstance(values, dict) and values and decided and len(values) == part.get("val_tasks"):
            yield str(part.get("document")), scores.decode(values)


def _from_journal(blob: str, measurement: Measurement, state: RunState, stop: Stop) -> Known | None:
    hard, soft = scores.mean(measurement, scores.HARD), scores.mean(measurement, scores.SOFT)
    if hard is None or soft is None:
        return None
    return Known(
        blob=blob,
        split="val",
        digest=state.val,
        target=str(state.target.get("name", "")),
        settings=dict(state.target.get("settings") or {}),
        hard=hard,
        soft=soft,
        tasks=len(measurement),
        errors=_errors(measurement),
        measurement=measurement,
        run=stop.run,
        step=state.step,
    )


def _noted(blob: str, fact: Mapping[str, Any]) -> Known | None:
    """A note's line as a measurement; None where it is none. Whoever can push can write notes."""
    split = next((s for s in SPLITS if s == fact.get("split")), None)
    if fact.get("kind") != "score" or split is None:
        return None
    try:
        hard, soft, tasks = forms.score(fact["hard"]), forms.score(fact["soft"]), int(fact["tasks"])
        settings = dict(fact["settings"]) if "settings" in fact else None
        errors = int(fact.get("errors", 0))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if tasks <= 0 or not isinstance(fact.get("scores", {}), dict):
        return None
    measurement = _by_task(fact)
    if measurement is not None and not _agrees(measurement, tasks, hard, soft):
        measurement = None
    return Known(
        blob=blob,
        split=split,
        digest=str(fact.get("digest", "")),
        target=str(fact.get("target", "")),
        settings=settings,
        hard=hard,
        soft=soft,
        tasks=tasks,
        errors=errors,
        measurement=measurement,
        at=str(fact.get("at", "")),
    )


def _by_task(fact: Mapping[str, Any]) -> Measurement | None:
    """A note's scores by task; None where it has none that can be read."""
    try:
        return scores.decode(fact["scores"])
    except (KeyError, MeasurementError):
        return None


def _agrees(measurement: Measurement, tasks: int, hard: Fraction, soft: Fraction) -> bool:
    """Whether scores by task are those that the means were made of."""
    means = scores.mean(measurement, scores.HARD), scores.mean(measurement, scores.SOFT)
    return len(measurement) == tasks and means == (hard, soft)


def _errors(measurement: Measurement) -> int:
    return sum(trial is None for trials in measurement.values() for trial in trials)
