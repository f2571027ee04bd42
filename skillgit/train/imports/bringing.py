"""Bring a run of another trainer in: whether it can be, and then in one piece."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from skillgit import strictyaml
from skillgit.config import SkillSettings
from skillgit.errors import RefusedError
from skillgit.store.locks import SkillLock
from skillgit.store.refs import HEADS, SkillRefs, new_run_id
from skillgit.store.repository import Repository
from skillgit.train.archive import documents, history
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.refusals import refuse_blocked, refuse_checked_out, refuse_symbolic
from skillgit.train.events import Listener
from skillgit.train.imports import skillopt
from skillgit.train.imports.chain import chain
from skillgit.train.imports.dressing import Dresser
from skillgit.train.imports.values import ImportedRun
from skillgit.train.imports.writing import Goal, write
from skillgit.train.start import base_of, recover


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import did, or, with `dry_run`, what it would do.

    Args:
        here: the run was imported before, and nothing moved.
        tip, best: commits; None with `dry_run`.
        best_score: the gate metric on SkillOpt's val tasks; None where it is not known.
    """

    skill: str
    document: str
    run: str
    digest: str
    here: bool
    dry_run: bool
    tip: str | None
    best: str | None
    best_score: Fraction | None
    best_step: int
    steps: int
    total_steps: int
    accepted: int
    rejected: int
    epochs: int
    left_out: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Stable keys; the score as a decimal."""
        found: dict[str, Any] = {key: getattr(self, key) for key in Brought.__slots__}
        found["best_score"] = None if self.best_score is None else round(float(self.best_score), 6)
        found["left_out"], found["notes"] = list(self.left_out), list(self.notes)
        return found


def bring(
    repo: Repository,
    lock: SkillLock,
    name: str,
    settings: SkillSettings,
    folder: Path,
    *,
    tell: Listener,
    dry_run: bool,
) -> Brought:
    """Import a SkillOpt run as skill `name`, whose lock is held.

    Raises:
        UsageError: no run in the folder, no document at the base, a secret in a document of the branch.
        RefusedError: the skill has a history already.
    """
    recover(repo, name, lock, tell)
    repo.identity()
    base = base_of(repo, settings)
    placed = documents.read_editable(repo, base, settings.document)
    run = chain(skillopt.read(folder), Dresser(placed.text))
    known = _known(repo, name, run.digest)
    if known is not None:
        return _brought(repo, name, settings, run, known, here=True, dry_run=dry_run)
    _refuse_history(repo, name)
    ident = new_run_id(run.started, bytes.fromhex(run.digest)[:10])
    if not dry_run:
        write(repo, lock, Goal(name, ident, base, settings.document, placed), run)
    return _brought(repo, name, settings, run, ident, here=False, dry_run=dry_run)


def settings_of(document: str) -> SkillSettings:
    """The settings of a skill that is not configured yet.

    Raises:
        ConfigError: the document cannot lie there.
    """
    return strictyaml.validate(SkillSettings, {"document": document, "env": "none"}, "--document", None)


def _known(repo: Repository, name: str, digest: str) -> str | None:
    """The run that was imported from the same folder before."""
    for run, tip in history.runs(repo, name):
        imported = read_journal(repo, tip).info.settings.get("import")
        if isinstance(imported, dict) and imported.get("digest") == digest:
            return run
    return None


def _refuse_history(repo: Repository, name: str) -> None:
    """A run is imported whole, as the beginning of a skill's history; one that began otherwise cannot be its base.

    Raises:
        RefusedError: there is a branch, a best document or a run, here or fetched.
    """
    refs = SkillRefs(name)
    short = refs.branch.removeprefix(HEADS)
    mend = "an import begins a skill's history: name another skill with --skill NAME"
    remote = next((ref for ref in repo.list_refs("refs/remotes/") if ref.split("/", 3)[-1] == short), None)
    there = next((ref for ref in (refs.branch, refs.best) if repo.read_ref(ref) is not None), remote)
    if there is None and history.runs(repo, name):
        there = refs.journals_prefix.rstrip("/")
    if there is not None:
        raise RefusedError(f"{there} is there already", mend=mend)
    refuse_checked_out(repo, refs.branch)
    refuse_blocked(repo, refs)
    refuse_symbolic(repo, refs.branch, refs.best)


def _brought(
    repo: Repository, name: str, settings: SkillSettings, run: ImportedRun, ident: str, *, here: bool, dry_run: bool
) -> Brought:
    refs = SkillRefs(name)
    best = run.best
    scored = best.scored if best is not None else run.baseline
    return Brought(
        skill=name,
        document=settings.document,
        run=ident,
        digest=run.digest,
        here=here,
        dry_run=dry_run,
        tip=repo.read_ref(refs.branch),
        best=repo.read_ref(refs.best),
        best_score=scored.score if scored is not None else None,
        best_step=best.step if best is not None else 0,
        steps=run.steps,
        total_steps=run.total_steps,
        accepted=sum(entry.accepted for entry in run.entries),
        rejected=sum(entry.decision == "reject" for entry in run.entries),
        epochs=sum(entry.closes for entry in run.entries),
        left_out=run.left_out,
        notes=run.notes,
    )
