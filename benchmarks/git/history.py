"""A skill's history of any length, in the forms that the product writes.

Commits, trailers, verdicts, records and trees are made by the product's own functions; only the model's part is made up:
which edit comes and which val tasks it wins or loses. A run is measured on val tasks of its own, so that it begins low and
has something to win. Each step replaces one or two of the document's rules.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.git.packing import PackWriter
from skillgit.config import SkillSettings, parse
from skillgit.document import Edit
from skillgit.store.clones import clone_id
from skillgit.store.locks import SkillLock
from skillgit.store.refs import SkillRefs, new_run_id
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, exact_text, to_files
from skillgit.train.archive.messages import Place, epoch_message, verdict_trailers
from skillgit.train.archive.record import SUBJECT, tree_of, write_candidate
from skillgit.train.gate import GateSettings, Verdict, decide
from skillgit.train.gate.settling import edit_rows
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.run import ALL_DONE
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import HARD, Measurement, Trial, by_metric, mean
from skillgit.train.start import run_settings

SKILL, DOCUMENT = "triage", "skills/triage/SKILL.md"
_START = datetime(2025, 1, 1, tzinfo=UTC)
_WORDS = "check the order before any refund and name each ticket by its code then ask for the missing part".split()
_MODELS = {"target": "openai/target", "optimizer": "openai/optimizer"}
_CONFIG = f"""\
version: 1
models: {{target: openai/target, optimizer: openai/optimizer}}
skills:
  {SKILL}:
    document: {DOCUMENT}
    env: env
    train: {{num_epochs: 4, batch_size: 16}}
    optimizer: {{use_slow_update: false, use_meta_skill: false}}
    merge: {{into: main}}
"""
_ENV = """\
version: 1
description: Answers a ticket with its code.
tasks: {train: train.jsonl, val: val.jsonl, test: test.jsonl}
system: "{skill}"
prompt: "{input}"
extract: last_line
scorer: exact
"""


@dataclass(frozen=True, slots=True)
class Size:
    """How long the history is.

    Args:
        steps, rejected: in all; the rest is accepted, but for one step in ten that had no applicable edit.
        runs: the steps are divided among them. rules: of the document. val: tasks of a run.
        evidence: transcripts too.
    """

    steps: int = 10_000
    rejected: int = 5_000
    runs: int = 100
    rules: int = 100
    val: int = 48
    evidence: bool = True
    seed: int = 1


@dataclass(slots=True)
class Made:
    """What was written.

    Args:
        accepted: the last commits of accepted candidates. rejected: refs.
    """

    root: Path
    objects: int = 0
    runs: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)


def make(root: Path, size: Size) -> Made:
    """Write a repository with the history, packed as `git gc` leaves it."""
    root.mkdir(parents=True)
    _begin(root, size)
    repo = Repository.open(root)
    settings = parse(_CONFIG, "skillgit.yaml", ()).skill(SKILL)
    base = repo.resolve("main") or ""
    placed = documents.read(repo, base, DOCUMENT)
    store = PackWriter(repo, repo.common_dir / "bench.pack", int(_START.timestamp()))
    below, made = repo.objects, Made(root)
    repo.objects = store
    history = _History(repo, settings, size, base, placed, made)
    for number in range(size.runs):
        history.run(number)
    made.objects = store.finish()
    repo.objects = below
    with SkillLock.acquire(repo, SKILL, "bench") as lock:
        commit_refs(repo, history.updates(), "skillgit: a history for a benchmark", lock=lock)
    repo.close()
    for command in (["repack", "-adfq"], ["pack-refs", "--all"], ["commit-graph", "write", "--reachable", "--no-progress"]):
        _git(root, *command)
    return made


def _begin(root: Path, size: Size) -> None:
    rules = "".join(f"- {_rule(random.Random(number))}\n" for number in range(size.rules))
    text = f"---\nname: {SKILL}\ndescription: Answers tickets.\n---\n# Tickets\n\n{rules}"
    row = '{"id": "t-0", "input": "ticket", "answer": "W1"}\n'
    files = {"skillgit.yaml": _CONFIG, "env/env.yaml": _ENV, DOCUMENT: text}
    files |= {f"env/{split}.jsonl": row.replace("t-0", f"{split}-0") for split in ("train", "val", "test")}
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    _git(root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "bench"), ("user.email", "bench@example.invalid"), ("gc.auto", "0")):
        _git(root, "config", key, value)
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "Start")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True)


def _rule(chance: random.Random) -> str:
    return f"{' '.join(chance.choices(_WORDS, k=9))} ({chance.randrange(10**6)})."


class _History:
    """Writes run after run; moves no ref."""

    def __init__(
        self, repo: Repository, settings: SkillSettings, size: Size, base: str, placed: Placed, made: Made
    ) -> None:
        self._repo, self._settings, self._size, self._base, self._made = repo, settings, size, base, made
        self._chance, self._refs = random.Random(size.seed), SkillRefs(SKILL)
        self._clone, self._began = clone_id(repo), run_settings(settings, 16 * 25)
        self._tip, self._placed, self._lines = base, placed, placed.text.split("\n")
        self._updates: list[RefUpdate] = []
        self._evidence: str | None = None

    def updates(self) -> list[RefUpdate]:
        """All refs: journals first."""
        ends = [RefUpdate(ref, None, self._tip) for ref in (self._refs.branch, self._refs.best)]
        return sorted([*self._updates, *ends], key=lambda one: not one.ref.startswith(self._refs.journals_prefix))

    def run(self, number: int) -> None:
        """One run, from its baseline to its end."""
        size = self._size
        count = size.steps * (number + 1) // size.runs - size.steps * number // size.runs
        rejected = size.rejected * (number + 1) // size.runs - size.rejected * number // size.runs
        fates = ["reject"] * rejected + ["none"] * min(count // 10, count - rejected)
        fates += ["accept"] * (count - len(fates))
        self._chance.shuffle(fates)
        ident = new_run_id(_START + timedelta(days=number), self._chance.randbytes(10))
        self._made.runs.append(ident)
        settings = {**self._began, "steps_per_epoch": max(1, count // 4)}
        info = RunInfo(ident, SKILL, DOCUMENT, self._base, settings, count, clone=self._clone)
        _Run(self, info, number).write(fates)

    def measured(self, run: int, wins: int) -> Measurement:
        """The scores that a run begins with."""
        tasks = [f"v{run:03d}-{task:02d}" for task in range(self._size.val)]
        return {task: (_trial(place < wins),) for place, task in enumerate(tasks)}

    def edited(self) -> tuple[list[str], Candidate]:
        """One or two rules, each replaced by another."""
        lines, outcomes = list(self._lines), []
        for _ in range(self._chance.choice((1, 2))):
            place = self._chance.choice([i for i, line in enumerate(lines) if line.startswith("- ")])
            new = f"- {_rule(self._chance)}"
            support = self._chance.randrange(1, 6)
            edit = Edit("replace", lines[place], new, f"Attempts left out what rule {place} asks for.", support=support)
            lines[place] = new
            outcomes.append(EditOutcome(edit, support, "failure", "applied", "", "\n".join(lines)))
        return lines, Candidate("\n".join(lines), tuple(outcomes))


class _Run:
    """A run in the making."""

    def __init__(self, history: _History, info: RunInfo, number: int) -> None:
        self.h, self.info = history, info
        self.val = f"sha256:{hashlib.sha256(str(number).encode()).hexdigest()}"
        count = info.total_steps
        self.scores = history.measured(number, max(1, (history._size.val - count * 4 // 10) // 2))
        blob = history._placed.blob
        self.state = RunState(history._tip, blob, blob, history._tip, self.val, {"name": "openai/target", "settings": {}})
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
        self._entry(record, [self.state.tip], [])
        for number, fate in enumerate(fates, start=1):
            self._step(number, fate)
        refs, h = self.h._refs, self.h
        h._updates.append(RefUpdate(refs.journal(self.info.run), None, self.journal))
        if self.evidence:
            h._updates.append(RefUpdate(refs.evidence(self.info.run), None, self.evidence))

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
        record.batch = {f"t-{n:03d}": [["1/1", "1/1"]] for n in h._chance.sample(range(400), 16)}
        self._entry(record, record.commits[-1:], moves)

    @property
    def _each(self) -> int:
        return int(self.info.settings["steps_per_epoch"])

    def _candidate(self, record: StepRecord, fate: str) -> list[list[str | None]]:
        """Commits and verdict of a candidate; returns what moves."""
        h, state, run, before = self.h, self.state, self.info.run, self.h._placed
        lines, built = h.edited()
        measurement = self._outcome(accepted=fate == "accept")
        verdict = decide(by_metric(self.scores, HARD), by_metric(measurement, HARD), GateSettings())
        record.decision = "accept-best" if verdict.decision == "accept" else "reject"
        record.document = h._repo.objects.write_blob(built.document.encode())
        self._judged(record, verdict, measurement, built)
        gate = f"strict hard n={len(self.scores)} repeats=1"
        trailers = verdict_trailers(record, gate=gate, val=self.val)
        place = Place(SKILL, run, record.step, record.epoch)
        record.commits = write_candidate(h._repo, DOCUMENT, state.tip, before, built.applied, place, trailers)
        commit = record.commits[-1]
        if record.decision == "reject":
            state.rejected_count += 1
            state.tried = [*state.tried, record.document]
            told = "\n".join(f"replace: {outcome.edit.content}" for outcome in built.applied)
            state.rejected = [*state.rejected, {"document": before.blob, "text": told}]
            ref = h._refs.rejected(run, record.step, 1)
            h._updates.append(RefUpdate(ref, None, commit))
            h._made.rejected.append(ref)
            return [[ref, None, commit]]
        moves = [[ref, state.tip, commit] for ref in (h._refs.branch, h._refs.best)]
        state.tip, state.incumbent, state.accepted_count = commit, record.document, state.accepted_count + 1
        state.best, state.best_commit = record.document, commit
        h._tip, h._lines, h._placed = commit, lines, Placed(built.document, record.document, before.mode)
        h._made.accepted.append(commit)
        self.scores = measurement
        return list(moves)

    def _outcome(self, *, accepted: bool) -> Measurement:
        """The incumbent's scores with one task more; or with one lost and perhaps another won."""
        won = [task for task, trials in self.scores.items() if trials == (_trial(True),)]
        open_ = [task for task in self.scores if task not in won]
        found = dict(self.scores)
        if accepted:
            return found | {self.h._chance.choice(open_): (_trial(True),)}
        if self.h._chance.random() < 0.5:
            found[self.h._chance.choice(open_)] = (_trial(True),)
        return found | {self.h._chance.choice(won): (_trial(False),)}

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
        ref = h._refs.epoch_tag(self.info.run, record.epoch)
        record.best = exact_text(best)
        shown = [one for one in (*self.records, record) if one.epoch == record.epoch]
        place = Place(SKILL, self.info.run, record.step, record.epoch)
        tag = h._repo.objects.write_tag(ref, self.state.tip, epoch_message(place, shown, self.state, best))
        h._updates.append(RefUpdate(ref, None, tag))
        return [ref, None, tag]

    def _entry(self, record: StepRecord, keeps: list[str], moves: list[list[str | None]]) -> None:
        repo, run = self.h._repo, self.info.run
        record.best = exact_text(mean(self.scores, HARD))
        record.models = record.models or dict(_MODELS)
        record.cost = record.cost or _cost(len(record.scores))
        if self.h._size.evidence and record.scores:
            tree = tree_of(repo, {"val.jsonl": _attempts(record)})
            parents = [self.evidence] if self.evidence else []
            old = self.evidence
            message = f"skillgit evidence: {SKILL} step {record.step}\n"
            self.evidence = repo.objects.write_commit(tree, parents, message)
            moves = [*moves, [self.h._refs.evidence(run), old, self.evidence]]
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
    import json

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
