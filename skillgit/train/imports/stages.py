"""What the files of a SkillOpt run say of its stages: where epochs end, and which document went on. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from skillgit.errors import MeasurementError
from skillgit.train.imports import scoring
from skillgit.train.imports.settings import steps_in_epoch
from skillgit.train.imports.values import RawRun, RawSlow, RawStep, Scored
from skillgit.train.scoring.scores import HARD, Metric

DECISIONS = {"accept_new_best": "accept-best", "accept": "accept", "force_accept": "forced", "reject": "reject"}
PLACEHOLDER = "inject_placeholder"
_REGION_END = "SLOW_UPDATE_END"


def ends_epoch(raw: RawRun, step: RawStep) -> bool:
    """Whether a step is the last one of its epoch."""
    epoch = step.record["epoch"]
    if step is not raw.steps[-1]:
        return bool(raw.steps[step.number].record["epoch"] != epoch)
    size = steps_in_epoch(raw.config)
    if size:
        return bool(step.number == epoch * size)
    return not raw.left_out and (bool(raw.summary) or epoch in raw.slow)


def slow_behind(raw: RawRun, step: RawStep) -> RawSlow | None:
    """The slow update that came behind a step."""
    return raw.slow.get(step.record["epoch"]) if ends_epoch(raw, step) else None


def closes_epoch(raw: RawRun, step: RawStep) -> bool:
    """Whether the epoch is whole with what came behind a step: a run can have stopped before the slow update."""
    waits = raw.config.get("use_slow_update") is True and step.record["epoch"] not in raw.slow
    return ends_epoch(raw, step) and not (waits and step is raw.steps[-1])


def brings(slow: RawSlow | None) -> bool:
    """Whether a slow update brought the document that the next step began with."""
    if slow is None or slow.candidate is None:
        return False
    return slow.result["action"] in DECISIONS and slow.result["action"] != "reject"


def went_on_with(step: RawStep, slow: RawSlow | None, current: str) -> tuple[str | None, str]:
    """The document that the next step began with, where it is not the slow update's, and what is wrong with its file.

    The file's length has to be the recorded one. At the end of the first epoch it is written again, with the empty
    region for guidance.
    """
    text, length = step.after, step.record.get("skill_len")
    if brings(slow):
        return None, ""
    if slow is not None and slow.result["action"] == PLACEHOLDER:
        return (text if text is not None and _REGION_END in text else None), ""
    if text is not None and (type(length) is not int or len(text) == length):
        return text, ""
    fine = text == current or len(current) == length
    return None, "" if fine else f"skills/skill_v{step.number:04d}.md is damaged or missing"


def damage(step: RawStep) -> str | None:
    """Why a candidate is not the text that was measured; None where it is."""
    if step.candidate is None:
        return "its candidate_skill.md is missing or cannot be read"
    digest = step.record.get("candidate_hash")
    if not isinstance(digest, str) or hashlib.sha256(step.candidate.encode()).hexdigest().startswith(digest):
        return None
    return "its candidate_skill.md is not the text that was measured"


def baseline(raw: RawRun, metric: Metric) -> Scored | None:
    """The first document's scores; None where they are not all there."""
    found = scoring.of_rows(raw.baseline, metric)
    hard = scoring.known(raw.summary.get("baseline_selection_hard"))
    if found is None or (hard is not None and scoring.matching(raw.baseline, hard, found.soft) is None):
        return None
    return found


def compared_first(raw: RawRun, metric: Metric) -> Fraction | None:
    """What the first gate compared with, where the first document's own scores are not all there."""
    summary = scoring.known(raw.summary.get("baseline_selection_hard"))
    if metric == HARD and summary is not None:
        return summary
    first: Mapping[str, Any] = raw.steps[0].record if raw.steps else {}
    unmoved = "accept" not in str(first.get("action", "accept"))
    return scoring.known(first.get("current_score")) if unmoved else None


def final(raw: RawRun, metric: Metric) -> Scored | None:
    """The last document's scores, where it was measured at the end of the run."""
    record = {f"selection_{name}": raw.summary.get(f"final_selection_{name}") for name in ("hard", "soft")}
    try:
        return scoring.scored(record, raw.final, metric)
    except MeasurementError:
        return None
