"""What commands tell of a skill's past and present, read from refs and journals alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from skillgit.config import SkillSettings
from skillgit.store.merging import best_path
from skillgit.store.refs import HEADS, SkillRefs, parse_rejected
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.documents import blob_at
from skillgit.train.archive.history import known_score
from skillgit.train.archive.journal import Journal, StepRecord, exact_number


@dataclass(frozen=True, slots=True)
class Entry:
    """A step of a run, or another entry of its journal, with the commit that it left behind."""

    run: str
    record: StepRecord

    @property
    def commit(self) -> str | None:
        """The candidate's last commit."""
        return self.record.commits[-1] if self.record.commits else None

    @property
    def score(self) -> Fraction | None:
        """Over all val tasks; None on an early rejection."""
        return exact_number(self.record.score)

    @property
    def delta(self) -> Fraction | None:
        """Score minus the incumbent's."""
        before = exact_number(self.record.before)
        return None if self.score is None or before is None else self.score - before

    @property
    def others(self) -> list[Entry]:
        """The step's other measured candidates, without costs of their own."""
        known = {f.name for f in fields(StepRecord)}
        parts = ({key: value for key, value in part.items() if key in known} for part in self.record.others)
        return [Entry(self.run, StepRecord(**part)) for part in parts]

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
            "score": _decimal(record.score),
            "score_max": _decimal(record.maximum),
            "before": _decimal(record.before),
            "best": _decimal(record.best),
            "learning_rate": record.learning_rate,
            "edits": record.edits,
            "commits": record.commits,
            "document": record.document,
            "parent": record.came_from,
            "gained": record.gained,
            "lost": record.lost,
            "cost": {key: record.cost.get(key) for key in ("calls", "tokens", "usd")},
            "models": record.models,
            "others": [other.to_json() for other in self.others],
        }


def steps(repo: Repository, name: str) -> Iterator[Entry]:
    """Every step of every run, newest first."""
    for run, tip in reversed(history.runs(repo, name)):
        for _, record in history.entries(repo, tip):
            yield Entry(run, record)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected candidate: its ref, its commit, and the record of it, where the journal is here."""

    ref: str
    commit: str
    run: str
    step: int
    candidate: int
    entry: Entry | None


def rejected(repo: Repository, name: str) -> list[Rejected]:
    """The rejected buffer: the newest step first, its candidates in order."""
    known = {}
    for entry in steps(repo, name):
        for one in (entry, *entry.others):
            if one.record.decision == "reject":
                known[one.run, one.record.step, one.record.candidate] = one
    found = []
    for ref, commit in repo.list_refs(SkillRefs(name).rejected_prefix).items():
        parts = parse_rejected(ref)
        if parts is not None:
            place = parts.run, parts.step, parts.k
            found.append(Rejected(ref, commit, *place, known.get(place)))
    return sorted(sorted(found, key=lambda r: r.candidate), key=lambda r: (r.run, r.step), reverse=True)


@dataclass(frozen=True, slots=True)
class Status:
    """Where a skill stands. Scores are the gate metric on val; None where nothing was measured.

    Args:
        run: the newest run; so are the other `run_` fields and `running`.
        accepted: candidates, in `accepted_run`: the newest run that took steps, else the newest.
        rejected: candidates that refs keep, of all runs.
    """

    name: str
    document: str
    branch: str | None
    best: str | None
    best_score: Fraction | None
    base: str
    base_commit: str | None
    merged: bool
    unmeasured_base: bool
    unmeasured_commits: int
    run: str | None
    run_step: int
    run_steps: int
    running: bool
    run_reason: str
    accepted: int
    accepted_run: str | None
    rejected: int

    def to_json(self) -> dict[str, Any]:
        """Stable keys; the score as a decimal."""
        found: dict[str, Any] = {key: getattr(self, key) for key in Status.__slots__}
        found["best_score"] = None if self.best_score is None else round(float(self.best_score), 6)
        return found


def status(repo: Repository, name: str, settings: SkillSettings) -> Status:
    """Read where a skill stands; measures nothing."""
    refs, path = SkillRefs(name), settings.document
    branch, best = repo.read_ref(refs.branch), repo.read_ref(refs.best)
    base = settings.merge.into or (repo.head_branch() or "HEAD").removeprefix(HEADS)
    base_commit = repo.resolve(f"refs/heads/{base}" if base != "HEAD" else base)
    last = history.latest(repo, name)
    worked = history.latest_with_steps(repo, name) or last
    best_blob = blob_at(repo, best, path) if best else None
    on_base = blob_at(repo, base_commit, path) if base_commit else None
    copy = blob_at(repo, base_commit, best_path(path)) if base_commit else None
    return Status(
        name=name,
        document=path,
        branch=branch,
        best=best,
        best_score=known_score(last, best_blob, settings) if best_blob else None,
        base=base,
        base_commit=base_commit,
        merged=best_blob is not None and on_base == best_blob and _holds(repo, base_commit, best, copy, best_blob),
        unmeasured_base=copy is not None and on_base != copy,
        unmeasured_commits=_people_commits(repo, branch, last),
        run=last.info.run if last else None,
        run_step=last.state.step if last else 0,
        run_steps=last.info.total_steps if last else 0,
        running=last is not None and last.state.status == "running",
        run_reason=last.state.reason if last else "",
        accepted=worked.state.accepted_count if worked else 0,
        accepted_run=worked.info.run if worked else None,
        rejected=len(repo.list_refs(refs.rejected_prefix)),
    )


def _holds(repo: Repository, base: str | None, best: str | None, copy: str | None, best_blob: str) -> bool:
    """Whether the base has the best document: as best_skill.md, or because training began from there."""
    return copy == best_blob or bool(base and best and repo.objects.is_ancestor(best, base))


def _people_commits(repo: Repository, branch: str | None, last: Journal | None) -> int:
    """Commits on the branch that no run has measured yet."""
    if branch is None or last is None or branch == last.state.tip:
        return 0
    count = 0
    for info in repo.objects.first_parents(branch, last.state.tip):
        if info.oid == last.state.tip:
            break
        count += 1
    return count


def _decimal(text: str | None) -> float | None:
    number = exact_number(text)
    return None if number is None else round(float(number), 6)
