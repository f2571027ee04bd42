"""A run in memory: its state, its scores, and the ways to move both forward in the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from skillgit.document import Edit
from skillgit.document.length import length
from skillgit.envs.contract import Task, exact
from skillgit.errors import MeasurementError, ModelError, SkillgitError
from skillgit.models.usage import Ledger
from skillgit.store.locks import SkillLock
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.history import entries, records
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, exact_number, exact_text
from skillgit.train.archive.layout import OPTIMIZER
from skillgit.train.archive.messages import Place, epoch_message
from skillgit.train.archive.record import Moves, keep_evidence, rollout_evidence, write_step
from skillgit.train.events import Note, StageStarted, StepFinished
from skillgit.train.propose.optimizer_calls import MOST_UNUSABLE, CallLog
from skillgit.train.propose.rules import Rules
from skillgit.train.schedule import epoch_batches
from skillgit.train.scoring import scores
from skillgit.train.scoring.measure import measure_all
from skillgit.train.scoring.scores import Measurement
from skillgit.train.session import Session
from skillgit.train.speculation import Guess
from skillgit.train.spend.stopping import out_of_patience

ALL_DONE = "all epochs are done"
"""The end of a run that nothing ended before."""


@dataclass(slots=True)
class Run:
    """A run between two steps.

    Args:
        journal: the journal's tip; None before step 0 is written.
        measured: val measurements by blob: the incumbent's and the best document's.
        patterns: what failures of this epoch had in common. memory: the meta memory. Both are the optimizer's text,
            so they live in the evidence and not in the journal.
        taken_back: edits that people took out.
        unusable, answered: as in the state, with the running step's calls. problem: what was wrong with the last reply
            that could not be used.
    """

    session: Session
    lock: SkillLock
    info: RunInfo
    state: RunState
    journal: str | None
    measured: dict[str, Measurement]
    patterns: list[str] = field(default_factory=list)
    memory: str = ""
    taken_back: tuple[Edit, ...] = ()
    unusable: int = 0
    answered: bool = False
    problem: str = ""
    evidence: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def steps_per_epoch(self) -> int:
        """As it was when the run began."""
        return int(self.info.settings["steps_per_epoch"])

    def epoch_of(self, step: int) -> int:
        """The epoch of a step, both from 1."""
        return (step - 1) // self.steps_per_epoch + 1

    def batch(self, step: int) -> list[Task]:
        """A step's train tasks, sorted by id: `accumulation` mini-batches of the epoch's seeded order."""
        chosen = self.session.settings.train
        tasks = {task.id: task for task in self.session.train}
        size = len(tasks) if chosen.one_shot else chosen.batch_size * chosen.accumulation
        batches = epoch_batches(list(tasks), size, chosen.seed, self.epoch_of(step))
        ids = batches[(step - 1) % self.steps_per_epoch % len(batches)]
        return [tasks[ident] for ident in sorted(ids)]

    @property
    def start_length(self) -> int:
        """Tokens of the document that the run began with."""
        return int(self.info.settings.get("start_length") or length(self.document().text))

    def records(self) -> list[StepRecord]:
        """The journal so far, oldest first."""
        return records(self.session.repo, self.journal) if self.journal else []

    def rules(self, before: str) -> Rules:
        """What a document that comes from another has to keep to."""
        return Rules(self.session.settings, before, self.start_length)

    def failed_before(self, blob: str) -> list[str]:
        """Train tasks that failed with this document in the run's last steps, the newest first."""
        found: dict[str, None] = {}
        for _, record in entries(self.session.repo, self.journal) if self.journal else ():
            if record.kind != "step":
                continue
            if record.came_from != blob:
                break  # what is older was of another document as well, and is not read
            for task, trials in scores.decode(record.batch).items():
                value = trials[0].value(self.session.metric) if trials and trials[0] else None
                if value is not None and value < 1:
                    found[task] = None
        return list(found)

    def told(self, epoch: int) -> list[str]:
        """The epoch's steps so far, a line each, for the optimizer."""
        return [
            f"step {r.step}: {len(r.commits)} edits, {r.decision}"
            for r in self.records()
            if r.epoch == epoch and r.kind == "step"
        ]

    def plan_ahead(self, step: int) -> None:
        """Name the step that may be rolled out ahead of time."""
        session = self.session
        wanted = session.speculates and step <= self.info.total_steps
        session.ahead.plan(self.batch(step) if wanted else ())

    def guess(self, guess: Guess, free: int | None = None) -> None:
        """Use free slots of the target for the planned step on the document that it will probably start from."""
        if self.session.speculates:
            roller = self.session.roller("rollout")
            self.session.ahead.fill(roller, roller.in_flight if free is None else free, guess)

    def place(self, step: int, epoch: int) -> Place:
        """What messages of a step say about themselves."""
        return Place(self.info.skill, self.info.run, step, epoch)

    def document(self) -> Placed:
        """The incumbent."""
        return documents.read(self.session.repo, self.state.tip, self.info.document)

    def score(self, blob: str) -> Fraction | None:
        """The gate metric of a measured document."""
        measurement = self.measured.get(blob)
        metric = self.session.metric
        return scores.mean(measurement, metric) if measurement is not None else None

    async def measure(self, placed: Placed, stage: str) -> None:
        """Measure a document on all val tasks, unless its scores are known.

        Raises:
            MeasurementError: too many val tasks have no score.
        """
        if placed.blob in self.measured:
            return
        session = self.session
        repeats = session.settings.evaluation.repeats
        total = len(session.val) * repeats
        session.tell(StageStarted(self.state.step, self.state.epoch, stage, total))
        guess = Guess(placed.text, placed.blob)
        measurement, rollouts = await measure_all(
            session.roller(stage),
            placed.text,
            placed.blob,
            session.val,
            repeats,
            session.tell,
            spare=lambda free, _: self.guess(guess, free),
        )
        if scores.coverage(measurement) < exact(session.settings.evaluation.min_coverage):
            failed = [r for r in rollouts if r.attempt is None]
            reason = f"{len(failed)} of {len(rollouts)} val attempts failed; the last: {failed[-1].error}"
            raise MeasurementError(reason, mend="mend it and run the same command again")
        self.measured[placed.blob] = measurement
        self.evidence.setdefault("val.jsonl", []).extend(rollout_evidence(rollouts, placed.blob))

    async def write(self, state: RunState, record: StepRecord, keeps: Sequence[str], moves: Moves) -> None:
        """Write a step and make `state` the run's state.

        Raises:
            RefMovedError: a ref was moved by somebody; the run is as before.
        """
        session = self.session
        if state.status == "finished":
            await session.ahead.close()  # the last entry counts what was still under way
        record.cost = session.cost()
        record.models = session.model_names
        record.best = exact_text(self.score(state.best))
        wanted = dict.fromkeys([state.incumbent, state.best, *state.pool])
        kept = {blob: scores.encode(self.measured[blob]) for blob in wanted if blob in self.measured}
        self.journal = write_step(
            session,
            self.lock,
            self.info,
            state,
            record,
            kept,
            previous=self.journal,
            keeps=keeps,
            moves=moves,
            evidence=self.evidence,
        )
        self.state = state
        self.measured = {blob: self.measured[blob] for blob in kept}
        self.evidence = {}
        session.ledger = Ledger()
        session.tell(_finished(record))

    def end_epoch(self, moves: Moves, record: StepRecord, state: RunState) -> None:
        """Bring the state to the next epoch, and queue the epoch's annotated tag."""
        self._tag(moves, record, state)
        state.closing, state.previous = False, state.incumbent
        state.epoch = record.epoch + (not state.reason)

    def _tag(self, moves: Moves, record: StepRecord, state: RunState) -> None:
        repo, refs = self.session.repo, self.session.refs
        ref = refs.epoch_tag(self.info.run, record.epoch)
        earlier = self.records()
        shown = [
            r for r in (*earlier, record) if r.epoch == record.epoch and r.kind in ("step", "baseline", "slow-update")
        ]
        record.best = exact_text(self.score(state.best))
        message = epoch_message(self.place(record.step, record.epoch), shown, state, exact_number(record.best))
        tag = repo.objects.write_tag(ref.removeprefix("refs/tags/"), state.tip, message)
        moves.add(ref, repo.read_ref(ref), tag)

    def end_reason(self, state: RunState) -> str | None:
        """Why the run ends in this state, None where it goes on: with the last epoch's end, where that is due."""
        measurement = self.measured[state.incumbent]
        if self.score(state.incumbent) == 1 and scores.coverage(measurement) == 1:
            return "val is at its ceiling"
        if state.idle >= self.steps_per_epoch:
            return "nothing fails on train any more"
        if patience := out_of_patience(state.barren, self.session.settings.train.patience):
            return patience
        return ALL_DONE if state.step >= self.info.total_steps and not state.closing else None

    def note_unusable(self, log: CallLog) -> None:
        """Say that replies could not be used; one that could shows that the optimizer works."""
        self.unusable = 0 if log.usable else self.state.unusable
        self.answered = self.state.answered or log.usable > 0
        self.problem = log.last_problem or self.problem
        if log.unusable:
            self.session.tell(
                Note(f"{log.unusable} of the optimizer's replies could not be used; the last: {log.last_problem}")
            )

    def count_unusable(self, log: CallLog) -> None:
        """Broken is never "no improvement": an optimizer that gives nothing usable stops the run.

        Raises:
            ModelError: no usable reply `MOST_UNUSABLE` times in a row, over steps.
        """
        self.note_unusable(log)
        self.unusable += 0 if log.usable else log.unusable
        if self.unusable >= MOST_UNUSABLE:
            raise self._broken()

    @property
    def unheard(self) -> bool:
        """Whether the running step asked the optimizer and had no usable reply."""
        return self.unusable > self.state.unusable

    def refuse_unheard(self, state: RunState) -> None:
        """A run whose optimizer is broken does not end as one that had its chances.

        Below `MOST_UNUSABLE`, one reply that cannot be used is chance, and its step is lost. At the end of all epochs
        it is not, where none was ever usable, or where another one went before it: the step is not written, so that
        the same command asks again. A step that asked nothing has nothing to ask again.

        Raises:
            ModelError: so it is.
        """
        if state.reason == ALL_DONE and self.unheard and (self.unusable > 1 or not self.answered):
            raise self._broken()

    def _broken(self) -> ModelError:
        """The error for an optimizer that gives nothing usable; its replies are kept where it says."""
        name, count = self.session.model_names["optimizer"], self.unusable
        entries, mend = self.evidence.get(OPTIMIZER, []), ""
        try:
            ref = keep_evidence(self.session, self.lock, self.info, self.state.step + 1, {OPTIMIZER: entries})
            mend = f"see them with `git show {ref}:{OPTIMIZER}`; "
        except SkillgitError as error:  # what it is about has to be said all the same
            self.session.tell(Note(f"the replies could not be kept: {error}"))
        times = f"{count} time{'' if count == 1 else 's'} in a row"
        return ModelError(
            f"{name} gave no usable reply {times}; the last: {self.problem}",
            mend=f"{mend}choose another optimizer or mend the endpoint, then run the same command again",
        )


def _finished(record: StepRecord) -> StepFinished:
    return StepFinished(
        step=record.step,
        epoch=record.epoch,
        decision=record.decision,
        score=exact_number(record.score),
        maximum=exact_number(record.maximum),
        before=exact_number(record.before),
        best=exact_number(record.best),
        edits=len(record.commits),
        reason=record.reason,
        calls=int(record.cost["calls"]),
        tokens=int(record.cost["tokens"]),
        usd=None if record.cost.get("usd") is None else Decimal(record.cost["usd"]),
        kind=record.kind,
    )


def comparable(known: Mapping[str, Any] | None, blob: str) -> Measurement | None:
    """A blob's measurement from a journal's scores."""
    return scores.decode(known[blob]) if known and blob in known else None
