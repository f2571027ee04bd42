"""Verdicts, decided again from the recorded scores with the rule of the run. Pure but for loading a gate plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from skillgit.config import EvaluationSettings
from skillgit.errors import ConfigError, MeasurementError, RefusedError
from skillgit.train.archive.journal import ACCEPTED, RunInfo, StepRecord, exact_text
from skillgit.train.gate import GateSettings, Verdict, decide, gate_settings, race
from skillgit.train.repair.reading import Link, measurement
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Measurement, Metric, by_metric, metric_of
from skillgit.train.trace.attribute import NO_WORSE, no_worse

GATED = ("step", "slow-update")
"""Kinds of entries that the loop itself brings to the gate."""
_GATE = re.compile(
    r"(?P<mode>\S+) (?P<metric>hard|soft|mixed)(?:\((?P<weight>[\d.]{1,20})\))?(?: z=(?P<z>[\d.]{1,20}))?"
    r"(?: epsilon=(?P<epsilon>[\d.]{1,20}))?(?P<falls> no_regression)? n=\d{1,9}(?: missing=\d{1,9})?"
    r" repeats=(?P<repeats>\d{1,9})"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """How a run measures and judges."""

    evaluation: EvaluationSettings
    imported: bool = False

    @property
    def metric(self) -> Metric:
        """What the gate compares."""
        return metric_of(self.evaluation)

    def forced(self, kind: str) -> bool:
        """Whether candidates of such an entry were accepted whatever the gate said."""
        chosen = self.evaluation
        return not chosen.use_gate or (kind == "slow-update" and not chosen.slow_update_gate_with_selection)

    def text(self, *, tasks: int, missing: int) -> str:
        """`Skill-Gate`, in full."""
        chosen = self.evaluation
        asked = {"paired": f" z={chosen.z:g}", "margin": f" epsilon={chosen.epsilon:g}"}.get(chosen.gate_mode, "")
        extra = " no_regression" if chosen.no_regression else ""
        lost = f" missing={missing}" if missing else ""
        n = tasks - missing
        return f"{chosen.gate_mode} {self.metric}{asked}{extra} n={n}{lost} repeats={chosen.repeats}"


def rules_of(info: RunInfo) -> Rules:
    """The rules that a run began with.

    Raises:
        RefusedError: its settings are not what this version reads.
    """
    if "import" in info.settings:
        return Rules(EvaluationSettings(), imported=True)
    found = info.settings.get("evaluation")
    if not isinstance(found, dict):
        raise RefusedError("run.json: settings: there is no evaluation")
    known = {key: value for key, value in found.items() if key in EvaluationSettings.model_fields}
    try:
        return Rules(EvaluationSettings.model_validate(known))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RefusedError(f"run.json: settings: evaluation: {where}: {first['msg']}") from None


def rules_in(text: str, rules: Rules) -> Rules | None:
    """The rules that a `Skill-Gate` trailer names; None where it cannot be read.

    A change that a person asked for is judged with the settings of its day, which are written nowhere else.
    """
    found = _GATE.fullmatch(text)
    if found is None:
        return None
    named: dict[str, Any] = {
        "gate_mode": found["mode"],
        "gate_metric": found["metric"],
        "no_regression": bool(found["falls"]),
        "repeats": int(found["repeats"]),
    }
    numbers = {"gate_mixed_weight": found["weight"], "z": found["z"], "epsilon": found["epsilon"]}
    try:
        named |= {key: float(number) for key, number in numbers.items() if number is not None}
        return Rules(EvaluationSettings.model_validate({**rules.evaluation.model_dump(), **named}))
    except (ValidationError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate, judged again.

    Args:
        verdict: of the gate. decision: what becomes of it, unless another candidate of the step wins.
        measured: its scores.
    """

    record: StepRecord
    rules: Rules
    verdict: Verdict
    decision: str
    measured: Measurement


class UndecidedError(RefusedError):
    """The recorded scores and settings lead to no verdict; `plugin` says whether that is for want of one."""

    def __init__(self, message: str, *, plugin: bool = False) -> None:
        super().__init__(message)
        self.plugin = plugin


def judged(record: StepRecord, known: Mapping[str, Measurement], before: Link, rules: Rules, *, forced: bool) -> Judged:
    """Judge a candidate from the scores in its record and those of the incumbent in the entry before.

    Raises:
        UndecidedError: that cannot be done; says why.
    """
    incumbent = known.get(record.document_before)
    if incumbent is None:
        raise UndecidedError(f"the entry before has no scores of {record.document_before[:12]}")
    try:
        measured = measurement(record.scores, "scores")
        verdict = _verdict(by_metric(incumbent, rules.metric), by_metric(measured, rules.metric), rules, forced=forced)
    except ConfigError as error:
        raise UndecidedError(error.message, plugin=True) from None
    except (MeasurementError, RefusedError) as error:
        raise UndecidedError(error.message) from None
    if verdict.decision == "indecisive":
        return Judged(record, rules, verdict, "indecisive", measured)
    if forced:
        return Judged(record, rules, verdict, "forced", measured)
    best = known.get(before.state.best)
    better = verdict.decision == "accept" and (
        beats(best, measured, rules) or (_may_tie(record, rules) and as_good(best, measured, rules))
    )
    return Judged(record, rules, verdict, "accept-best" if better else verdict.decision, measured)


def _verdict(current: Mapping[str, Any], candidate: Mapping[str, Any], rules: Rules, *, forced: bool) -> Verdict:
    if forced:
        return decide(current, candidate, _gate(rules), whole=True)
    extra = sorted(set(candidate) - set(current))
    if extra:
        raise MeasurementError(f"{extra[0]!r} is no task of the incumbent's")
    found = race(current, candidate, _gate(rules))
    if found is None:
        raise MeasurementError(f"{len(candidate)} of {len(current)} tasks do not decide")
    return found


def _gate(rules: Rules) -> GateSettings:
    chosen = rules.evaluation
    if chosen.gate_mode == NO_WORSE:
        return GateSettings(NO_WORSE, chosen.no_regression, chosen.min_coverage, rule=no_worse)
    return gate_settings(chosen)


def beats(best: Measurement | None, measured: Measurement, rules: Rules) -> bool:
    """Whether a document is better than the best one, on the tasks that both have a score for."""
    if best is None:
        return False
    settings = GateSettings("strict", min_coverage=rules.evaluation.min_coverage)
    try:
        verdict = decide(by_metric(best, rules.metric), by_metric(measured, rules.metric), settings)
    except MeasurementError:
        return False
    return verdict.decision == "accept"


def as_good(best: Measurement | None, measured: Measurement, rules: Rules) -> bool:
    """Whether the best document does not beat it, on the tasks that both have a score for."""
    settings = GateSettings("strict", min_coverage=rules.evaluation.min_coverage)
    try:
        own = by_metric(measured, rules.metric)
        return best is not None and decide(own, by_metric(best, rules.metric), settings).decision == "reject"
    except MeasurementError:
        return False


def _may_tie(record: StepRecord, rules: Rules) -> bool:
    """Whether a document that is only as good as the best one becomes that: where what carries nothing is taken out,
    and, as its record says, where a step that was trained elsewhere is tried again."""
    return rules.evaluation.gate_mode == NO_WORSE or (record.kind == "retry" and record.decision == "accept-best")


def winner(found: Sequence[Judged]) -> Judged | None:
    """The best of those that the gate accepts: the others are kept as rejected."""

    def height(one: Judged) -> tuple[Fraction, int]:
        reached = one.verdict.score if one.verdict.score is not None else one.verdict.maximum
        return (Fraction(-1) if reached is None else reached, -one.record.candidate)

    return max((one for one in found if one.decision in ACCEPTED), key=height, default=None)


def told(one: Judged, won: Judged | None, incumbent: Measurement) -> Iterator[tuple[str, Any, Any]]:
    """(field, what the record says, what it has to say), for each field that a verdict decides."""
    record, verdict = one.record, one.verdict
    decision = "reject" if one.decision in ACCEPTED and one is not won else one.decision
    yield "decision", record.decision, decision
    yield "score", record.score, exact_text(verdict.score)
    yield "maximum", record.maximum, exact_text(verdict.maximum)
    yield "before", record.before, exact_text(verdict.before)
    compared = scores.compared(one.measured, incumbent) if verdict.maximum is None else {}
    yield "score_hard", record.score_hard, exact_text(scores.mean(compared, scores.HARD))
    yield "score_soft", record.score_soft, exact_text(scores.mean(compared, scores.SOFT))
    yield "prefix", record.prefix, verdict.prefix
    yield "val_tasks", record.val_tasks, verdict.tasks
    yield "gained", record.gained, list(verdict.gained)
    yield "lost", record.lost, list(verdict.lost)


def whole(record: StepRecord, measured: Measurement, metric: Metric) -> Iterator[tuple[str, Any, Any]]:
    """The same of an entry that measured a document by itself."""
    yield "score", record.score, exact_text(scores.mean(measured, metric))
    yield "score_hard", record.score_hard, exact_text(scores.mean(measured, scores.HARD))
    yield "score_soft", record.score_soft, exact_text(scores.mean(measured, scores.SOFT))
    yield "prefix", record.prefix, len(measured)
    yield "val_tasks", record.val_tasks, len(measured)


def with_costs(record: StepRecord, main: StepRecord) -> StepRecord:
    """A record with the step's cost and models, which only the main one of a step keeps."""
    return replace(record, cost=main.cost, models=main.models)
