"""Bring the best document to the base branch (DESIGN, section 2: best_skill.md is the merge result)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError, SkillgitError
from skillgit.store.locks import SkillLock
from skillgit.store.merging import MergedTree, best_path, merge_tree
from skillgit.store.repository import Repository
from skillgit.train.archive import documents
from skillgit.train.archive.on_base import state
from skillgit.train.events import Listener, Note
from skillgit.train.gate import Verdict
from skillgit.train.merging import release
from skillgit.train.merging.conflict import Clash, End, clash
from skillgit.train.merging.gating import Judged, WithSession, judge
from skillgit.train.merging.plan import Plan, known_score, plan_of, refuse_lost, refuse_others
from skillgit.train.merging.resolve import Resolver, check_resolvable
from skillgit.train.merging.write import Chosen, write
from skillgit.train.session import Session
from skillgit.train.start import recover


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did. `commit` is None where the base already has it all.

    Args:
        tag: the release's ref; None where none was made.
        verdict: of the gate; None where people changed nothing, so that there was nothing to judge.
        score: of the merged document; None where nobody measured it. below_best: the best document's, where it is more.
        with_changes: the base has it merged with people's changes; only where there is no commit.
        resolution: why the optimizer settled conflicts as it did; None where there were none.
    """

    into: str
    commit: str | None
    document: str
    best_file: str
    verdict: Verdict | None
    score: Fraction | None
    tag: str | None = None
    below_best: Fraction | None = None
    resolution: str | None = None
    with_changes: bool = False

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        before = self.verdict.before if self.verdict else None
        return {
            "into": self.into,
            "commit": self.commit,
            "document": self.document,
            "best_file": self.best_file,
            "score": _decimal(self.score),
            "before": _decimal(before),
            "below_best": _decimal(self.below_best),
            "reason": self.verdict.reason if self.verdict else None,
            "resolution": self.resolution,
            "tag": self.tag,
        }


def _decimal(number: Fraction | None) -> float | None:
    return None if number is None else round(float(number), 6)


async def merge(
    repo: Repository,
    name: str,
    settings: SkillSettings,
    into: str,
    with_session: WithSession,
    *,
    lock: SkillLock,
    resolve: bool = False,
    tag: bool = True,
    tell: Listener = lambda _: None,
) -> Merged:
    """Make a `--no-ff` merge commit on `into`, in the checked-out work tree as well where there is one.

    Args:
        with_session: opens models, where a document has to be measured.
        lock: the skill's, held. What its last owner left half done is brought to its end first.
        resolve: let the optimizer settle conflicts of the document.
        tag: make a release tag on the commit.

    Raises:
        RepositoryError: no such branch, or nothing trained yet.
        ConflictError: both sides changed the same lines.
        RefusedError: a merged document that does not beat the base's, local changes in the way, a deleted document.
        ModelError, MeasurementError: models or environment are broken; nothing moved.
    """
    recover(repo, name, lock, tell)
    plan = plan_of(repo, name, settings, into)
    base_ref, target_file = f"refs/heads/{into}", best_path(plan.path)
    late = release.finish(repo, name, base_ref, lock)
    if late is not None:
        tell(Note(f"{late} was made: its transaction was interrupted"))
    copy, held = documents.blob_at(repo, plan.base, target_file), repo.objects.is_ancestor(plan.best, plan.base)
    # Merged before; or nothing was learned, and a merge would only say so.
    found = state(plan.theirs.blob, plan.placed.blob, copy) if held else "behind"
    if found in ("best", "merged"):
        score = known_score(plan, plan.theirs.blob)
        return Merged(into, None, plan.path, target_file, None, score, with_changes=found == "merged")
    result = merge_tree(repo, plan.base, plan.best)
    refuse_others(plan, result)
    chosen = await _document(plan, result, with_session, resolve=resolve)
    # A best that the base holds is no second parent: only best_skill.md has to be written again.
    parents = [plan.base] if held else [plan.base, plan.best]
    commit, made = write(plan, result, chosen, parents, tag=tag, lock=lock)
    judged = chosen.judged
    if judged is not None:
        _note(judged, tell)
    return Merged(
        into=into,
        commit=commit,
        document=plan.path,
        best_file=target_file,
        verdict=judged.verdict if judged else None,
        score=judged.verdict.score if judged else known_score(plan, chosen.placed.blob),
        tag=made,
        below_best=judged.below_best if judged else None,
        resolution=chosen.resolution.reason if chosen.resolution else None,
    )


def _note(judged: Judged, tell: Listener) -> None:
    """The merge is made, whatever becomes of the notes."""
    try:
        judged.notes()
    except SkillgitError as error:
        tell(Note(f"the scores could not be noted: {error}"))


async def _document(plan: Plan, result: MergedTree, with_session: WithSession, *, resolve: bool) -> Chosen:
    """The best document, or, where people changed the base's meanwhile, a three-way result that beats theirs."""
    path, theirs, placed = plan.path, plan.theirs, plan.placed
    entry = plan.repo.objects.entry(result.tree, path)
    if theirs.blob == placed.blob or (entry is not None and path not in result.conflicts and entry.oid == placed.blob):
        return Chosen(placed)
    if path in result.conflicts:
        branch = f"skill/{plan.name}"
        found = clash(plan.repo, plan.name, path, End(plan.into, plan.base), End(branch, plan.best))
        if not resolve:
            raise found.error(
                f"{path}: the base branch and the best document changed the same lines",
                mend=f"let the optimizer settle it with --resolve, or merge {plan.into} into {branch} by hand",
            )
        check_resolvable(path, found.pieces)
        refuse_lost(plan, result, None)
        return await with_session(lambda session: _resolved(plan, found, session), optimizer=True)
    if entry is None:
        raise RefusedError(f"{path}: a merge would delete or move it", mend="merge by hand")
    if entry.oid == theirs.blob:
        raise RefusedError(
            f"{path}: people changed it on the base branch, and training has found nothing better since",
            mend="train again: it starts from their document",
        )
    merged = documents.read_blob(plan.repo, entry.oid, theirs.mode, f"{path} merged")
    refuse_lost(plan, result, merged)
    judged = await with_session(lambda session: judge(session, merged, theirs, placed.blob))
    if judged.verdict.decision != "accept":
        raise RefusedError(
            f"{path}: merged with the changes on the base branch it is not better than the document there: "
            f"{judged.verdict.reason}",
            mend="train again: it starts from the base's document",
        )
    return Chosen(merged, judged)


async def _resolved(plan: Plan, found: Clash, session: Session) -> Chosen:
    """A resolution that beats the base's document.

    Raises:
        RefusedError: none did.
    """
    resolver = Resolver(session, found, f"merge/{plan.best}/{plan.base}", plan.theirs.text)
    said = ""
    while (resolution := await resolver.next()) is not None:
        blob = plan.repo.objects.write_blob(resolution.document.encode())
        merged = documents.read_blob(plan.repo, blob, plan.theirs.mode, f"{plan.path} resolved")
        judged = await judge(session, merged, plan.theirs, plan.placed.blob)
        if judged.verdict.decision == "accept":
            return Chosen(merged, judged, resolution)
        said = judged.verdict.reason
        resolver.refuse(resolution, said)
    raise RefusedError(
        f"{plan.path}: no resolution is better than the document on {plan.into}: {said}",
        mend=f"merge {plan.into} into skill/{plan.name} by hand and train on",
    )
