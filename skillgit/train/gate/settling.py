"""Candidates at the gate: measured beside each other, judged, written as commits, and what the verdicts move."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from skillgit.document.structure import body
from skillgit.errors import MeasurementError
from skillgit.redact import redact, redact_json
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import ACCEPTED, RunState, StepRecord, exact_number, exact_text
from skillgit.train.archive.messages import verdict_trailers
from skillgit.train.archive.record import Joined, Moves, rollout_evidence, write_candidate
from skillgit.train.events import StageStarted, UnitDone
from skillgit.train.gate import GateSettings, Verdict, decide
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.propose.proposals import Dropped
from skillgit.train.run import Run
from skillgit.train.scoring import scores
from skillgit.train.scoring.measure import Gated, Rules, Spare, measure_against
from skillgit.train.scoring.scores import Measurement, by_metric

MOST_INDECISIVE = 3
"""Verdicts in a row without enough scores after which a run stops (exit code 3)."""

MOST_REJECTED = 200
"""Rejected candidates whose text a run's state keeps for reflection: it is written whole with each step, and a prompt
tells of the newest few on its own document."""

_IN_RECORD = ("cost", "models", "others", "batch", "dropped", "refs")


@dataclass(slots=True)
class Contender:
    """A candidate at the gate.

    Args:
        number: from 1; the last part of a rejected ref's name.
        parent: the blob that its edits were proposed for.
        reason: why it is not measured; empty where it is.
    """

    number: int
    built: Candidate
    blob: str
    parent: str
    reason: str = ""
    gated: Gated | None = None
    decision: str = "none"


@dataclass(frozen=True, slots=True)
class Bout:
    """What a step brings to the gate, beside its candidates.

    Args:
        kind: `step`, `slow-update` or `merge`, or what a person asked for (`skillgit.train.carry.change.Kind`).
        reason: why there is no candidate; empty where there is one.
        forced: candidates are measured and then accepted, whatever the gate says of them.
        rule: the gate, where it is not the skill's own.
        ties: a candidate that is accepted, and as good as the best document, becomes the best one.
        joined: what the candidate's last commit joins, in a merge.
        best: a candidate that is accepted becomes the best document, whatever the scores.
    """

    kind: str
    step: int
    epoch: int
    before: Placed
    forced: bool = False
    reason: str = ""
    budget: int = 0
    dropped: Sequence[Dropped] = ()
    batch: Measurement = field(default_factory=dict)
    rule: GateSettings | None = None
    ties: bool = False
    joined: Joined | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """What the gate leaves to be written: the record, the state after it, commits to keep, refs to move."""

    record: StepRecord
    state: RunState
    keeps: list[str]
    moves: Moves


def contender(run: Run, bout: Bout, number: int, built: Candidate, parent: str, reason: str = "") -> Contender:
    """A candidate, with the reason where there is nothing to measure: no call is made for it then."""
    blob = run.session.repo.objects.write_blob(built.document.encode())
    if not reason and not built.applied:
        reason = "none of the proposed edits could be applied"
    elif not reason and not body(built.document).strip():
        reason = "the edits would empty the document"
    elif not reason and blob == bout.before.blob:
        reason = "the candidate equals the incumbent"
    elif not reason and blob in run.state.tried:
        reason = "the candidate was rejected earlier in this run"
    return Contender(number, built, blob, parent, reason)


async def measure(run: Run, bout: Bout, contenders: Sequence[Contender], *, spare: Spare | None) -> None:
    """Measure the candidates against the incumbent, beside each other."""
    session, settings = run.session, run.session.settings.evaluation
    waiting: dict[str, Contender] = {}
    for c in contenders:
        if not c.reason and waiting.setdefault(c.blob, c) is not c:
            c.reason = f"the same as candidate {waiting[c.blob].number}"
    if not waiting:
        return
    total = len(session.val) * settings.repeats * len(waiting)
    session.tell(StageStarted(bout.step, bout.epoch, "gate", total, documents=len(waiting)))
    racing = settings.racing and not bout.forced
    rules = Rules(
        bout.rule or session.gate, session.metric, settings.repeats, racing, run.state.barren == 0, whole=bout.forced
    )

    over = False

    def done(unit: UnitDone) -> None:
        if not over:  # attempts that are left come to their end beside stages whose progress they are not
            session.tell(unit)

    async def one(c: Contender) -> None:
        roller = session.roller("gate")
        incumbent = run.measured[bout.before.blob]
        alone = spare if len(waiting) == 1 else None
        c.gated = await measure_against(
            roller, c.built.document, c.blob, session.val, incumbent, rules, done, spare=alone
        )
        session.ahead.keep(c.gated.left)

    tasks = [asyncio.ensure_future(one(c)) for c in waiting.values()]
    try:
        await asyncio.gather(*tasks)
    finally:
        over = True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for c in waiting.values():
        if c.gated is not None:
            run.evidence.setdefault("val.jsonl", []).extend(rollout_evidence(c.gated.rollouts, c.blob))


def settle(run: Run, bout: Bout, contenders: Sequence[Contender]) -> Settled:
    """Decide, write the candidates' commits, and say what moves. The best of those that the gate accepts wins."""
    measured = [c for c in contenders if c.gated is not None]
    for c in measured:
        c.decision = _decision(run, bout, c)
    winner = max((c for c in measured if c.decision in ACCEPTED), key=_height, default=None)
    state, moves, keeps = replace(run.state), Moves(), list[str]()
    records = {c.number: _write(run, bout, c, winner) for c in measured}
    for c in measured:
        keeps.append(records[c.number].commits[-1])
        if c is winner:
            _accept(run, bout, c, records[c.number], state, moves)
        elif c.decision in ("reject", "outdone"):
            _reject(run, bout, c, records[c.number], state, moves)
    main = winner or min(measured, key=lambda c: (c.decision != "reject", -_height(c)[0], c.number), default=None)
    record = records[main.number] if main else _nothing(bout, contenders)
    record.others = [_plain(records[c.number]) for c in measured if c is not main]
    record.dropped = redact_json([{**asdict(d.proposal.edit), "why": d.reason} for d in bout.dropped])
    record.batch = scores.encode(bout.batch)
    state.barren = 0 if winner else state.barren + (bout.kind == "step")
    if measured:
        state.indecisive = state.indecisive + 1 if all(c.decision == "indecisive" for c in measured) else 0
    return Settled(record, state, keeps, moves)


def refuse_indecisive(state: RunState, record: StepRecord) -> None:
    """Broken is never "no improvement": too few scores, several times in a row, stop the run.

    Raises:
        MeasurementError: so it is.
    """
    if state.indecisive >= MOST_INDECISIVE:
        raise MeasurementError(
            f"{state.indecisive} verdicts in a row had too few scores: {record.reason}",
            mend="mend what fails and run the same command again",
        )


def _decision(run: Run, bout: Bout, c: Contender) -> str:
    if c.gated is None:
        raise AssertionError("only measured candidates are judged")
    decision = c.gated.verdict.decision
    if decision == "indecisive":
        return "indecisive"
    if bout.forced:
        return "forced"
    if decision == "accept" and _beats_best(run, c.gated.measurement, ties=bout.ties):
        return "accept-best"
    return decision


def _height(c: Contender) -> tuple[Fraction, int]:
    verdict = c.gated.verdict if c.gated else None
    reached = (verdict.score if verdict.score is not None else verdict.maximum) if verdict else None
    return (Fraction(-1) if reached is None else reached, -c.number)


def _beats_best(run: Run, measurement: Measurement, *, ties: bool = False) -> bool:
    """Whether a document is better than the best one, on the tasks that both have a score for.

    Args:
        ties: as good is enough.
    """
    metric = run.session.metric
    best, own = by_metric(run.measured[run.state.best], metric), by_metric(measurement, metric)
    settings = GateSettings("strict", min_coverage=run.session.settings.evaluation.min_coverage)
    if ties:
        return decide(own, best, settings).decision == "reject"
    return decide(best, own, settings).decision == "accept"


def _write(run: Run, bout: Bout, c: Contender, winner: Contender | None) -> StepRecord:
    """A measured candidate's record, and its commits."""
    if c.gated is None:
        raise AssertionError("only measured candidates are written")
    session, verdict = run.session, c.gated.verdict
    reason = verdict.reason if c.decision != "forced" else f"forced: the gate would {_would(verdict)}: {verdict.reason}"
    if winner is not None and c is not winner and c.decision in ACCEPTED:
        c.decision, reason = "outdone", f"candidate {winner.number} is better; {reason}"
    record = _record(bout, c, "reject" if c.decision == "outdone" else c.decision, reason)
    record.score, record.maximum = exact_text(verdict.score), exact_text(verdict.maximum)
    record.before, record.prefix, record.val_tasks = exact_text(verdict.before), verdict.prefix, verdict.tasks
    record.gained, record.lost = list(verdict.gained), list(verdict.lost)
    if verdict.maximum is None:
        # Over the tasks that both documents have a score for, as the verdict's own score is.
        compared = scores.compared(c.gated.measurement, run.measured[bout.before.blob])
        record.score_hard = exact_text(scores.mean(compared, scores.HARD))
        record.score_soft = exact_text(scores.mean(compared, scores.SOFT))
    record.scores = scores.encode(c.gated.measurement)
    record.cost, record.models = session.cost(), session.model_names
    gate = session.gate_text(missing=verdict.missing, rule=bout.rule.mode if bout.rule else None)
    trailers = verdict_trailers(record, gate=gate, val=session.val_digest)
    place = run.place(bout.step, bout.epoch)
    record.commits = write_candidate(
        session.repo,
        run.info.document,
        run.state.tip,
        bout.before,
        c.built.applied,
        place,
        trailers,
        kind=bout.kind,
        joined=bout.joined,
    )
    return record


def _would(verdict: Verdict) -> str:
    return "have accepted it" if verdict.decision == "accept" else "have rejected it"


def _accept(run: Run, bout: Bout, c: Contender, record: StepRecord, state: RunState, moves: Moves) -> None:
    if c.gated is None:
        raise AssertionError("only measured candidates are accepted")
    refs, repo, last = run.session.refs, run.session.repo, record.commits[-1]
    moves.add(refs.branch, state.tip, last)
    state.tip, state.incumbent, state.accepted_count = last, c.blob, state.accepted_count + 1
    if run.session.settings.train.parent == "pareto":
        state.pool = list(dict.fromkeys([*state.pool, bout.before.blob, c.blob]))
    forced = c.decision == "forced" and (bout.best or _beats_best(run, c.gated.measurement))
    better = forced or c.decision == "accept-best"
    run.measured[c.blob] = c.gated.measurement
    if better:
        moves.add(refs.best, repo.read_ref(refs.best), last)
        state.best, state.best_commit = c.blob, last


def _reject(run: Run, bout: Bout, c: Contender, record: StepRecord, state: RunState, moves: Moves) -> None:
    refs = run.session.refs
    moves.add(refs.rejected(run.info.run, bout.step, c.number), None, record.commits[-1])
    state.rejected_count += 1
    if c.decision == "reject":
        state.tried = [*state.tried, c.blob]
        state.rejected = [*state.rejected, _remembered(c.built, c.parent, record)][-MOST_REJECTED:]


def _nothing(bout: Bout, contenders: Sequence[Contender]) -> StepRecord:
    first = contenders[0] if contenders else None
    if first is None:
        return _bare(bout, bout.before.blob, "none", bout.reason)
    return _record(bout, first, "none", bout.reason or first.reason)


def _record(bout: Bout, c: Contender, decision: str, reason: str) -> StepRecord:
    record = _bare(bout, c.blob, decision, reason)
    record.edits = edit_rows(c.built)
    record.candidate = c.number
    record.parent = c.parent if c.parent != bout.before.blob else ""
    return record


def _bare(bout: Bout, blob: str, decision: str, reason: str) -> StepRecord:
    return StepRecord(
        kind=bout.kind,
        step=bout.step,
        epoch=bout.epoch,
        decision=decision,
        reason=reason,
        document=blob,
        document_before=bout.before.blob,
        learning_rate=bout.budget,
    )


def _plain(record: StepRecord) -> dict[str, Any]:
    return {key: value for key, value in asdict(record).items() if key not in _IN_RECORD}


def edit_rows(built: Candidate) -> list[dict[str, Any]]:
    """Edits and what became of them, as a record keeps them."""
    rows: list[dict[str, Any]] = redact_json([_edit(outcome) for outcome in built.outcomes])
    return rows


def _edit(outcome: EditOutcome) -> dict[str, Any]:
    found = {key: value for key, value in asdict(outcome).items() if key not in ("edit", "document", "reason")}
    return {**asdict(outcome.edit), **found, "why": outcome.reason}


def _remembered(built: Candidate, parent: str, record: StepRecord) -> dict[str, str]:
    """What reflection is told of a rejected candidate."""
    lines = [f"{o.edit.op}: {o.edit.content or o.edit.target}" for o in built.applied]
    reached = "at best " if record.maximum is not None else ""
    number = scores.decimal(exact_number(record.maximum or record.score))
    text = "\n".join(
        [*lines, f"(scored {reached}{number}, the incumbent {scores.decimal(exact_number(record.before))})"]
    )
    return {"document": parent, "text": redact(text)}
