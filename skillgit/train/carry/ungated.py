"""Changes that a person makes without the gate: no model is asked, and what was not measured has no score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError, UnfitChangeError
from skillgit.store.clones import clone_id
from skillgit.store.locks import SkillLock
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import documents, history, taken_back
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import Journal, RunState, StepRecord, exact_text
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.messages import Place
from skillgit.train.archive.record import Joined, Moves, write_candidate, write_step
from skillgit.train.carry.change import FIRST
from skillgit.train.events import Listener
from skillgit.train.gate.settling import edit_rows
from skillgit.train.propose.candidate import Candidate
from skillgit.train.run import comparable
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Measurement, metric_of
from skillgit.train.start import BY_HAND, mint, prepare


@dataclass(frozen=True, slots=True)
class Shelf:
    """A skill's history, opened for changes that need no models. The lock is held.

    Args:
        last: the newest journal. branch: where the branch is, which may have people's commits on top; None: gone.
    """

    repo: Repository
    refs: SkillRefs
    settings: SkillSettings
    lock: SkillLock
    last: Journal
    branch: str | None

    @classmethod
    def open(cls, repo: Repository, name: str, settings: SkillSettings, lock: SkillLock, tell: Listener) -> Shelf:
        """Bring what was begun to its end, and see that the branch can be moved.

        Raises:
            RefusedError: nothing was trained yet, or the branch cannot be moved.
        """
        repo.identity()
        refs = SkillRefs(name)
        last = prepare(repo, name, lock, tell)
        if last is None:
            raise RefusedError(f"{name} was not trained yet", mend=f"run `skillgit train {name}` first")
        if last.info.document != settings.document:
            raise RefusedError(
                f"{name} was trained as {last.info.document}, and skillgit.yaml says {settings.document}",
                mend=f"run `skillgit train {name}` first",
            )
        return cls(repo, refs, settings, lock, last, repo.read_ref(refs.branch))

    @property
    def tip(self) -> str:
        """What the change goes on top of."""
        return self.branch or self.last.state.tip

    def document(self) -> Placed:
        """The document at the tip."""
        return documents.read_editable(self.repo, self.tip, self.last.info.document)


def put(shelf: Shelf, kind: str, built: Candidate, reason: str, *, joined: Joined | None = None) -> StepRecord:
    """Commit a change on the branch. Its document becomes the best one: a person has said so.

    Where the run has measured that very document, on the val tasks that its scores are of, the entry has its score.
    What was taken out or brought back is noted.

    Raises:
        RefusedError: nothing changes. RefMovedError: somebody moved the branch.
    """
    repo, before = shelf.repo, shelf.document()
    blob = repo.objects.write_blob(built.document.encode())
    if blob == before.blob and joined is None:
        raise UnfitChangeError(f"{shelf.last.info.document}: that would change nothing")
    home = shelf if history.is_own(repo, shelf.last) else replace(shelf, last=_own_run(shelf, before))
    last = home.last
    place = Place(last.info.skill, last.info.run, last.state.step, last.state.epoch)
    verdict = [("Skill-Decision", "forced")]
    commits = write_candidate(
        repo, last.info.document, shelf.tip, before, built.applied, place, verdict, kind=kind, joined=joined
    )
    record = StepRecord(
        kind=kind,
        step=last.state.step,
        epoch=last.state.epoch,
        decision="forced",
        reason=reason,
        document=blob,
        document_before=before.blob,
        edits=edit_rows(built),
        commits=commits,
        candidate=history.free_number(repo, last.commit, last.state.step, shelf.settings.optimizer.proposals + FIRST),
    )
    record.cost, record.models = {"calls": 0, "tokens": 0, "usd": None, "rows": []}, {}
    kept = _scored(shelf, record)
    _write(home, _after(last.state, record), record, kept)
    taken_back.keep(repo, last.info.skill, last.info.document, record)
    return record


def _own_run(shelf: Shelf, before: Placed) -> Journal:
    """Begin a run of this clone, and end it: the newest one is another clone's, and its journal may go on there."""
    repo, last, tip = shelf.repo, shelf.last, shelf.tip
    info = replace(last.info, run=mint(repo, last.info.skill), clone=clone_id(repo))
    state = RunState(
        tip=tip,
        incumbent=before.blob,
        best=last.state.best,
        best_commit=last.state.best_commit,
        val=last.state.val,
        target=last.state.target,
        status="finished",
        reason=BY_HAND,
    )
    record = StepRecord("baseline", 0, 1, "baseline", BY_HAND, document=before.blob, document_before=before.blob)
    record.cost, record.models = {"calls": 0, "tokens": 0, "usd": None, "rows": []}, {}
    kept = _scored(shelf, record)
    moves = Moves()
    moves.add(shelf.refs.branch, shelf.branch, tip)
    commit = write_step(
        shelf, shelf.lock, info, state, record, kept, previous=None, keeps=[tip], moves=moves, evidence={}
    )
    return read_journal(repo, commit)


def _after(state: RunState, record: StepRecord) -> RunState:
    tip = record.commits[-1]
    return replace(
        state,
        tip=tip,
        incumbent=record.document,
        best=record.document,
        best_commit=tip,
        accepted_count=state.accepted_count + 1,
        pool=[record.document] if state.pool else [],
    )


def _scored(shelf: Shelf, record: StepRecord) -> dict[str, Any]:
    """The scores that the journal keeps from now on: those of the new document, where they are known."""
    known = comparable(shelf.last.scores, record.document) or _earlier(shelf, record.document)
    if known is None:
        return {}
    metric = metric_of(shelf.settings.evaluation)
    record.score = record.best = exact_text(scores.mean(known, metric))
    record.score_hard = exact_text(scores.mean(known, scores.HARD))
    record.score_soft = exact_text(scores.mean(known, scores.SOFT))
    record.prefix = record.val_tasks = len(known)
    record.scores = scores.encode(known)
    return {record.document: record.scores}


def _earlier(shelf: Shelf, blob: str) -> Measurement | None:
    """What the run measured of a document, as far as that compares with its scores of now."""
    for _, record in history.entries(shelf.repo, shelf.last.commit):
        if record.document == blob and record.scores and record.score is not None:
            return scores.decode(record.scores)
        if record.kind in ("baseline", "remeasure"):
            break  # what is older was measured on other tasks, or with another target
    return None


def _write(shelf: Shelf, state: RunState, record: StepRecord, kept: Mapping[str, Any]) -> None:
    repo, refs = shelf.repo, shelf.refs
    moves = Moves()
    moves.add(refs.branch, shelf.branch, state.tip)
    moves.add(refs.best, repo.read_ref(refs.best), state.tip)
    write_step(
        shelf,
        shelf.lock,
        shelf.last.info,
        state,
        record,
        kept,
        previous=shelf.last.commit,
        keeps=[state.tip],
        moves=moves,
        evidence={},
    )
