"""Bring the best document to the base branch (DESIGN, section 2: best_skill.md is the merge result)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.merging import MergedTree, best_path, check_checkout, merge_tree, move_checked_out
from skillgit.store.objects import Entry
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.trailers import format_message, subject_line
from skillgit.store.transactions import RefUpdate
from skillgit.train.archive import documents, history
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import Journal
from skillgit.train.archive.known import Knowledge
from skillgit.train.archive.refusals import refuse_symbolic
from skillgit.train.events import Listener, Note
from skillgit.train.gate import Verdict
from skillgit.train.merging import release
from skillgit.train.merging.conflict import Clash, End, clash
from skillgit.train.merging.gating import Judged, WithSession, judge
from skillgit.train.merging.resolution import Resolution
from skillgit.train.merging.resolve import Resolver, check_resolvable
from skillgit.train.scoring.scores import decimal
from skillgit.train.session import Session, metric_of
from skillgit.train.start import recover


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did. `commit` is None where the base already has it all.

    Args:
        tag: the release's ref; None where none was made.
        verdict: of the gate; None where people changed nothing, so that there was nothing to judge.
        score: of the merged document; None where nobody measured it. below_best: the best document's, where it is more.
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """Both ends of a merge, and the document of each."""

    repo: Repository
    name: str
    settings: SkillSettings
    into: str
    base: str
    best: str
    placed: Placed
    theirs: Placed

    @property
    def path(self) -> str:
        return self.settings.document


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The document that is merged, with the verdict and the resolution that it took."""

    placed: Placed
    judged: Judged | None = None
    resolution: Resolution | None = None


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
    plan = _plan(repo, name, settings, into)
    base_ref, target_file = f"refs/heads/{into}", best_path(plan.path)
    late = release.finish(repo, name, base_ref, lock.inherited)
    if late is not None:
        tell(Note(f"{late} was made: its transaction was interrupted"))
    copy, held = documents.blob_at(repo, plan.base, target_file), repo.objects.is_ancestor(plan.best, plan.base)
    # Merged before; or nothing was learned, and a merge would only say so.
    if held and (plan.theirs.blob == copy or (copy is None and plan.theirs.blob == plan.placed.blob)):
        return Merged(into, None, plan.path, target_file, None, _known_score(plan, plan.theirs.blob))
    result = merge_tree(repo, plan.base, plan.best)
    _refuse_others(plan, result, target_file)
    chosen = await _document(plan, result, with_session, resolve=resolve)
    # A best that the base holds is no second parent: only best_skill.md has to be written again.
    parents = [plan.base] if held else [plan.base, plan.best]
    commit, made = _write(plan, result, chosen, parents, tag=tag, lock=lock)
    judged = chosen.judged
    return Merged(
        into=into,
        commit=commit,
        document=plan.path,
        best_file=target_file,
        verdict=judged.verdict if judged else None,
        score=judged.verdict.score if judged else _known_score(plan, chosen.placed.blob),
        tag=made,
        below_best=judged.below_best if judged else None,
        resolution=chosen.resolution.reason if chosen.resolution else None,
    )


def _write(
    plan: _Plan, result: MergedTree, chosen: _Chosen, parents: list[str], *, tag: bool, lock: SkillLock
) -> tuple[str, str | None]:
    """The commit, its release tag, the work tree and the notes.

    Returns: the commit and the tag's ref.
    """
    repo, base_ref = plan.repo, f"refs/heads/{plan.into}"
    tree = repo.objects.write_tree(_entries(plan.path, chosen.placed), result.tree)
    commit = repo.objects.write_commit(tree, parents, _message(plan, chosen))
    below = chosen.judged.below_best if chosen.judged else None
    best = decimal(below) if below is not None else None
    tags = [release.release(repo, plan.name, commit, best)] if tag else []
    move = RefUpdate(base_ref, plan.base, commit)
    reflog = f"skillgit merge {plan.name}: {plan.best[:12]}"
    move_checked_out(repo, repo.checked_out_at(base_ref), move, reflog, others=tags, lock=lock)
    if chosen.judged is not None:
        chosen.judged.notes()
    return commit, tags[0].ref if tags else None


def _known_score(plan: _Plan, blob: str) -> Fraction | None:
    return history.known_score(history.latest(plan.repo, plan.name), blob, plan.settings)


def _plan(repo: Repository, name: str, settings: SkillSettings, into: str) -> _Plan:
    """Both ends, or why there is nothing to merge."""
    refs, path = SkillRefs(name), settings.document
    base_ref = f"refs/heads/{into}"
    base, best = repo.read_ref(base_ref), repo.read_ref(refs.best)
    if base is None:
        raise RepositoryError(f"there is no branch {into}", mend="name the base branch with --into")
    if base_ref == refs.branch:
        raise RefusedError(f"{into} is the training branch itself", mend="name the base branch with --into")
    if best is None:
        raise RepositoryError(f"{refs.best}: nothing was trained yet", mend=f"run `skillgit train {name}`")
    refuse_symbolic(repo, base_ref)
    repo.identity()
    for commit, label in ((base, into), (best, "the best commit")):
        if documents.blob_at(repo, commit, path) is None:
            raise RefusedError(
                f"{path} is not on {label}: it was deleted or renamed on one side",
                mend=f"bring it back there, or set the document's path in skillgit.yaml and train {name} again",
            )
    return _Plan(
        repo, name, settings, into, base, best, documents.read(repo, best, path), documents.read(repo, base, path)
    )


def _refuse_others(plan: _Plan, result: MergedTree, target_file: str) -> None:
    others = sorted(set(result.conflicts) - {plan.path, target_file})
    if others:
        raise RefusedError(f"the merge conflicts in {', '.join(others[:5])}", mend="merge those files by hand first")


async def _document(plan: _Plan, result: MergedTree, with_session: WithSession, *, resolve: bool) -> _Chosen:
    """The best document, or, where people changed the base's meanwhile, a three-way result that beats theirs."""
    path, theirs, placed = plan.path, plan.theirs, plan.placed
    entry = plan.repo.objects.entry(result.tree, path)
    if theirs.blob == placed.blob or (entry is not None and path not in result.conflicts and entry.oid == placed.blob):
        return _Chosen(placed)
    if path in result.conflicts:
        branch = f"skill/{plan.name}"
        found = clash(plan.repo, plan.name, path, End(plan.into, plan.base), End(branch, plan.best))
        if not resolve:
            raise found.error(
                f"{path}: the base branch and the best document changed the same lines",
                mend=f"let the optimizer settle it with --resolve, or merge {plan.into} into {branch} by hand",
            )
        check_resolvable(path, found.pieces)
        _check_checkout(plan, result, None)
        return await with_session(lambda session: _resolved(plan, found, session), optimizer=True)
    if entry is None:
        raise RefusedError(f"{path}: a merge would delete or move it", mend="merge by hand")
    if entry.oid == theirs.blob:
        raise RefusedError(
            f"{path}: people changed it on the base branch, and training has found nothing better since",
            mend="train again: it starts from their document",
        )
    merged = documents.read_blob(plan.repo, entry.oid, theirs.mode, f"{path} merged")
    _check_checkout(plan, result, merged)
    judged = await with_session(lambda session: judge(session, merged, theirs, placed.blob))
    if judged.verdict.decision != "accept":
        raise RefusedError(
            f"{path}: merged with the changes on the base branch it is not better than the document there: "
            f"{judged.verdict.reason}",
            mend="train again: it starts from the base's document",
        )
    return _Chosen(merged, judged)


def _check_checkout(plan: _Plan, result: MergedTree, merged: Placed | None) -> None:
    """What would be lost in the work tree is refused before a model is asked.

    Args:
        merged: the document to be; None where it is not known yet.

    Raises:
        RefusedError: names the file.
    """
    where = plan.repo.checked_out_at(f"refs/heads/{plan.into}")
    if where is None or (merged is None and _is_staged(plan, where)):
        return
    tree = plan.repo.objects.write_tree(_entries(plan.path, merged or plan.placed), result.tree)
    check_checkout(plan.repo, where, plan.base, tree)


def _is_staged(plan: _Plan, where: Path) -> bool:
    """Whether a merge lies in the index whose branch a crash kept from moving: this one completes it."""
    paths = (f":(top,literal){plan.path}", f":(top,literal){best_path(plan.path)}")
    listed = plan.repo.git("-C", str(where), "ls-files", "--stage", "-z", "--", *paths).text
    blobs = [line.split(" ")[1] for line in listed.split("\0") if line]
    return len(blobs) == 2 and blobs[0] == blobs[1] != plan.theirs.blob


def _entries(path: str, placed: Placed) -> dict[str, Entry | None]:
    """The document at its own path, and as best_skill.md beside it."""
    return {path: Entry(placed.mode, placed.blob), best_path(path): Entry(0o100644, placed.blob)}


async def _resolved(plan: _Plan, found: Clash, session: Session) -> _Chosen:
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
            return _Chosen(merged, judged, resolution)
        said = judged.verdict.reason
        resolver.refuse(resolution, said)
    raise RefusedError(
        f"{plan.path}: no resolution is better than the document on {plan.into}: {said}",
        mend=f"merge {plan.into} into skill/{plan.name} by hand and train on",
    )


def _message(plan: _Plan, chosen: _Chosen) -> str:
    journal = history.latest(plan.repo, plan.name)
    head = [("Skill-Name", plan.name), *([("Skill-Run", journal.info.run)] if journal else [])]
    head.append(("Skill-Kind", "merge"))
    why = f"The document of {plan.best} is the best measured one of skill {plan.name}."
    if chosen.judged is None:
        trailers = _known_trailers(plan, journal, chosen.placed.blob)
    else:
        trailers = chosen.judged.trailers
        why = f"The document of {plan.best}, merged with the changes on {plan.into}."
    if chosen.resolution is not None:
        why += f"\n\n{chosen.resolution.told}"
    return format_message(subject_line(plan.name, f"merge the best document into {plan.into}"), why, [*head, *trailers])


def _known_trailers(plan: _Plan, journal: Journal | None, blob: str) -> list[tuple[str, str]]:
    """What the journal knows of the best document, and of the one that it replaces where that compares."""
    score = history.known_score(journal, blob, plan.settings)
    if score is None or journal is None:
        return [("Skill-Blob", blob)]
    pair = Knowledge(plan.repo, plan.name, (blob, plan.theirs.blob)).pair(blob, plan.theirs.blob, "val")
    before = (
        pair[1].score(metric_of(plan.settings.evaluation)) if pair and pair[0].digest == journal.state.val else None
    )
    return [
        ("Skill-Score", decimal(score)),
        *([("Skill-Score-Before", decimal(before))] if before is not None else []),
        ("Skill-Blob", blob),
        ("Skill-Val", journal.state.val),
        ("Skill-Target", str(journal.state.target.get("name", ""))),
    ]
