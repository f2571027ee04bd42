"""`skillgit gate --calibrate`: measure the noise of val on one document, remember it, and warn below it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from typing import Any

from skillgit.config import EvaluationSettings
from skillgit.errors import ConfigError, MeasurementError, RepositoryError
from skillgit.store.notes import add_note, read_notes
from skillgit.store.repository import Repository
from skillgit.train.archive import documents
from skillgit.train.events import StageStarted
from skillgit.train.gate import gate_settings
from skillgit.train.gate.noise import NOISE_Z, Noise, analyse, split_trials
from skillgit.train.scoring import scores
from skillgit.train.scoring.measure import measure_all
from skillgit.train.scoring.scores import metric_of
from skillgit.train.session import Session

TRIALS = 4
KIND = "calibration"
_RECENT = 64
"""Commits of the training branch whose documents are looked at for a calibration."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is remembered of the noise of val, on the blob of the document that was measured.

    Args:
        val: the `Skill-Val` digest. target: its name and settings. metric: as `Skill-Gate` writes it.
        error, median_error: standard errors of the difference between two measurements (`noise.Noise`), 0..1.
    """

    val: str
    target: Mapping[str, Any]
    metric: str
    tasks: int
    trials: int
    mean: Fraction
    deviation: float
    error: float
    median_error: float
    noisy: int

    @property
    def floor(self) -> float:
        """The difference that noise alone exceeds in one of twenty comparisons, 0..1."""
        return NOISE_Z * self.error

    @property
    def blind(self) -> str:
        """`0.0%` or `100.0%` where every attempt has that score, empty elsewhere.

        A document that solves no task, or all of them, hides noise that one in between would show.
        """
        return f"{float(100 * self.mean):.1f}%" if self.mean in (0, 1) and not self.noisy else ""

    def fact(self, at: datetime) -> dict[str, Any]:
        """One line of the notes on the document's blob."""
        return {
            "kind": KIND,
            "val": self.val,
            "target": self.target["name"],
            "settings": dict(self.target["settings"]),
            "metric": self.metric,
            "tasks": self.tasks,
            "trials": self.trials,
            "mean": f"{self.mean.numerator}/{self.mean.denominator}",
            "deviation": round(self.deviation, 9),
            "error": round(self.error, 9),
            "median_error": round(self.median_error, 9),
            "noisy": self.noisy,
            "at": at.isoformat(timespec="seconds"),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A calibration with all that was seen. `errors` counts attempts without a score."""

    commit: str
    blob: str
    errors: int
    repeats: int
    calibration: Calibration
    noise: Noise


def resolve(session: Session, rev: str | None) -> str:
    """The revision to calibrate on: as given, else the training branch, else the base.

    Raises:
        RepositoryError: there is no such commit.
    """
    candidates = [rev] if rev else [session.refs.branch, session.settings.merge.into or "HEAD"]
    for candidate in candidates:
        commit = session.repo.resolve(candidate)
        if commit is not None:
            return commit
    raise RepositoryError(f"{candidates[-1]}: no such revision", mend="name a commit, a branch or a tag")


async def calibrate(session: Session, commit: str, *, trials: int = TRIALS) -> Report:
    """Measure the document of a commit `trials` times on val, `repeats` attempts per task each, all of them distinct.

    The first measurement is the one that the gate makes of the document: where it is in the cache, it costs nothing.

    Raises:
        ConfigError: val has no tasks, or a gate plugin cannot be loaded. MeasurementError: too many attempts failed.
    """
    settings, gate = session.settings.evaluation, gate_settings(session.settings.evaluation)
    placed = documents.read(session.repo, commit, session.settings.document)
    tasks, attempts = session.val, trials * settings.repeats
    if not tasks:
        raise ConfigError(f"{session.settings.env}: the val split has no tasks", mend="add tasks to val")
    session.tell(StageStarted(0, 0, "val", len(tasks) * attempts))
    measurement, rollouts = await measure_all(
        session.roller("val"), placed.text, placed.blob, tasks, attempts, session.tell
    )
    errors = [rollout.error for rollout in rollouts if rollout.error is not None]
    if scores.coverage(measurement) < Fraction(settings.min_coverage).limit_denominator(10**6):
        raise MeasurementError(
            f"{len(errors)} of {len(rollouts)} attempts failed; the last: {errors[-1]}",
            mend="mend it and run the same command again",
        )
    metric = metric_of(settings)
    noise = analyse(split_trials(scores.by_metric(measurement, metric), settings.repeats), gate)
    found = Calibration(
        val=session.val_digest,
        target=session.target_identity,
        metric=str(metric),
        tasks=noise.tasks,
        trials=noise.trials,
        mean=noise.mean,
        deviation=noise.deviation,
        error=noise.error,
        median_error=noise.median_error,
        noisy=len(noise.flips),
    )
    return Report(commit, placed.blob, len(errors), settings.repeats, found, noise)


def remember(session: Session, report: Report) -> None:
    """Add the calibration to the notes on the document's blob."""
    add_note(session.repo, report.blob, report.calibration.fact(datetime.now(UTC)))


def known(repo: Repository, blob: str, val_digest: str, target: Mapping[str, Any]) -> Calibration | None:
    """The newest calibration on a document's blob that was made on this val with this target.

    Args:
        target: `Session.target_identity`; settings such as the temperature change the noise.
    """
    for fact in reversed(read_notes(repo, blob)):
        found = _read(fact)
        if found is not None and found.val == val_digest and dict(found.target) == dict(target):
            return found
    return None


def find(session: Session) -> Calibration | None:
    """A calibration that holds for the skill as it is set now: on any document that it has, or lately had.

    The noise belongs to val and target more than to one document. The best, the tip and the base are asked first, then
    the branch's history. One that could not see noise counts where there is no other.
    """
    blind = None
    for blob in dict.fromkeys(_recent_blobs(session)):
        found = known(session.repo, blob, session.val_digest, session.target_identity)
        if found is None or found.metric != str(metric_of(session.settings.evaluation)):
            continue
        if not found.blind:
            return found
        blind = blind or found
    return blind


def warning(calibration: Calibration, settings: EvaluationSettings) -> str | None:
    """What to say where the configured gate accepts leads that noise alone makes, or where a gate that does not look at
    noise was calibrated on a document that shows none; None where all is well.

    Nothing is said of plugins, nor where the calibration is of another metric.
    """
    if calibration.metric != str(metric_of(settings)) or not settings.use_gate:
        return None
    tasks, mode = calibration.tasks, settings.gate_mode
    if mode == "paired":
        if settings.z >= NOISE_Z or not (calibration.error or calibration.blind):
            return None
        return f"the paired gate asks for {settings.z:g} standard errors, and noise alone reaches that; set z: 2"
    if mode not in ("strict", "margin"):
        return None
    if calibration.blind:
        return f"the {mode} gate does not look at noise, and {unseen(calibration)}"
    error = calibration.error if mode == "strict" else calibration.median_error
    lead = settings.epsilon if mode == "margin" else 0.0
    if settings.gate_metric == "hard":  # scores of whole attempts: leads come in steps
        step = 1 / (tasks * settings.repeats)
        lead = (math.floor(round(lead / step, 6)) + 1) * step
    if not error or lead >= NOISE_Z * error:
        return None
    return (
        f"val is noisy: two measurements of one document differ by {100 * NOISE_Z * error:.1f} points in one of twenty "
        f"comparisons ({calibration.trials} trials of {tasks} tasks), and the {mode} gate accepts "
        f"{f'{100 * lead:.1f} points' if lead else 'any lead'}; use gate_mode: paired, more val tasks or more repeats"
    )


def unseen(calibration: Calibration) -> str:
    """Why a calibration with no noise (`Calibration.blind`) is no sign that there is none."""
    return (
        f"noise cannot be seen on the calibrated document, where every val task scores {calibration.blind} in all "
        f"{calibration.trials} trials; calibrate again after an acceptance, or on another document (--rev)"
    )


def _recent_blobs(session: Session) -> Iterator[str]:
    repo, path = session.repo, session.settings.document
    tips = [session.refs.best, session.refs.branch, session.settings.merge.into or "HEAD"]
    commits = [commit for tip in tips if (commit := repo.resolve(tip)) is not None]
    for commit in commits:
        yield from filter(None, [documents.blob_at(repo, commit, path)])
    branch = repo.read_ref(session.refs.branch)
    for info in islice(repo.objects.first_parents(branch), _RECENT) if branch else ():
        yield from filter(None, [documents.blob_at(repo, info.oid, path)])


def _read(fact: Mapping[str, Any]) -> Calibration | None:
    """A note's line as a calibration; None where it is none. Whoever can push can write notes."""
    if fact.get("kind") != KIND:
        return None
    try:
        found = Calibration(
            val=str(fact["val"]),
            target={"name": str(fact["target"]), "settings": dict(fact["settings"])},
            metric=str(fact["metric"]),
            tasks=int(fact["tasks"]),
            trials=int(fact["trials"]),
            mean=Fraction(fact["mean"]),
            deviation=float(fact["deviation"]),
            error=float(fact["error"]),
            median_error=float(fact["median_error"]),
            noisy=int(fact["noisy"]),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    shares = (found.mean, found.deviation, found.error, found.median_error)
    sane = found.tasks > 0 and found.trials > 1 and all(math.isfinite(share) and 0 <= share <= 1 for share in shares)
    return found if sane else None
