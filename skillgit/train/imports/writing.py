"""An imported run as commits, refs and a journal: the objects first, then one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from skillgit.redact import redact_json
from skillgit.store.locks import SkillLock
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs
from skillgit.train.archive.documents import Placed, replaced
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, exact_text, to_files
from skillgit.train.archive.layout import SUBJECT
from skillgit.train.archive.messages import Place, edit_message, epoch_message, plain_message, verdict_trailers
from skillgit.train.archive.record import tree_of
from skillgit.train.imports.values import Entry, ImportedRun, Scored
from skillgit.train.propose.candidate import EditOutcome
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Measurement, Trial

KIND = "import"
ALL_VAL = "(all of val)"
"""The one task that a score stands under where the folder has no scores by task."""
_SHOWN = ("step", "baseline", "slow-update")


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a run is written to.

    Args:
        base: the commit that the branch starts at. placed: the document there. path: of the document.
    """

    name: str
    run: str
    base: str
    path: str
    placed: Placed


@dataclass(slots=True)
class Written:
    """Objects that are written and refs that will move; the journal's entries are not a part of `updates`."""

    journal: str
    state: RunState
    updates: list[RefUpdate] = field(default_factory=list)


def write(repo: Repository, lock: SkillLock, goal: Goal, run: ImportedRun) -> RunState:
    """Write it all, and move the refs: all or none.

    Returns: the state that the run ends with.

    Raises:
        RefMovedError: one of the refs is there already; nothing moved.
    """
    writer = _Writer(repo, goal, run)
    writer.begin()
    for entry in run.entries:
        writer.add(entry)
    done = writer.end()
    journal = RefUpdate(SkillRefs(goal.name).journal(goal.run), None, done.journal)
    commit_refs(repo, [journal, *done.updates], f"skillgit: import {run.name}", lock=lock)
    return done.state


class _Writer:
    """Writes entry by entry; moves no ref."""

    def __init__(self, repo: Repository, goal: Goal, run: ImportedRun) -> None:
        self._repo, self._goal, self._run = repo, goal, run
        self._refs = SkillRefs(goal.name)
        self._val = f"skillopt:{run.digest}"
        self._info = RunInfo(
            goal.run,
            goal.name,
            goal.path,
            goal.base,
            {"import": {"trainer": "skillopt", "digest": run.digest, "folder": run.name, "settings": run.settings}},
            run.total_steps,
        )
        self._journal: str | None = None
        self._records: list[StepRecord] = []
        self._measured: dict[str, Measurement] = {}
        self._best: Scored | None = run.baseline
        self._rejected: list[RefUpdate] = []
        self._tags: list[RefUpdate] = []
        target = {"name": run.models["target"], "settings": {"trainer": "skillopt"}}
        blob = goal.placed.blob
        self._state = RunState(goal.base, blob, blob, goal.base, self._val, target, status="running")

    def begin(self) -> None:
        """Step 0: the document that the run began with, as a commit where the base has another one."""
        run, state, when = self._run, self._state, self._run.started
        record = StepRecord(
            "baseline", 0, 1, "baseline", "the document that SkillOpt began with", state.incumbent, state.incumbent
        )
        record.models = run.models
        if run.initial is not None and run.initial != self._goal.placed.text:
            tree, record.document = replaced(
                self._repo, state.tip, self._goal.path, run.initial, self._goal.placed.mode
            )
            trailers = self._verdict(record, run.baseline, "baseline") if run.baseline else []
            why = f"The first document of the SkillOpt run {run.name}."
            message = plain_message(self._place(0, 1), KIND, "bring in SkillOpt's first document", why, trailers)
            self._state.tip = self._repo.objects.write_commit(tree, [state.tip], message, when=when)
            record.commits = [self._state.tip]
        elif run.baseline:
            self._score(record, run.baseline)
        state.incumbent = state.best = record.document
        state.best_commit = state.tip
        self._remember(record.document, run.baseline)
        self._write(record, [state.tip], when)

    def add(self, entry: Entry) -> None:
        """One entry: its commits, its refs, its place in the journal."""
        state = self._state = replace(self._state, step=entry.step, epoch=entry.epoch)
        record = self._record(entry)
        if entry.text is not None:
            record.document = self._repo.objects.write_blob(entry.text.encode())
            record.commits = self._commits(entry, record)
        if record.commits and entry.moves:
            state.tip, state.incumbent = record.commits[-1], record.document
            self._remember(record.document, entry.scored)
        state.accepted_count += entry.accepted
        if entry.decision == "reject":
            state.rejected_count += 1
            ref = self._refs.rejected(self._goal.run, entry.step, entry.candidate)
            self._rejected.append(self._creates(record, ref, record.commits[-1]))
        if entry.best:
            state.best, state.best_commit, self._best = state.incumbent, state.tip, entry.scored
        if entry.closes:
            self._tag(entry, record)
        self._write(record, record.commits[-1:], entry.when)

    def end(self) -> Written:
        """The last entry: the run is finished. A crash is rolled forward from it, so it lists all that moves but the
        tags, which are told from the state of the entry that lists them, and which `doctor --repair` can make again."""
        state, refs = self._state, self._refs
        upto = f", up to step {self._run.steps} of {self._run.total_steps}"
        whole = self._run.steps == self._run.total_steps
        state.status = "finished"
        state.reason = f"imported from the SkillOpt run {self._run.name}{'' if whole else upto}"
        record = StepRecord("end", state.step, state.epoch, "end", state.reason, state.incumbent, state.incumbent)
        moves = [self._creates(record, refs.branch, state.tip), self._creates(record, refs.best, state.best_commit)]
        moves += [self._creates(record, update.ref, str(update.new)) for update in self._rejected]
        self._write(record, [], None)
        if self._journal is None:
            raise AssertionError("an entry was written")
        return Written(self._journal, state, [*moves, *self._tags])

    def _record(self, entry: Entry) -> StepRecord:
        incumbent = self._state.incumbent
        record = StepRecord(
            entry.kind, entry.step, entry.epoch, entry.decision, entry.reason, incumbent, incumbent, entry.learning_rate
        )
        record.before, record.gained, record.lost = exact_text(entry.before), entry.gained, entry.lost
        record.edits = redact_json([_row(outcome) for outcome in entry.outcomes])
        record.candidate, record.batch = entry.candidate, scores.encode(entry.batch)
        record.cost, record.models = entry.cost, self._run.models
        return record

    def _commits(self, entry: Entry, record: StepRecord) -> list[str]:
        """A candidate's commits, with the original time; one that no edit made is a commit without edits."""
        trailers = self._verdict(record, entry.scored, entry.decision) if entry.scored or entry.accepted else []
        place, applied = self._place(entry.step, entry.epoch), [o for o in entry.outcomes if o.status == "applied"]
        tip, commits = self._state.tip, list[str]()
        for number, outcome in enumerate(applied, start=1):
            last = trailers if number == len(applied) else []
            message = edit_message(place, number, len(applied), outcome, last, kind=KIND)
            tip = self._commit(outcome.document, tip, message, entry.when)
            commits.append(tip)
        if applied or entry.text is None:
            return commits
        why = "SkillOpt went on with this document, which its gate did not see."
        message = plain_message(place, KIND, entry.reason, why, trailers)
        return [self._commit(entry.text, tip, message, entry.when)]

    def _commit(self, text: str, tip: str, message: str, when: datetime) -> str:
        tree, _ = replaced(self._repo, tip, self._goal.path, text, self._goal.placed.mode)
        return self._repo.objects.write_commit(tree, [tip], message, when=when)

    def _verdict(self, record: StepRecord, scored: Scored | None, decision: str) -> list[tuple[str, str]]:
        """The trailers of a decision; what is not known is left out."""
        if scored is not None:
            self._score(record, scored)
        tasks = f" n={record.val_tasks} repeats=1" if record.val_tasks else ""
        found = verdict_trailers(record, gate=f"{self._run.gate}{tasks}", val=self._val)
        if decision in ("baseline", KIND):  # nothing was decided, and nothing spent
            return [pair for pair in found if pair[0] not in ("Skill-Decision", "Skill-Gate", "Skill-Cost")]
        if scored is None:
            return [pair for pair in found if pair[0] in ("Skill-Decision", "Skill-Blob", "Skill-Optimizer")]
        return found

    def _score(self, record: StepRecord, scored: Scored) -> None:
        record.score, record.score_hard = exact_text(scored.score), exact_text(scored.hard)
        record.score_soft = exact_text(scored.soft)
        record.scores = scores.encode(scored.tasks or {})
        record.val_tasks = record.prefix = len(scored.tasks or {})

    def _remember(self, blob: str, scored: Scored | None) -> None:
        if scored is not None:
            self._measured[blob] = scored.tasks or {ALL_VAL: (Trial(scored.hard, scored.soft),)}

    def _tag(self, entry: Entry, record: StepRecord) -> None:
        """The epoch's annotated tag."""
        shown = [r for r in (*self._records, record) if r.epoch == entry.epoch and r.kind in _SHOWN]
        best = self._best.score if self._best else None
        message = epoch_message(self._place(entry.step, entry.epoch), shown, self._state, best)
        ref = self._refs.epoch_tag(self._goal.run, entry.epoch)
        tag = self._repo.objects.write_tag(ref, self._state.tip, message, when=entry.when)
        self._tags.append(self._creates(record, ref, tag))
        self._state = replace(self._state, previous=self._state.incumbent)

    @staticmethod
    def _creates(record: StepRecord, ref: str, new: str) -> RefUpdate:
        """A ref that comes to be, as the record lists it."""
        record.refs.append([ref, None, new])
        return RefUpdate(ref, None, new)

    def _write(self, record: StepRecord, keeps: Sequence[str], when: datetime | None) -> None:
        """One journal commit on top of the last."""
        record.best = exact_text(self._best.score) if self._best else None
        state = self._state
        kept = {
            blob: scores.encode(self._measured[blob])
            for blob in (state.incumbent, state.best)
            if blob in self._measured
        }
        tree = tree_of(self._repo, to_files(self._info, state, record, kept))
        subject = f"{SUBJECT}{self._goal.name} step {record.step} {record.decision}\n"
        parents = dict.fromkeys([*([self._journal] if self._journal else []), *keeps])
        self._journal = self._repo.objects.write_commit(tree, list(parents), subject, when=when)
        self._records.append(record)

    def _place(self, step: int, epoch: int) -> Place:
        return Place(self._goal.name, self._goal.run, step, epoch)


def _row(outcome: EditOutcome) -> dict[str, Any]:
    """An edit and what became of it, as a record keeps it."""
    told = {"support": outcome.support, "source": outcome.source, "status": outcome.status, "why": outcome.reason}
    return {**asdict(outcome.edit), **told}
