"""From a SkillOpt run's files to entries of a journal: which document stood when, and what the gate said. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from skillgit.document import Edit
from skillgit.errors import MeasurementError, RefusedError
from skillgit.redact import redact
from skillgit.train.imports import replaying, scoring, stages
from skillgit.train.imports.dressing import Dresser, remarks
from skillgit.train.imports.settings import gate_of, kept_settings, models_of, total_steps
from skillgit.train.imports.stages import DECISIONS, PLACEHOLDER
from skillgit.train.imports.values import UNGATED, Entry, ImportedRun, RawRun, RawSlow, RawStep, Scored
from skillgit.train.propose.candidate import EditOutcome

_SKIPPED = {
    "skip_no_patches": "no usable edit was proposed",
    "skip_no_rewrite": "no usable rewrite was proposed",
}
_SAID = {
    "accept-best": "better than the document before it, and than the best one",
    "accept": "better than the document before it",
    "forced": "accepted without a gate",
    "reject": "not better than the document before it",
}


def chain(raw: RawRun, dresser: Dresser) -> ImportedRun:
    """The run as entries.

    Raises:
        RefusedError: a document that the branch would hold has a secret in it.
    """
    return _Chain(raw, dresser).run()


class _Chain:
    """The run between two steps.

    `current` is SkillOpt's own document, before it is dressed; `compared` is the score that its gate compares with.
    """

    def __init__(self, raw: RawRun, dresser: Dresser) -> None:
        self._raw, self._dresser = raw, dresser
        self._metric, self._models = scoring.metric_of(raw.config), models_of(raw.config)
        self._entries: list[Entry] = []
        self._texts: list[str] = []
        """SkillOpt's own text of each entry that brings one."""
        self._left_out, self._notes = list(raw.left_out), dict[str, str]()
        self._refuse_secret(raw.initial, "the first document (skills/skill_v0000.md)")
        self._baseline, self._current = stages.baseline(raw, self._metric), raw.initial
        self._known = {raw.initial: self._baseline} if self._baseline else {}
        self._compared = self._baseline.score if self._baseline else stages.compared_first(raw, self._metric)
        self._best: int | None = None
        """The index of the entry that brought the best document so far."""
        self._best_score = self._compared

    def run(self) -> ImportedRun:
        """All of it."""
        raw = self._raw
        for step in raw.steps:
            if not self._step(step):
                break
            self._entries[-1].closes = stages.closes_epoch(raw, step)
        self._promote()
        self._remark(raw.initial, "the first document")
        empty = not raw.initial.strip()
        if empty:
            self._notes["empty"] = "SkillOpt began with an empty document: the branch begins with the base's"
        return ImportedRun(
            name=redact(raw.name),
            initial=None if empty else self._dresser.dress(raw.initial),
            baseline=None if empty else self._baseline,
            entries=tuple(self._entries),
            metric=self._metric,
            gate=gate_of(raw.config, self._metric),
            models=self._models,
            settings=kept_settings(raw.config),
            total_steps=total_steps(raw),
            started=raw.started,
            digest=self._digest(),
            left_out=tuple(self._left_out),
            notes=tuple(self._notes.values()),
        )

    def _step(self, step: RawStep) -> bool:
        """One step, with what SkillOpt did to its document behind the gate; False where the import ends before it."""
        action = str(step.record["action"])
        if action in DECISIONS:
            if not self._gated(step, DECISIONS[action]):
                return False
        else:
            self._add(self._entry(step, "none", _SKIPPED.get(action, redact(action))), "")
        slow = stages.slow_behind(self._raw, step)
        text, damage = stages.went_on_with(step, slow, self._current)
        if damage:
            self._notes[f"after {step.number}"] = damage
        if text is not None:
            self._ungated(step, text, _what_came(slow), slow.when if slow else step.when)
        if slow is not None:
            self._slow(step, slow)
        return True

    def _gated(self, step: RawStep, decision: str) -> bool:
        """A candidate that was measured; False where it is lost, and with it all that was built on it."""
        entry, text = self._entry(step, decision, ""), step.candidate
        fault = stages.damage(step) or (self._dresser.fault(text) if text is not None else None)
        if text is None or fault is not None:
            if not entry.accepted:
                self._drop(entry, f"the candidate was left out: {fault}")
                return True
            self._refuse_secret(text or "", f"step {step.number} (steps/step_{step.number:04d}/candidate_skill.md)")
            more = "" if step is self._raw.steps[-1] else " (and all behind it)"
            self._left_out.append(f"step {step.number} was left out{more}: {fault}")
            return False
        if text == self._current:
            entry.decision, entry.reason = "none", "the candidate equals the document before it"
            self._add(entry, "")
            return True
        try:
            scored = scoring.scored(step.record, step.attempts, self._metric)
        except MeasurementError as error:
            accepted = entry.accepted
            self._drop(entry, f"the candidate was left out: {error.message}")
            if accepted:
                self._ungated(step, text, "went on with a document whose score cannot be used", step.when)
            return True
        entry.outcomes = self._dressed(replaying.outcomes(self._current, text, step))
        self._measure(entry, text, scored)
        self._remark(text, f"step {step.number}")
        self._add(entry, text)
        return True

    def _measure(self, entry: Entry, text: str, scored: Scored) -> None:
        """What the gate said, and what follows from it."""
        if scored.tasks is None and text in self._known:
            scored = replace(scored, tasks=self._known[text].tasks)  # SkillOpt measures the same text once
        before = self._known.get(self._current)
        entry.text, entry.scored, entry.before = self._dresser.dress(text), scored, self._compared
        entry.gained, entry.lost = scoring.flips(before.tasks if before else None, scored.tasks, self._metric)
        entry.reason = f"{_gain(scored.score, self._compared)}{_SAID[entry.decision]}"
        self._known[text] = scored
        if not entry.accepted:
            return
        self._current, self._compared = text, scored.score
        beats = self._best_score is None or scored.score > self._best_score
        if entry.decision == "accept-best" or (entry.decision == "forced" and beats):
            entry.best, self._best, self._best_score = True, len(self._entries), scored.score

    def _slow(self, step: RawStep, slow: RawSlow) -> None:
        """The slow update at an epoch's end."""
        action, text = str(slow.result["action"]), slow.candidate
        if action == PLACEHOLDER:
            return
        entry = Entry("slow-update", step.number, step.record["epoch"], "none", "", slow.when, candidate=2)
        entry.cost = scoring.cost(None, self._models)
        if action not in DECISIONS or text == self._current:
            entry.reason = "the guidance is the one before" if action in DECISIONS else "no guidance was proposed"
            self._add(entry, "")
            return
        entry.decision, where = DECISIONS[action], f"the slow update of epoch {entry.epoch}"
        fault = "its candidate_skill.md is missing" if text is None else self._dresser.fault(text)
        if text is None or fault is not None:
            if entry.accepted:
                self._refuse_secret(text or "", where)
            self._drop(entry, f"the candidate was left out: {fault}")
            return
        try:
            scored = scoring.scored(slow.result, slow.attempts, self._metric)
        except MeasurementError as error:
            if entry.decision != "forced":
                self._drop(entry, f"the candidate was left out: {error.message}")
                return
            entry.text, entry.reason = self._dresser.dress(text), "accepted without a gate, and not measured"
            self._current = text
        else:
            self._measure(entry, text, scored)
        entry.outcomes = (_guidance(slow, self._dresser.dress(text)),)
        self._remark(text, where)
        self._add(entry, text)

    def _ungated(self, step: RawStep, text: str, what: str, when: datetime) -> None:
        """A document that SkillOpt went on with and did not measure as it is."""
        if text == self._current:
            return
        where = f"the document behind step {step.number}"
        self._refuse_secret(text, f"{where} (skills/skill_v{step.number:04d}.md)")
        fault = self._dresser.fault(text)
        if fault is not None:
            self._notes[where] = f"{where} was left out: {fault}"
            return
        dressed = self._dresser.dress(text)
        entry = Entry(UNGATED, step.number, step.record["epoch"], UNGATED, f"SkillOpt {what}", when, text=dressed)
        entry.cost = scoring.cost(None, self._models)
        self._remark(text, where)
        self._current = text
        self._add(entry, text)

    def _entry(self, step: RawStep, decision: str, reason: str) -> Entry:
        record, budget = step.record, step.record.get("edit_budget")
        hard, soft = (scoring.known(record.get(name)) for name in ("rollout_hard", "rollout_soft"))
        return Entry(
            "step",
            step.number,
            record["epoch"],
            decision,
            reason,
            step.when,
            learning_rate=budget if type(budget) is int and 0 <= budget < 10**6 else 0,
            batch=scoring.matching(step.batch, hard, soft) or {},
            cost=scoring.cost(record.get("tokens"), self._models),
        )

    def _drop(self, entry: Entry, reason: str) -> None:
        """An entry whose candidate is not imported."""
        entry.decision, entry.reason = "none", reason
        self._notes[f"{entry.kind} {entry.step}"] = f"step {entry.step}: {reason}"
        self._add(entry, "")

    def _add(self, entry: Entry, text: str) -> None:
        """SkillOpt writes a step's files one after the other, but a copied folder may have lost their order."""
        entry.when = max(entry.when, self._entries[-1].when if self._entries else self._raw.started)
        self._entries.append(entry)
        self._texts.append(text)

    def _dressed(self, outcomes: tuple[EditOutcome, ...]) -> tuple[EditOutcome, ...]:
        """The documents in between as they are committed; where one could not stand alone, all are one edit."""
        if any(self._dresser.fault(outcome.document) for outcome in outcomes):
            last = outcomes[-1]
            lines = "\n".join(outcome.edit.content for outcome in outcomes if outcome.status == "applied")
            edit = replace(last.edit, op="rewrite", target="", content=lines)
            outcomes = (replace(last, edit=edit, status="applied", reason=""),)
        return tuple(replace(outcome, document=self._dresser.dress(outcome.document)) for outcome in outcomes)

    def _promote(self) -> None:
        """SkillOpt measures the last document at the end, and makes it the best where it is."""
        raw, last = self._raw, next((i for i in reversed(range(len(self._entries))) if self._entries[i].moves), None)
        kept = self._texts[self._best] if self._best is not None else raw.initial
        if self._left_out or raw.best is None or raw.best == kept:
            return
        if last is None or raw.best != self._texts[last]:
            self._notes["best"] = "best_skill.md is not the document that the steps name as the best: theirs was taken"
            return
        entry = self._entries[last]
        entry.best, self._best = True, last
        if entry.scored is None:
            entry.scored = stages.final(raw, self._metric)
            entry.reason = f"{entry.reason}; the best at the end of the run"

    def _refuse_secret(self, text: str, where: str) -> None:
        """A document of the branch: what comes behind it is made of it, so it cannot be left out.

        Raises:
            RefusedError: it holds a secret.
        """
        kind = self._dresser.secret(text)
        if kind is not None:
            mend = "take it out of the files of a copy of the folder, and import that"
            raise RefusedError(f"{where}: it holds a secret ({kind}); nothing was imported", mend=mend)

    def _remark(self, text: str, where: str) -> None:
        for remark in remarks(text):
            self._notes.setdefault(remark, f"{where} {remark}")
        if self._dresser.differs(text):
            self._notes.setdefault("frontmatter", f"{where} has a frontmatter of its own, other than the base's: kept")

    def _digest(self) -> str:
        """Of what is imported, whatever the folder's name, place, dates and further files."""
        parts: list[Any] = [self._raw.initial, _plain(self._baseline), self._best]
        for entry, text in zip(self._entries, self._texts, strict=True):
            parts.append([entry.kind, entry.step, entry.epoch, entry.decision, text, _plain(entry.scored)])
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def _plain(scored: Scored | None) -> list[str]:
    return [] if scored is None else [str(scored.score), str(scored.hard), str(scored.soft)]


def _gain(score: Fraction, before: Fraction | None) -> str:
    return "" if before is None else f"{float(score - before):+.4f} on val, "


def _what_came(slow: RawSlow | None) -> str:
    if slow is not None and slow.result["action"] == PLACEHOLDER:
        return "added the empty region for guidance"
    return "changed the document behind the gate, and did not measure it"


def _guidance(slow: RawSlow, document: str) -> EditOutcome:
    """The slow update as an edit."""
    content, reason = (slow.result.get(key) for key in ("slow_update_content", "reasoning"))
    edit = Edit(
        "guidance",
        content=content if isinstance(content, str) else "",
        reason=reason if isinstance(reason, str) else "",
        support=slow.pairs,
    )
    return EditOutcome(edit, slow.pairs, "pair", "applied", "", document)
