"""Where a skill stands, read from the tips of refs and journals alone."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError
from skillgit.store import holding
from skillgit.store.commits import CommitInfo
from skillgit.store.locks import read_owner
from skillgit.store.merging import best_path
from skillgit.store.refs import HEADS, SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.documents import blob_at
from skillgit.train.archive.journal import Journal
from skillgit.train.archive.known import known_today
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.on_base import State, on_base
from skillgit.train.archive.story import decimal

REMOTES = "refs/remotes/"
COPIES = "refs/skillgit/remotes/"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A remote's training branch as it was last fetched.

    Args:
        ahead: commits of the branch here that it lacks. behind: its commits that the branch here lacks. None where
            there is no branch here.
    """

    remote: str
    ref: str
    commit: str
    ahead: int | None
    behind: int | None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the skill's lock.

    Args:
        since: ISO 8601. alive: whether the process runs; None where it is on another machine.
    """

    pid: int
    host: str
    since: str
    command: str
    alive: bool | None


@dataclass(frozen=True, slots=True)
class Status:
    """Where a skill stands. Scores are the gate metric on val; None where nothing was measured.

    Args:
        base_state: how the base's document stands to the best one; None where there is no best one, or no such base.
        merged: whether a merge would find nothing to do there.
        missing: refs of the branch and of the best document that the journals here know and that are gone.
        fetched_only: the branch was never here; training starts from the fetched one.
        unmeasured_commits: on the branch, by people, that no run has seen.
        run: the newest run; so are the other `run_` fields, `running` and `closing`.
        closing: the steps of an epoch are done, its end is not: the slow update and the tag are due.
        accepted: candidates, in `accepted_run`: the newest run that took steps, else the newest.
        rejected: candidates that refs keep, of all runs.
        published: the tip last pushed for review. unpublished: commits of the branch that it lacks.
    """

    name: str
    document: str
    branch: str | None
    best: str | None
    best_score: Fraction | None
    base: str
    base_commit: str | None
    base_state: State | None
    merged: bool
    unmeasured_base: bool
    unmeasured_commits: int
    run: str | None
    run_step: int
    run_steps: int
    running: bool
    run_reason: str
    accepted: int
    accepted_run: str | None
    rejected: int
    run_epoch: int
    closing: bool
    published: str | None
    unpublished: int | None
    remotes: list[Fetched]
    lock: Holder | None
    missing: list[str]
    fetched_only: bool

    def to_json(self) -> dict[str, Any]:
        """Stable keys; the score as a decimal."""
        return {**asdict(self), "best_score": decimal(self.best_score)}


def status(repo: Repository, name: str, settings: SkillSettings) -> Status:
    """Read where a skill stands; measures nothing."""
    refs, path = SkillRefs(name), settings.document
    branch, best = repo.read_ref(refs.branch), repo.read_ref(refs.best)
    base = settings.merge.into or (repo.head_branch() or "HEAD").removeprefix(HEADS)
    base_commit = repo.resolve(f"refs/heads/{base}" if base != "HEAD" else base)
    last = history.latest(repo, name)
    worked = history.latest_with_steps(repo, name) or last
    best_blob = blob_at(repo, best, path) if best else None
    theirs = blob_at(repo, base_commit, path) if base_commit else None
    copy = blob_at(repo, base_commit, best_path(path)) if base_commit else None
    found = on_base(repo, path, base_commit, best) if base_commit and best and best_blob else None
    if f"{HEADS}{base}" == refs.branch and found in ("person", "copy"):
        found = "behind"  # the tip's document is no base's, whoever wrote it: only another branch can be merged into
    published = repo.read_ref(refs.published)
    remotes = list(_fetched(repo, refs.branch, branch))
    fetched_only = last is not None and branch is None and bool(remotes) and not _begun_here(repo, name)
    return Status(
        name=name,
        document=path,
        branch=branch,
        best=best,
        best_score=known_today(repo, name, last, best_blob, settings) if best_blob else None,
        base=base,
        base_commit=base_commit,
        base_state=found,
        merged=found in ("best", "merged"),
        unmeasured_base=copy is not None and theirs not in (copy, best_blob),
        unmeasured_commits=_between(repo, branch, last.state.tip)[0] if branch and last else 0,
        run=last.info.run if last else None,
        run_step=last.state.step if last else 0,
        run_steps=last.info.total_steps if last else 0,
        running=last is not None and last.state.status == "running",
        run_reason=last.state.reason if last else "",
        accepted=worked.state.accepted_count if worked else 0,
        accepted_run=worked.info.run if worked else None,
        rejected=len(repo.list_refs(refs.rejected_prefix)),
        run_epoch=last.state.epoch if last else 0,
        closing=last is not None and last.state.status == "running" and last.state.closing,
        published=published,
        unpublished=_between(repo, branch, published)[0] if branch and published else None,
        remotes=remotes,
        lock=holder(repo, name),
        missing=list(_missing(refs, last, branch=fetched_only or branch is not None, best=best is not None)),
        fetched_only=fetched_only,
    )


def unmeasured(repo: Repository, branch: str, tip: str) -> Iterator[CommitInfo]:
    """The commits on the branch, newest first, that came after the tip that the newest journal knows."""
    listed = repo.git("rev-list", "--first-parent", branch, f"^{tip}", "--", check=False)
    for oid in listed.text.split("\n") if listed.code == 0 and listed.text else ():
        yield repo.objects.read_commit(oid)


def elsewhere(repo: Repository, name: str) -> list[str]:
    """Refs of fetched remotes that tell of a skill: all that is here where it was trained in another clone."""
    branch = SkillRefs(name).branch.removeprefix(HEADS)
    branches = [ref for ref in repo.list_refs(REMOTES) if ref.endswith(f"/{branch}")]
    return [*branches, *(ref for ref in repo.list_refs(COPIES) if name in ref.split("/")[4:])]


def holder(repo: Repository, name: str) -> Holder | None:
    """Who holds the skill's lock right now, or held it and died; None where it is free."""
    owner = read_owner(repo, name)
    if owner is None:
        return None
    here = owner.host == socket.gethostname()
    return Holder(owner.pid, owner.host, owner.started, owner.command, holding.alive(owner.pid) if here else None)


def _fetched(repo: Repository, ref: str, branch: str | None) -> Iterator[Fetched]:
    short = ref.removeprefix(HEADS)
    for copy, commit in repo.list_refs(REMOTES).items():
        remote = copy.removeprefix(REMOTES).removesuffix(f"/{short}")
        if copy == f"{REMOTES}{remote}/{short}":
            ahead, behind = _between(repo, branch, commit) if branch else (None, None)
            yield Fetched(remote, copy, commit, ahead, behind)


def _between(repo: Repository, ours: str, theirs: str) -> tuple[int, int]:
    """Commits that only the one has, and only the other, along first parents."""
    if ours == theirs:
        return 0, 0
    counted = repo.git("rev-list", "--left-right", "--count", "--first-parent", f"{ours}...{theirs}", check=False)
    if counted.code:
        return 0, 0  # a shallow history that does not reach the one from the other
    ahead, behind = counted.text.split("\t")
    return int(ahead), int(behind)


def _missing(refs: SkillRefs, last: Journal | None, *, branch: bool, best: bool) -> Iterator[str]:
    """Refs that the journals know of and that are not there."""
    if last is not None and not branch:
        yield refs.branch
    if last is not None and not best:
        yield refs.best


def _begun_here(repo: Repository, name: str) -> bool:
    """Whether a run was begun in this clone, so that the branch was here."""
    for _, tip in reversed(history.runs(repo, name)):
        try:
            if history.is_own(repo, read_journal(repo, tip)):
                return True
        except RefusedError:
            continue  # what cannot be read says nothing
    return False
