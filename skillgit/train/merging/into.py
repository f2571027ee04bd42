"""Bring the best document to the base branch (DESIGN, section 2: best_skill.md is the merge result)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from skillgit.config import SkillSettings
from skillgit.errors import ConflictError, RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.merging import MergedTree, best_path, merge_tree, move_checked_out
from skillgit.store.objects import Entry
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.trailers import format_message, subject_line
from skillgit.store.transactions import RefUpdate
from skillgit.train.archive import documents, history
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.refusals import refuse_symbolic
from skillgit.train.events import Listener, StageStarted
from skillgit.train.gate import Verdict, decide
from skillgit.train.scoring.measure import measure_all
from skillgit.train.scoring.scores import by_metric, decimal
from skillgit.train.session import Session
from skillgit.train.start import recover

Judge = Callable[[Placed, Placed], Awaitable[Verdict]]
"""Gates (merged document, base document as it stands now): called only where people changed the base's document."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did. `commit` is None where the base already has it all."""

    into: str
    commit: str | None
    document: str
    best_file: str
    verdict: Verdict | None
    score: Fraction | None


class WithSession(Protocol):
    """Runs a piece of work on a session that is opened only now."""

    def __call__(self, work: Callable[[Session], Awaitable[Verdict]]) -> Awaitable[Verdict]: ...


def gate_documents(with_session: WithSession) -> Judge:
    """The gate of a merge: both documents measured anew on val, strictly better or not at all."""

    async def judge(merged: Placed, theirs: Placed) -> Verdict:
        async def work(session: Session) -> Verdict:
            settings = session.settings.evaluation
            measured = []
            for placed in (theirs, merged):
                session.tell(StageStarted(0, 0, "gate", len(session.val) * settings.repeats))
                roller = session.roller("merge")
                found, _ = await measure_all(
                    roller, placed.text, placed.blob, session.val, settings.repeats, session.tell
                )
                measured.append(by_metric(found, session.metric))
            return decide(measured[0], measured[1], session.gate)

        return await with_session(work)

    return judge


async def merge(
    repo: Repository,
    name: str,
    settings: SkillSettings,
    into: str,
    judge: Judge,
    *,
    lock: SkillLock,
    tell: Listener = lambda _: None,
) -> Merged:
    """Make a `--no-ff` merge commit on `into`, in the checked-out work tree as well where there is one.

    Args:
        lock: the skill's, held. What its last owner left half done is brought to its end first.

    Raises:
        RepositoryError: no such branch, or nothing trained yet.
        RefusedError: a conflict, a merged document that does not beat the base's, local changes in the way.
    """
    refs, path = SkillRefs(name), settings.document
    recover(repo, name, lock, tell)
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
    placed, target_file = documents.read(repo, best, path), best_path(path)
    on_base = documents.blob_at(repo, base, path)
    copy, held = documents.blob_at(repo, base, target_file), repo.objects.is_ancestor(best, base)
    # Merged before; or nothing was learned, and a merge would only say so.
    if held and on_base and (on_base == copy or (copy is None and on_base == placed.blob)):
        score = history.known_score(history.latest(repo, name), on_base, settings)
        return Merged(into, None, path, target_file, None, score)
    result = merge_tree(repo, base, best)
    merged, verdict = await _document(repo, path, result, base, placed, judge)
    score = history.known_score(history.latest(repo, name), merged.blob, settings)
    tree = _tree(repo, path, target_file, result, merged)
    message = _message(repo, name, into, best, merged, score)
    # A best that the base holds is no second parent: only best_skill.md has to be written again.
    commit = repo.objects.write_commit(tree, [base] if held else [base, best], message)
    move = RefUpdate(base_ref, base, commit)
    move_checked_out(repo, repo.checked_out_at(base_ref), move, f"skillgit merge {name}: {best[:12]}", lock=lock)
    return Merged(into, commit, path, target_file, verdict, score)


async def _document(
    repo: Repository, path: str, result: MergedTree, base: str, placed: Placed, judge: Judge
) -> tuple[Placed, Verdict | None]:
    """The best document, or, where people changed the base's meanwhile, a three-way result that beats theirs."""
    theirs = documents.read(repo, base, path)
    entry = repo.objects.entry(result.tree, path)
    if theirs.blob == placed.blob or (entry is not None and path not in result.conflicts and entry.oid == placed.blob):
        return placed, None
    if path in result.conflicts or entry is None:
        shown = repo.objects.read_blob(entry.oid).decode(errors="replace") if entry else "(one side deleted it)"
        raise ConflictError(
            f"{path}: the base branch and the best document changed the same lines",
            mend="merge the base into the training branch by hand, or train again from the base's document",
            shown=shown,
        )
    if entry.oid == theirs.blob:
        raise RefusedError(
            f"{path}: people changed it on the base branch, and training has found nothing better since",
            mend="train again: it starts from their document",
        )
    merged = documents.read_blob(repo, entry.oid, theirs.mode, f"{path} merged")
    verdict = await judge(merged, theirs)
    if verdict.decision != "accept":
        raise RefusedError(
            f"{path}: merged with the changes on the base branch it is not better than the document there: "
            f"{verdict.reason}",
            mend="train again: it starts from the base's document",
        )
    return merged, verdict


def _tree(repo: Repository, path: str, target_file: str, result: MergedTree, merged: Placed) -> str:
    """The merge of all other files, with the document at its own path and as best_skill.md."""
    others = sorted(set(result.conflicts) - {path, target_file})
    if others:
        raise RefusedError(f"the merge conflicts in {', '.join(others[:5])}", mend="merge those files by hand first")
    entries: dict[str, Entry | None] = {
        path: Entry(merged.mode, merged.blob),
        target_file: Entry(0o100644, merged.blob),
    }
    return repo.objects.write_tree(entries, result.tree)


def _message(repo: Repository, name: str, into: str, best: str, merged: Placed, score: Fraction | None) -> str:
    journal = history.latest(repo, name)
    trailers = [("Skill-Name", name)]
    if journal is not None:
        trailers.append(("Skill-Run", journal.info.run))
    trailers.append(("Skill-Kind", "merge"))
    if score is not None and journal is not None:
        trailers += [
            ("Skill-Score", decimal(score)),
            ("Skill-Blob", merged.blob),
            ("Skill-Val", journal.state.val),
            ("Skill-Target", str(journal.state.target.get("name", ""))),
        ]
    else:
        trailers.append(("Skill-Blob", merged.blob))
    why = f"The document of {best} is the best measured one of skill {name}."
    return format_message(subject_line(name, f"merge the best document into {into}"), why, trailers)
