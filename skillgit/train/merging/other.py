"""Merge another training branch of a skill into its own (`skillgit merge NAME OTHER`), through the gate.

What the other side's journals say of scores is evidence and no proof: the merged document is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.merging import MergedTree, best_path, merge_tree
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.record import Joined
from skillgit.train.carry.change import Change, Make, bring_in, open_run, outcome
from skillgit.train.events import Listener
from skillgit.train.merging.conflict import Clash, End, clash
from skillgit.train.merging.gating import WithSession
from skillgit.train.merging.resolution import Resolution
from skillgit.train.merging.resolve import Resolver, check_resolvable
from skillgit.train.propose.candidate import Candidate
from skillgit.train.run import Run
from skillgit.train.session import Session
from skillgit.train.start import prepare


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of a merge: the journal's entry, and the run that it is in."""

    record: StepRecord
    run: str


@dataclass(frozen=True, slots=True)
class _Joining:
    """A tip and what is to be merged into it: the tree, and the document, or its conflicts."""

    tip: str
    other: End
    tree: str
    text: str
    clash: Clash | None


async def merge_other(
    repo: Repository,
    name: str,
    settings: SkillSettings,
    other: str,
    with_session: WithSession,
    *,
    lock: SkillLock,
    resolve: bool = False,
    tell: Listener = lambda _: None,
) -> Brought | None:
    """Merge a revision into `skill/<name>`: a merge commit where the gate accepts it, else a rejected candidate.

    Args:
        other: a branch, a tag or a commit.

    Returns: None where the branch has all of it, or its document would stay as it is.

    Raises:
        RepositoryError: no such revision. ConflictError: both sides changed the same lines, and nothing moved.
        RefusedError: nothing was trained yet, nothing to measure, a deleted document, conflicts in other files.
        ModelError, MeasurementError: models or environment are broken.
    """
    refs, path = SkillRefs(name), settings.document
    if prepare(repo, name, lock, tell) is None:
        raise RefusedError(f"{name} was not trained yet", mend=f"run `skillgit train {name}` first")
    end = End(other, _resolved(repo, other))
    tip = repo.read_ref(refs.branch)
    if tip is not None:
        if repo.objects.is_ancestor(end.commit, tip):
            return None
        # Said before any model is opened; whether the branch moves meanwhile is seen again below.
        first = _joining(repo, name, path, tip, end)
        if first.clash is not None:
            _check(first.clash, name, resolve=resolve)
        elif first.text == documents.read(repo, tip, path).text:
            return None

    async def work(session: Session) -> Brought:
        run = await open_run(session, lock)
        entry = await _bring(run, name, end, resolve=resolve)
        return Brought(entry, run.info.run)

    return await with_session(work, optimizer=resolve)


def why_nothing(repo: Repository, name: str, skills: Mapping[str, SkillSettings], other: str) -> str:
    """Why there is nothing to merge of a revision, where `merge_other` says that there is none.

    Args:
        skills: all of skillgit.yaml; another one's training branch has another document.
    """
    path = skills[name].document
    ref = repo.git("rev-parse", "--verify", "--symbolic-full-name", "--end-of-options", other, check=False).text
    owner = next((skill for skill in skills if skill != name and _is_branch_of(ref, skill)), None)
    if owner is not None:
        return f"{other} is the training branch of {owner}: it brings nothing for {path} of {name}"
    tip, commit = repo.read_ref(SkillRefs(name).branch), _resolved(repo, other)
    if tip is not None and repo.objects.is_ancestor(commit, tip):
        return f"skill/{name} already has all of {other}"
    return f"{other} brings nothing for {path}: merged with it, skill/{name} would have the same document"


def _is_branch_of(ref: str, skill: str) -> bool:
    """Whether a ref is a skill's training branch, here or as fetched."""
    branch = SkillRefs(skill).branch
    return ref == branch or (ref.startswith("refs/remotes/") and ref.endswith(branch.removeprefix("refs/heads")))


async def _bring(run: Run, name: str, end: End, *, resolve: bool) -> StepRecord:
    repo, path = run.session.repo, run.info.document
    joining = _joining(repo, name, path, run.state.tip, end)
    if joining.clash is None:
        return await bring_in(run, _on_the_tip(run, name, end))
    _check(joining.clash, name, resolve=resolve)
    resolver = Resolver(run.session, joining.clash, f"merge/{end.commit}/{joining.tip}", run.document().text)
    entry: StepRecord | None = None
    while (resolution := await resolver.next()) is not None:
        entry = await bring_in(run, _settled(run, name, joining, resolution))
        if entry.accepted or entry.decision == "indecisive":
            return entry
        resolver.refuse(resolution, entry.reason)
    if entry is None:
        raise AssertionError("the resolver raises where it has nothing at all")
    return entry


def _on_the_tip(run: Run, name: str, end: End) -> Make:
    """The merge with whatever tip the branch has then."""

    def make(_: Placed) -> Change:
        joining = _joining(run.session.repo, name, run.info.document, run.state.tip, end)
        if joining.clash is not None:
            _check(joining.clash, name, resolve=False)
        return _change(joining, joining.text, "")

    return make


def _settled(run: Run, name: str, joining: _Joining, resolution: Resolution) -> Make:
    """The merge whose conflicts were settled: on that very tip, or not at all."""

    def make(_: Placed) -> Change:
        if run.state.tip != joining.tip:
            raise RefusedError(f"skill/{name} was moved meanwhile", mend="run the same command again")
        return _change(joining, resolution.document, f" {resolution.told}")

    return make


def _resolved(repo: Repository, other: str) -> str:
    commit = repo.resolve(other)
    if commit is None:
        raise RepositoryError(
            f"{other}: no such revision", mend="name a branch, a tag or a commit; `skillgit fetch` first"
        )
    return commit


def _joining(repo: Repository, name: str, path: str, tip: str, end: End) -> _Joining:
    """Merge without moving anything.

    Raises:
        RefusedError: the document is not on both sides, other files conflict, there is nothing new in it.
    """
    branch = f"skill/{name}"
    for commit, label in ((tip, branch), (end.commit, end.label)):
        if documents.blob_at(repo, commit, path) is None:
            mend = "bring it back there, or merge by hand"
            raise RefusedError(f"{path} is not on {label}: it was deleted or renamed on one side", mend=mend)
    result = merge_tree(repo, tip, end.commit)
    others = sorted(set(result.conflicts) - {path, best_path(path)})
    if others:
        raise RefusedError(f"the merge conflicts in {', '.join(others[:5])}", mend="merge those files by hand first")
    tree = _without_conflict_in_best(repo, result, tip, best_path(path))
    if path in result.conflicts:
        found = clash(repo, name, path, End(branch, tip), end)
        return _Joining(tip, end, tree, "", found)
    entry = repo.objects.entry(result.tree, path)
    if entry is None:
        raise RefusedError(f"{path}: a merge would delete or move it", mend="merge by hand")
    merged = documents.read_blob(repo, entry.oid, entry.mode, f"{path} merged")
    return _Joining(tip, end, tree, merged.text, None)


def _without_conflict_in_best(repo: Repository, result: MergedTree, tip: str, path: str) -> str:
    """A best_skill.md is never merged by content: the tip's stays, until the next merge writes it anew."""
    if path not in result.conflicts:
        return result.tree
    return repo.objects.write_tree({path: repo.objects.entry(tip, path)}, result.tree)


def _check(found: Clash, name: str, *, resolve: bool) -> None:
    if not resolve:
        raise found.error(
            f"{found.path}: skill/{name} and the other side changed the same lines",
            mend="let the optimizer settle it with --resolve, or merge by hand",
        )
    check_resolvable(found.path, found.pieces)


def _change(joining: _Joining, text: str, told: str) -> Change:
    """The merged document as a candidate of one edit, whose commit has both parents."""
    where = f"{joining.other.label} at {joining.other.commit[:12]}"
    built = Candidate(text, (outcome("merge", where, f"Merges {where}.{told}", text),))
    return Change("merge", built, joined=Joined(joining.tree, (joining.other.commit,)))
