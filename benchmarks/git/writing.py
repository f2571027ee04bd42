"""Runs as the product writes them, step by step, without a model.

Commits, trailers, verdicts, records and trees are made by the product's own functions; only the model's part is made
up: which edit comes, and which val tasks it wins or loses. A run has val tasks of its own, so that it begins low and
has something to win. Each candidate replaces one or two of the document's rules.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from benchmarks.git.setting import DOCUMENT, SKILL, Made, Size, rule
from skillgit.config import SkillSettings
from skillgit.document import Edit
from skillgit.store.clones import clone_id
from skillgit.store.refs import SkillRefs, new_run_id
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, exact_text, to_files
from skillgit.train.archive.layout import SUBJECT
from skillgit.train.archive.messages import Place, epoch_message, verdict_trailers
from skillgit.train.archive.record import tree_of, write_candidate
from skillgit.train.gate import GateSettings, Verdict, decide
from skillgit.train.gate.settling import edit_rows
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.run import ALL_DONE
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import HARD, Measurement, Trial, by_metric, mean
from skillgit.train.start import run_settings

START = datetime(2025, 1, 1, tzinfo=UTC)
_MODELS = {"target": "openai/target", "optimizer": "openai/optimizer"}


class Writer:
    """Writes run after run; moves no ref."""

    def __init__(
        self, repo: Repository, settings: SkillSettings, size: Size, base: str, placed: Placed, made: Made
    ) -> None:
        self.repo, self._settings, self.size, self._base, self.made = repo, settings, size, base, made
        self.chance, self.refs = random.Random(size.seed), SkillRefs(SKILL)
        self._clone, self._began = clone_id(repo), run_settings(settings, 16 * 25)
        self.tip, self.placed, self.lines = base, placed, placed.text.split("\n")
        self.updates: list[RefUpdate] = []

    def moves(self) -> list[RefUpdate]:
        """All refs: journals first."""
        ends = [RefUpdate(ref, None, self.tip) for ref in (self.refs.branch, self.refs.best)]
        return sorted([*self.updates, *ends], key=lambda one: not one.ref.startswith(self.refs.journals_prefix))

    def run(self, number: int) -> None:
        """One run, from its baseline to its end."""
        size = self.size
        count = size.steps * (number + 1) // size.runs - size.steps * number // size.runs
        rejected = size.rejected * (number + 1) // size.runs - size.rejected * number // size.runs
        fates = ["reject"] * rejected + ["none"] * min(count // 10, count - rejected)
        fates += ["accept"] * (count - len(fates))
        self.chance.shuffle(fates)
        ident = new_run_id(START + timedelta(days=number), self.chance.randbytes(10))
        self.made.runs.append(ident)
        settings = {**self._began, "steps_per_epoch": max(1, count // 4)}
        info = RunInfo(ident, SKILL, DOCUMENT, self._base, settings, count, clone=self._clone)
        _Run(self, info, number).write(fates)

    def measured(self, run: int, wins: int) -> Measurement:
        """The scores that a run begins with."""
        tasks = [f"v{run:03d}-{task:02d}" for task in range(self.size.val)]
        return {task: (_trial(place < wins),) for place, task in enumerate(tasks)}

    def edited(self) -> tuple[list[str], Candidate]:
        """One or two rules, each replaced by another."""
        lines, outcomes = list(self.lines), []
        for _ in range(self.chance.choice((1, 2))):
            place = self.chance.choice([i for i, line in enumerate(lines) if line.startswith("- ")])
            new = f"- {rule(self.chance)}"
            support = self.chance.randrange(1, 6)
            edit = Edit("replace", lines[place], new, f"Attempts left out what rule {place} asks for.", support=support)
            lines[place] = new
            outcomes.append(EditOutcome(edit, support, "failure", "applied", "", "\n".join(lines)))
        return lines, Candidate("\n".join(lines), tuple(outcomes))


class _Run:
    """A run in the making."""

    def __init__(self, history: Writer, info: RunInfo, number: int) -> None:
        self.h, self.info = history, info
        self.val = f"sha256:{hashlib.sha256(str(number).encode()).hexdigest()}"
        count = info.total_steps
        self.scores = history.measured(number, max(1, (history.size.val - count * 4 // 10) // 2))
        blob = history.placed.blob
        target = {"name": _MODELS["target"], "settings": {}}
        self.state = RunState(history.tip, blob, blob, history.tip, self.val, target)
        self.journal: str | None = None
        self.evidence: str | None = None
        self.records: list[StepRecord] = []

    def write(self, fates: list[str]) -> None:
        """The baseline, and all steps."""
        score = exact_text(mean(self.scores, HARD))
        blob, tasks = self.state.incumbent, len(self.scores)
        record = StepRecord("baseline", 0, 1, "baseline", "the document that training starts from", blob, blob)
        record.score = record.score_hard = record.score_soft = score
        record.prefix = record.val_tasks = tasks
        record.scores = scores.encode(self.scores)
        refs, h, tip = self.h.refs, self.h, self.state.tip
        self._entry(record, [tip], [[ref, None, tip] for ref in (refs.branch, refs.best) if not h.made.runs[1:]])
        for number, fate in enumerate(fates, start=1):
            self._step(number, fate)
        h.updates.append(RefUpdate(refs.journal(self.info.run), None, self.journal))
        if self.evidence:
            h.updates.append(RefUpdate(refs.evidence(self.info.run), None, self.evidence))

    def _step(self, number: int, fate: str) -> None:
        h, state = self.h, self.state
        epoch, last = (number - 1) // self._each + 1, number == self.info.total_steps
        state = self.state = replace(state, step=number, epoch=min(epoch, 4))
        before = state.incumbent
        record = StepRecord("step", number, state.epoch, "none", "nothing failed", before, before, 4)
        moves: list[list[str | None]] = []
        if fate != "none":
            moves = self._candidate(record, fate)
        state.barren = 0 if record.accepted else state.barren + 1
        if last or (number % self._each == 0 and epoch < 4):
            moves.append(self._tag(record))
            state.previous, state.epoch = state.incumbent, state.epoch + (not last)
        if last:
            state.status, state.reason = "finished", ALL_DONE
        record.batch = {f"t-{n:03d}": [["1/1", "1/1"]] for n in h.chance.sample(range(400), 16)}
        self._entry(record, record.commits[-1:], moves)

    @property
    def _each(self) -> int:
        return int(self.info.settings["steps_per_epoch"])

    def _candidate(self, record: StepRecord, fate: str) -> list[list[str | None]]:
        """Commits and verdict of a candidate; returns what moves."""
        h, state, run, before = self.h, self.state, self.info.run, self.h.placed
        lines, built = h.edited()
        measurement = self._outcome(accepted=fate == "accept")
        verdict = decide(by_metric(self.scores, HARD), by_metric(measurement, HARD), GateSettings())
        record.decision = "accept-best" if verdict.decision == "accept" else "reject"
        record.document = h.repo.objects.write_blob(built.document.encode())
        self._judged(record, verdict, measurement, built)
        gate = f"strict hard n={len(self.scores)} repeats=1"
        trailers = verdict_trailers(record, gate=gate, val=self.val)
        place = Place(SKILL, run, record.step, record.epoch)
        record.commits = write_candidate(h.repo, DOCUMENT, state.tip, before, built.applied, place, trailers)
        commit = record.commits[-1]
        if record.decision == "reject":
            state.rejected_count += 1
            state.tried = [*state.tried, record.document]
            told = "\n".join(f"replace: {outcome.edit.content}" for outcome in built.applied)
            state.rejected = [*state.rejected, {"document": before.blob, "text": told}]
            ref = h.refs.rejected(run, record.step, 1)
            h.updates.append(RefUpdate(ref, None, commit))
            h.made.rejected.append(ref)
            return [[ref, None, commit]]
        moves: list[list[str | None]] = [[ref, state.tip, commit] for ref in (h.refs.branch, h.refs.best)]
        state.tip, state.incumbent, state.accepted_count = commit, record.document, state.accepted_count + 1
        state.best, state.best_commit = record.document, commit
        h.tip, h.lines, h.placed = commit, lines, Placed(built.document, record.document, before.mode)
        h.made.accepted.append(commit)
        self.scores = measurement
        return moves

    def _outcome(self, *, accepted: bool) -> Measurement:
        """The incumbent's scores with one task more; or with one lost and perhaps another won."""
        won = [task for task, trials in self.scores.items() if trials == (_trial(True),)]
        open_ = [task for task in self.scores if task not in won]
        found = dict(self.scores)
        if accepted:
            return found | {self.h.chance.choice(open_): (_trial(True),)}
        if self.h.chance.random() < 0.5:
            found[self.h.chance.choice(open_)] = (_trial(True),)
        return found | {self.h.chance.choice(won): (_trial(False),)}

    def _judged(self, record: StepRecord, verdict: Verdict, measurement: Measurement, built: Candidate) -> None:
        """What the gate said, as `skillgit.train.gate.settling` puts it into a record."""
        record.reason, record.edits = verdict.reason, edit_rows(built)
        record.score, record.maximum = exact_text(verdict.score), exact_text(verdict.maximum)
        record.before, record.prefix, record.val_tasks = exact_text(verdict.before), verdict.prefix, verdict.tasks
        record.gained, record.lost = list(verdict.gained), list(verdict.lost)
        if verdict.maximum is None:
            record.score_hard = record.score_soft = exact_text(mean(measurement, HARD))
        order = sorted(measurement, key=lambda task: (self.scores[task] == (_trial(True),), task))
        record.scores = scores.encode({task: measurement[task] for task in order[: verdict.prefix]})
        record.models, record.cost = dict(_MODELS), _cost(verdict.prefix)

    def _tag(self, record: StepRecord) -> list[str | None]:
        h, best = self.h, mean(self.scores, HARD)
        ref = h.refs.epoch_tag(self.info.run, record.epoch)
        record.best = exact_text(best)
        shown = [one for one in (*self.records, record) if one.epoch == record.epoch]
        place = Place(SKILL, self.info.run, record.step, record.epoch)
        tag = h.repo.objects.write_tag(ref, self.state.tip, epoch_message(place, shown, self.state, best))
        h.updates.append(RefUpdate(ref, None, tag))
        return [ref, None, tag]

    def _entry(self, record: StepRecord, keeps: list[str], moves: list[list[str | None]]) -> None:
        repo, run = self.h.repo, self.info.run
        record.best = exact_text(mean(self.scores, HARD))
        record.models = record.models or dict(_MODELS)
        record.cost = record.cost or _cost(len(record.scores))
        if self.h.size.evidence and record.scores:
            tree = tree_of(repo, {"val.jsonl": _attempts(record)})
            parents = [self.evidence] if self.evidence else []
            old = self.evidence
            message = f"skillgit evidence: {SKILL} step {record.step}\n"
            self.evidence = repo.objects.write_commit(tree, parents, message)
            moves = [*moves, [self.h.refs.evidence(run), old, self.evidence]]
        record.refs = moves
        kept = {self.state.incumbent: scores.encode(self.scores)}
        tree = tree_of(repo, to_files(self.info, self.state, record, kept))
        parents = [*([self.journal] if self.journal else []), *keeps]
        subject = f"{SUBJECT}{SKILL} step {record.step} {record.decision}\n"
        self.journal = repo.objects.write_commit(tree, list(dict.fromkeys(parents)), subject)
        self.records.append(record)


def _trial(right: bool) -> Trial:
    return Trial(Fraction(right), Fraction(right))


def _cost(calls: int) -> dict[str, Any]:
    rows = [
        {"role": role, "stage": stage, "model": f"openai/{role}", "calls": number}
        | {"input_tokens": 800 * number, "cached_tokens": 0, "output_tokens": 40 * number}
        for role, stage, number in (("optimizer", "reflect", 2), ("target", "gate", calls), ("target", "rollout", 16))
    ]
    total = calls + 18
    return {"calls": total, "tokens": 840 * total, "usd": f"{total * 0.0002:.4f}", "rows": rows}


def _attempts(record: StepRecord) -> bytes:
    """The candidate's attempts as evidence has them."""
    lines = []
    for task, trials in record.scores.items():
        right = trials[0][0] == "1/1"
        reply = f"The ticket says so.\n{'W1' if right else 'W2'}"
        row: Mapping[str, Any] = {
            "document": record.document,
            "task": task,
            "trial": 0,
            "reply": reply,
            "answer": reply[-2:],
            "hard": str(int(right)),
            "soft": str(int(right)),
            "reason": "" if right else "expected W1",
            "calls": [],
            "transcript": [],
            "input": f"ticket {task}",
        }
        lines.append(json.dumps(row) + "\n")
    return "".join(lines).encode()
