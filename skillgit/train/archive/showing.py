"""One decision whole: what a commit or a step of a skill is, what was measured of it, and what it cost.

A score is shown only of a document that was measured. A commit that a person rebased, amended, squashed or picked still
carries the trailers of the one that it was made from: they count only where it has the very same document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from skillgit.config import SkillSettings
from skillgit.store.commits import CommitInfo
from skillgit.store.repository import Repository
from skillgit.train.archive.attempts import Flip, flips
from skillgit.train.archive.costs import Spent, by_role
from skillgit.train.archive.documents import blob_at
from skillgit.train.archive.finding import Found, find, owner
from skillgit.train.archive.history import known_score
from skillgit.train.archive.journal import StepRecord, exact_number
from skillgit.train.archive.known import Knowledge, Known, from_notes
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.remarks import Remark, Remarks
from skillgit.train.archive.story import Entry, Steps, decimal
from skillgit.train.archive.told import Trailers, date_of, record_of
from skillgit.train.scoring.scores import metric_of


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of the very document that is shown.

    Args:
        score: the gate metric over all val tasks; maximum: instead, on an early rejection, what could still have been
            reached; before: the incumbent's, where it was compared with one.
        source: who says so: `journal`, `notes`, or `trailers`: the commit itself, where the journal is not here.
        where: the same for people.
    """

    score: Fraction | None
    maximum: Fraction | None
    before: Fraction | None
    source: str
    where: str

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        return {
            "score": decimal(self.score),
            "score_max": decimal(self.maximum),
            "before": decimal(self.before),
            "source": self.source,
            "where": self.where,
        }


@dataclass(frozen=True, slots=True)
class Shown:
    """A decision, whole.

    Args:
        document: the path. blob: the document in the commit, or the step's; None where there is none.
        entry: the journal's record of the candidate that the commit belongs to, or of the step that was asked for.
        edit: which of the candidate's edits the commit is, from 1, of how many; None for anything else.
        copied: the trailers' run and step, where they name a candidate that the commit is not, or not any more.
        several: whether the step measured more than one candidate.
        decided: when the journal's entry was made, ISO 8601 in UTC; empty where there is none.
        measured: None where the very document was not measured.
        tag: an annotated tag's message, where one was asked for.
    """

    name: str
    document: str
    commit: CommitInfo | None
    blob: str | None
    kind: str
    entry: Entry | None
    edit: tuple[int, int] | None
    copied: tuple[str, int] | None
    measured: Measured | None
    several: bool = False
    decided: str = ""
    flips: list[Flip] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    facts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    tag: str = ""
    diff: str = ""

    @property
    def edits(self) -> list[dict[str, Any]]:
        """The candidate's edits; each that was applied with the commit that brought it."""
        if self.entry is None:
            return []
        applied = iter(self.entry.record.commits)
        return [
            {**row, "commit": next(applied, None) if row.get("status") == "applied" else None}
            for row in self.entry.record.edits
        ]

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        entry, commit = self.entry, self.commit
        record = entry.record if entry else None
        verdict = None
        if entry is not None and record is not None:
            verdict = {
                "decision": record.decision,
                "reason": record.reason,
                "before": decimal(exact_number(record.before)),
                "score": decimal(entry.score),
                "score_max": decimal(exact_number(record.maximum)),
                "document": record.document,
            }
        return {
            "skill": self.name,
            "path": self.document,
            "commit": commit.oid if commit else None,
            "author": commit.author if commit else None,
            "at": date_of(commit.author_time) if commit else None,
            "decided": self.decided or None,
            "subject": commit.subject if commit else None,
            "document": self.blob,
            "kind": self.kind,
            "run": entry.run if entry else None,
            "step": record.step if record else None,
            "candidate": record.candidate if record and record.commits else None,
            "journal": (entry.journal or None) if entry else None,
            "edit": {"number": self.edit[0], "count": self.edit[1]} if self.edit else None,
            "copied": {"run": self.copied[0], "step": self.copied[1]} if self.copied else None,
            "measured": self.measured.to_json() if self.measured else None,
            "verdict": verdict,
            "edits": self.edits,
            "gained": [flip.to_json() for flip in self.flips if flip.way == "gained"],
            "lost": [flip.to_json() for flip in self.flips if flip.way == "lost"],
            "cost": {key: (record.cost if record else {}).get(key) for key in ("calls", "tokens", "usd")},
            "roles": [row.to_json() for row in self.spent],
            "notes": [remark.to_json() for remark in self.remarks],
            "facts": self.facts,
            "tag": self.tag or None,
            "diff": self.diff,
        }


def show(repo: Repository, name: str, settings: SkillSettings, text: str) -> Shown:
    """What a person asked for, whole.

    Args:
        text: a revision of git's, or a step: `7`, `RUN/7`, `7-02`; empty is the newest entry.

    Raises:
        UsageError: there is no such thing. RefusedError: its journal is not readable.
    """
    steps = Steps(repo, name)
    found = find(repo, name, settings, steps, text)
    entry, commit, path = found.entry, found.commit, found.path
    blob = blob_at(repo, commit.oid, path) if commit else (entry.record.document if entry else None)
    edit, copied = _place(name, found)
    remarks = Remarks(repo)
    return Shown(
        name=name,
        document=path,
        commit=commit,
        blob=blob,
        kind=_kind(name, found),
        entry=entry,
        edit=edit,
        copied=copied,
        measured=_measured(repo, name, settings, steps, found, blob),
        several=entry is not None and _several(steps, entry),
        decided=date_of(repo.objects.read_commit(entry.journal).commit_time) if entry and entry.journal else "",
        flips=flips(repo, name, steps, entry) if entry else [],
        spent=by_role(entry.record.cost) if entry else [],
        remarks=remarks.of(commit.oid) if commit else [],
        facts={
            "commit": remarks.facts(commit.oid) if commit else [],
            "document": remarks.facts(blob) if blob else [],
        },
        tag=found.tag,
        diff=_diff(repo, path, found),
    )


def _several(steps: Steps, entry: Entry) -> bool:
    """Whether the step of a candidate measured others."""
    beside = (one for one in steps.at(entry.run, entry.record.step) if one.journal == entry.journal)
    return bool(entry.record.others) or any(one.record.others for one in beside)


def _place(name: str, found: Found) -> tuple[tuple[int, int] | None, tuple[str, int] | None]:
    """Which edit of its candidate a commit is; or whose trailers it carries without being that commit."""
    if found.commit is None:
        return None, None
    if found.entry is not None:
        commits = found.entry.record.commits
        mine = found.commit.oid in commits
        return ((commits.index(found.commit.oid) + 1, len(commits)) if mine else None), None
    trailers = Trailers(found.commit.message)
    ours = trailers.text("Skill-Name") == name and trailers.edit is not None
    return None, (trailers.run, trailers.step) if ours and trailers.run and trailers.step is not None else None


def _kind(name: str, found: Found) -> str:
    """What it is: an entry's kind, a commit's own `Skill-Kind`, or a person's commit."""
    if found.entry is not None:
        return found.entry.record.kind
    trailers = Trailers(found.commit.message if found.commit else "")
    return trailers.text("Skill-Kind") or "step" if trailers.text("Skill-Name") == name else "person"


def _measured(
    repo: Repository, name: str, settings: SkillSettings, steps: Steps, found: Found, blob: str | None
) -> Measured | None:
    """What is known of a document: from its own entry, else from its own trailers, else from any journal or note."""
    entry, commit = found.entry, found.commit
    if blob is None or commit is None:
        return None  # a step that left no commit behind measured nothing
    last = entry is None or not entry.record.commits or commit.oid == entry.commit
    if entry is not None and last and entry.record.document == blob and entry.reached is not None:
        return _of_record(entry, "journal", f"run {entry.run[:10]} step {entry.record.step}")
    metric = metric_of(settings.evaluation)
    if entry is not None and not last:  # an edit before the last one: only its notes could know of it
        known = next((k for k in from_notes(repo, blob) if k.split == "val"), None)
        return _of_known(known, known.score(metric)) if known else None
    trailers = Trailers(commit.message)
    if trailers.text("Skill-Blob") == blob and trailers.text("Skill-Name") == name:
        claimed = _claimed(repo, settings, steps, trailers, record_of(commit, blob))
        if claimed is not None:
            return claimed
    digest = trailers.text("Skill-Val") or _digest(repo, steps)
    known = _search(repo, name, blob, digest)
    return _of_known(known, known.score(metric)) if known else None


def _claimed(
    repo: Repository, settings: SkillSettings, steps: Steps, trailers: Trailers, told: StepRecord
) -> Measured | None:
    """What trailers claim of the document that the commit has: as the journal has it, and in their own words only
    where no journal here could say otherwise."""
    claim = Entry("", told)
    tip = steps.tip(trailers.run) if trailers.run else None
    if trailers.run is not None and tip is not None and trailers.step is not None:
        entries = (one for entry in steps.at(trailers.run, trailers.step) for one in (entry, *entry.others))
        found = next((e for e in entries if e.record.document == told.document and e.reached is not None), None)
        return _of_record(found, "journal", f"run {found.run[:10]} step {found.record.step}") if found else None
    if tip is not None and claim.score is not None:  # a merge names a run, and no step
        last = read_journal(repo, tip)
        score = known_score(last, told.document, settings) if last.state.val == trailers.text("Skill-Val") else None
        if score is not None:
            return Measured(score, None, None, "journal", f"run {last.info.run[:10]}")
    if tip is not None or trailers.run is None:
        return None  # the journal does not know of it, or there can be none: anybody can write trailers
    return _of_record(claim, "trailers", "its own trailers") if claim.reached is not None else None


def _digest(repo: Repository, steps: Steps) -> str:
    """What the newest run measured on."""
    tip = steps.tip(steps.runs[0]) if steps.runs else None
    return read_journal(repo, tip).state.val if tip else ""


def _search(repo: Repository, name: str, blob: str, digest: str) -> Known | None:
    """A measurement of a document on the same val tasks; on any, where nothing says which they were."""
    knowledge = Knowledge(repo, name, [blob])
    newest = knowledge.newest(blob, "val")
    if newest is None or digest in ("", newest.digest):
        return newest
    return next((k for k in knowledge.of(blob) if k.split == "val" and k.digest == digest), None)


def _of_record(entry: Entry, source: str, where: str) -> Measured:
    record = entry.record
    return Measured(entry.score, exact_number(record.maximum), exact_number(record.before), source, where)


def _of_known(known: Known, score: Fraction) -> Measured:
    return Measured(score, None, None, "notes" if known.run is None else "journal", known.source)


def _diff(repo: Repository, path: str, found: Found) -> str:
    """What became of the document: the whole candidate's change, or one commit's own; empty where it is not here."""
    options = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--end-of-options")
    commit, entry = found.commit, found.entry
    if commit is None or (entry is not None and not entry.record.commits and not found.exact):
        blobs = (entry.record.came_from, entry.record.document) if entry else ()
        if len(set(blobs)) < 2:
            return ""
        return _said(repo, *options, *blobs)
    start = commit
    if entry is not None and commit.oid == entry.commit and not found.exact:
        start = repo.objects.read_commit(entry.record.commits[0])
    base = start.parents[0] if start.parents else repo.objects.write_tree({}, None)
    return _said(repo, *options, base, commit.oid, "--", f":(top,literal){path}")


def _said(repo: Repository, *args: str) -> str:
    result = repo.git(*args, check=False)
    return result.out.decode(errors="replace") if result.code == 0 else ""


def skill_of(repo: Repository, skills: Mapping[str, SkillSettings], text: str) -> str | None:
    """The skill that a revision says it is of, or the only one; None where that is not clear."""
    found = owner(repo, text)
    if found in skills:
        return found
    return next(iter(skills)) if len(skills) == 1 else None
