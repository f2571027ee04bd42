"""The journal of a run: what a step recorded, and the state that the next one starts from (DESIGN, section 2).

A journal commit's tree has `run.json` (what the run is), `state.json` (where it stands), `scores.json` (the val
scores of the incumbent and of the best document) and `step.json` (this step; earlier ones are in the history).
Numbers are `num/den`. There is no task text in it, and no model text beyond the edits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, TypeVar

from skillgit.errors import RefusedError
from skillgit.store.refs import is_run_id
from skillgit.train.archive import forms

D = TypeVar("D", "RunInfo", "RunState", "StepRecord")

FORMAT = 1

ACCEPTED = ("accept-best", "accept", "forced")
"""Decisions that make a candidate the incumbent."""


def exact_text(number: Fraction | None) -> str | None:
    """`num/den`, as records keep a score."""
    return None if number is None else f"{number.numerator}/{number.denominator}"


def exact_number(text: str | None) -> Fraction | None:
    """The inverse of `exact_text`.

    Raises:
        ValueError: no score of 0 to 1.
    """
    return None if text is None else forms.score(text)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What does not change during a run.

    Args:
        clone: names the repository that it was begun in (`skillgit.store.clones`); empty where an older version did
            not say.
    """

    run: str
    skill: str
    document: str
    base: str
    settings: dict[str, Any]
    total_steps: int
    format: int = FORMAT
    clone: str = ""


@dataclass(slots=True)
class RunState:
    """Where a run stands after a step.

    Args:
        status: `running`, or `finished` with a reason.
        step: the last finished step; 0 is the baseline. epoch: from 1, of the next step.
        tip: the commit that the branch is at. incumbent: the blob of its document.
        best: the blob of the best measured document. best_commit: where it stands.
        val, target: what the scores were measured on (digest) and with (name and settings).
        previous: the blob of the document at the end of the epoch before; empty in the first one.
        closing: the epoch's steps are done, its slow update and its tag are not.
        tried: blobs rejected in this run.
        rejected: short texts of rejected candidates, earlier runs' included, for reflection on the same document.
        idle: steps in a row in which nothing failed. barren: steps in a row without an accepted candidate; those
            whose replies could not be used do not count.
        pool: blobs of documents that may be parents, with `train.parent: pareto`. merged: pairs of them that were
            merged, `blob+blob`.
        rejoin: last commits of candidates that are owed another try, since another training was joined.
        unusable: optimizer calls in a row without a usable reply. indecisive: verdicts in a row.
        answered: whether the optimizer gave any usable reply in this run; True where an older version did not say.
    """

    tip: str
    incumbent: str
    best: str
    best_commit: str
    val: str
    target: dict[str, Any]
    status: str = "running"
    reason: str = ""
    step: int = 0
    epoch: int = 1
    previous: str = ""
    closing: bool = False
    tried: list[str] = field(default_factory=list)
    rejected: list[dict[str, str]] = field(default_factory=list)
    pool: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    rejoin: list[str] = field(default_factory=list)
    idle: int = 0
    barren: int = 0
    unusable: int = 0
    answered: bool = True
    indecisive: int = 0
    accepted_count: int = 0
    rejected_count: int = 0


@dataclass(slots=True)
class StepRecord:
    """One step, or another event of the run: `baseline`, `step`, `slow-update`, `human`, `remeasure`, `end`.

    Args:
        decision: `accept-best`, `accept`, `forced`, `reject`, `indecisive`, `none`; for other kinds the kind itself.
        candidate: which of the step's candidates this is, from 1; the last part of a rejected ref's name.
        others: records of the step's other measured candidates, in this form, without their cost.
        parent: the blob that the edits were proposed for, where that is not the incumbent's.
        score: over all val tasks. maximum: on an early rejection, what it could still have reached.
        before: the incumbent's score on the same tasks.
        document_before, document: blobs of the incumbent and of the candidate.
        commits: the candidate's commits, in order of application.
        batch: the train tasks' scores. scores: the candidate's val scores up to the deciding prefix.
        refs: the transaction: `[ref, old, new]`, what a crash is rolled forward from.
    """

    kind: str
    step: int
    epoch: int
    decision: str
    reason: str
    document: str
    document_before: str
    learning_rate: int = 0
    score: str | None = None
    score_hard: str | None = None
    score_soft: str | None = None
    maximum: str | None = None
    before: str | None = None
    best: str | None = None
    prefix: int = 0
    val_tasks: int = 0
    gained: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    edits: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    batch: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    refs: list[list[str | None]] = field(default_factory=list)
    candidate: int = 1
    parent: str = ""
    others: list[dict[str, Any]] = field(default_factory=list)

    @property
    def came_from(self) -> str:
        """The blob that the document came from: its parent's, or the incumbent's."""
        return self.parent or self.document_before

    @property
    def accepted(self) -> bool:
        """Whether its document became the incumbent."""
        return self.decision in ACCEPTED


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal commit, read."""

    commit: str
    info: RunInfo
    state: RunState
    record: StepRecord
    scores: dict[str, dict[str, Any]]
    """Val scores by blob, encoded as `skillgit.train.scoring.scores.encode` does."""


_RULES: dict[str, forms.Fits] = {
    **dict.fromkeys(forms.IDS, forms.is_id),
    **dict.fromkeys(forms.SCORES, forms.is_score),
    "commits": forms.each(forms.is_id),
    "rejoin": forms.each(forms.is_id),
    "edits": forms.each(forms.is_edit),
    "cost": forms.is_cost,
}


def _is_run(value: Any) -> bool:
    return type(value) is str and is_run_id(value)


_FORMS: dict[type, dict[str, forms.Fits]] = {
    RunInfo: forms.table(RunInfo, {"document": forms.is_path, "run": _is_run}),
    RunState: forms.table(RunState, {**_RULES, "best": forms.is_id}),
    StepRecord: forms.table(StepRecord, {**_RULES, "best": forms.is_score, "document": forms.is_id}),
}
_NEEDED: dict[type, frozenset[str]] = {
    kind: frozenset(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
    for kind in _FORMS
}


def to_files(info: RunInfo, state: RunState, record: StepRecord, scores: Mapping[str, Any]) -> dict[str, bytes]:
    """The journal commit's tree, path to bytes. Equal values give equal bytes, so unchanged files share a blob."""
    return {
        "run.json": _dump(asdict(info)),
        "state.json": _dump(asdict(state)),
        "scores.json": _dump(dict(scores)),
        "step.json": _dump(asdict(record)),
    }


def from_files(commit: str, files: Mapping[str, bytes]) -> Journal:
    """The inverse of `to_files`.

    Raises:
        RefusedError: not a journal, or one of a newer skillgit.
    """
    info = load(RunInfo, files.get("run.json"), commit)
    state = load(RunState, files.get("state.json"), commit)
    record = load(StepRecord, files.get("step.json"), commit)
    return Journal(commit, info, state, record, _object(files.get("scores.json"), commit))


def load(kind: type[D], data: bytes | None, commit: str) -> D:
    """One file of a journal commit.

    Raises:
        RefusedError: not what this version writes.
    """
    value = _object(data, commit)
    if value.get("format", FORMAT) != FORMAT:
        raise RefusedError(f"journal {commit[:12]} was written by a newer skillgit", mend="upgrade skillgit")
    found = _fields(kind, value, commit)
    if kind is StepRecord:
        for other in found.get("others", ()):
            _fields(StepRecord, other, commit)
            if other.get("others"):
                raise RefusedError(f"journal {commit[:12]} is not readable: others", mend="run `skillgit doctor`")
    return kind(**found)


def _fields(kind: type, value: Mapping[str, Any], commit: str) -> dict[str, Any]:
    """The fields of a dataclass, each of the form that it has to have; what this version does not know is left out."""
    found = {}
    for key, fits in _FORMS[kind].items():
        if key in value:
            found[key] = item = value[key]
            if not fits(item):
                raise RefusedError(f"journal {commit[:12]} is not readable: {key}", mend="run `skillgit doctor`")
    if lacking := _NEEDED[kind] - found.keys():
        raise RefusedError(
            f"journal {commit[:12]} is not readable: it has no {min(lacking)}", mend="run `skillgit doctor`"
        )
    return found


def _object(data: bytes | None, commit: str) -> dict[str, Any]:
    try:
        value = json.loads(data or b"")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RefusedError(f"journal {commit[:12]} is not readable", mend="run `skillgit doctor`")
    return value


def _dump(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
