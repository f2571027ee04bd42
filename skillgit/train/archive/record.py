"""Write a step: its objects first, then one ref transaction with the journal at its head (DESIGN, section 2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from skillgit.redact import redact_json
from skillgit.store.locks import SkillLock
from skillgit.store.objects import Entry
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs
from skillgit.train.archive.documents import Placed, replaced
from skillgit.train.archive.journal import Journal, RunInfo, RunState, StepRecord, to_files
from skillgit.train.archive.layout import SUBJECT
from skillgit.train.archive.messages import Place, edit_message
from skillgit.train.archive.refusals import refuse_checked_out
from skillgit.train.propose.candidate import EditOutcome
from skillgit.train.scoring.rollout import Rollout, encode_attempt

FILE_MODE = 0o100644


@dataclass(slots=True)
class Moves:
    """The refs that a step moves beside journal and evidence, each with the value it has to have now."""

    updates: list[RefUpdate] = field(default_factory=list)

    def add(self, ref: str, old: str | None, new: str) -> None:
        """Queue a move; one that changes nothing is left out."""
        if old != new:
            self.updates.append(RefUpdate(ref, old, new))


@dataclass(frozen=True, slots=True)
class Joined:
    """What the last commit of a candidate joins: the tree that its document is put in, and its further parents."""

    tree: str
    parents: tuple[str, ...]


class Archive(Protocol):
    """Where a skill's history is kept."""

    @property
    def repo(self) -> Repository:
        """The repository."""

    @property
    def refs(self) -> SkillRefs:
        """The skill's refs."""


def write_candidate(
    repo: Repository,
    path: str,
    tip: str,
    before: Placed,
    applied: Sequence[EditOutcome],
    place: Place,
    verdict: list[tuple[str, str]],
    *,
    kind: str = "step",
    joined: Joined | None = None,
) -> list[str]:
    """One commit per edit, each a whole document on top of the last; returns their ids."""
    commits: list[str] = []
    for number, outcome in enumerate(applied, start=1):
        last = number == len(applied)
        parent = commits[-1] if commits else tip
        joins = joined if last else None
        tree, _ = replaced(repo, joins.tree if joins else parent, path, outcome.document, before.mode)
        message = edit_message(place, number, len(applied), outcome, verdict if last else [], kind=kind)
        commits.append(repo.objects.write_commit(tree, [parent, *(joins.parents if joins else ())], message))
    return commits


def write_step(
    archive: Archive,
    lock: SkillLock,
    info: RunInfo,
    state: RunState,
    record: StepRecord,
    scores: Mapping[str, Any],
    *,
    previous: str | None,
    keeps: Sequence[str],
    moves: Moves,
    evidence: Mapping[str, list[dict[str, Any]]],
) -> str:
    """Journal, evidence and refs of one step: all or nothing.

    Args:
        previous: the journal's tip, None for a new run.
        keeps: commits that the journal keeps reachable.
        evidence: transcripts by file name, redacted here.

    Returns: the journal's new tip.

    Raises:
        RefMovedError: a ref no longer had its expected value; nothing moved.
    """
    repo, refs = archive.repo, archive.refs
    updates = [*moves.updates, *_evidence(archive, info, record.step, evidence)]
    record.refs = [[update.ref, update.old, update.new] for update in updates]
    files = to_files(info, state, record, scores)
    tree = tree_of(repo, files)
    subject = f"{SUBJECT}{info.skill} step {record.step} {record.decision}"
    parents = [*([previous] if previous else []), *keeps]
    journal = repo.objects.write_commit(tree, list(dict.fromkeys(parents)), subject + "\n")
    if any(update.ref == refs.branch for update in updates):
        refuse_checked_out(repo, refs.branch)  # somebody may have switched to it since the run began
    journal_update = RefUpdate(refs.journal(info.run), previous, journal)
    commit_refs(repo, [journal_update, *updates], f"skillgit: step {record.step}: {record.decision}", lock=lock)
    return journal


def end_run(archive: Archive, lock: SkillLock, last: Journal, reason: str) -> None:
    """Mark a run as finished without a step."""
    repo = archive.repo
    state = replace(last.state, status="finished", reason=reason)
    record = StepRecord(
        "end", state.step, state.epoch, "end", reason, document=state.incumbent, document_before=state.incumbent
    )
    tree = tree_of(repo, to_files(last.info, state, record, last.scores))
    commit = repo.objects.write_commit(tree, [last.commit], f"{SUBJECT}{last.info.skill} end\n")
    update = RefUpdate(archive.refs.journal(last.info.run), last.commit, commit)
    commit_refs(repo, [update], f"skillgit: {reason}", lock=lock)


def rollout_evidence(rollouts: Sequence[Rollout], blob: str) -> list[dict[str, Any]]:
    """Attempts as the evidence ref keeps them."""
    rows = []
    for rollout in rollouts:
        row: dict[str, Any] = {"document": blob, "task": rollout.task.id, "trial": rollout.trial}
        if rollout.attempt is None:
            row["error"] = rollout.error
        else:
            row.update(encode_attempt(rollout.attempt))
            row["input"] = rollout.task.input
        rows.append(row)
    return rows


def keep_evidence(
    archive: Archive, lock: SkillLock, info: RunInfo, step: int, evidence: Mapping[str, list[dict[str, Any]]]
) -> str:
    """Transcripts of a step that is not written, for diagnosis; where it is taken again, its own come on top.

    Returns: the ref that has them at its tip.

    Raises:
        RefMovedError, RefusedError: as `write_step`.
    """
    message = f"skillgit: step {step}: evidence of what stopped it"
    commit_refs(archive.repo, _evidence(archive, info, step, evidence), message, lock=lock)
    return archive.refs.evidence(info.run)


def _evidence(
    archive: Archive, info: RunInfo, step: int, evidence: Mapping[str, list[dict[str, Any]]]
) -> list[RefUpdate]:
    files = {name: _lines(rows) for name, rows in evidence.items() if rows}
    if not files:
        return []
    repo, ref = archive.repo, archive.refs.evidence(info.run)
    old = repo.read_ref(ref)
    message = f"skillgit evidence: {info.skill} step {step}\n"
    new = repo.objects.write_commit(tree_of(repo, files), [old] if old else [], message)
    return [RefUpdate(ref, old, new)]


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(redact_json(dict(row)), ensure_ascii=False) + "\n" for row in rows).encode()


def tree_of(repo: Repository, files: Mapping[str, bytes]) -> str:
    entries: dict[str, Entry | None] = {
        path: Entry(FILE_MODE, repo.objects.write_blob(content)) for path, content in files.items()
    }
    return repo.objects.write_tree(entries, None)
