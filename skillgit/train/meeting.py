"""A branch that somebody else trained as well: brought together with ours, and never rewound.

Where the fetched branch is ahead, ours is forwarded. Where both went on, one commit joins them, with their document:
what we had accepted since is owed, and tried again on top of it (`skillgit.train.carry.rejoin`).
"""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.errors import ConflictError, RefusedError, UsageError
from skillgit.store import remotes
from skillgit.store.locks import SkillLock
from skillgit.store.merging import best_path, merge_file, merge_tree
from skillgit.store.objects import Entry
from skillgit.store.refs import HEADS
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.store.transactions import RefUpdate, commit_refs
from skillgit.train.archive import documents, story
from skillgit.train.archive.journal import Journal, StepRecord
from skillgit.train.archive.messages import Place, plain_message
from skillgit.train.events import Note
from skillgit.train.session import Session

REJOIN = "Skill-Rejoin"
"""The trailer of a commit that joins two trainings: our tip, whose accepted candidates are tried again on theirs."""


def fetched(repo: Repository, branch: str) -> tuple[str, str] | None:
    """The remote that is meant, and where its copy of a branch (a whole ref) was when it was last fetched."""
    try:
        remote = remotes.choose(repo, None, push=False)
    except UsageError:
        return None  # none, or several of which none is the usual one
    tip = repo.read_ref(f"refs/remotes/{remote}/{branch.removeprefix(HEADS)}")
    return (remote, tip) if tip else None


def meet(session: Session, lock: SkillLock, last: Journal | None) -> None:
    """Bring the branch together with the fetched one.

    Raises:
        RefusedError: files other than the document, or people's own changes of it, conflict; nothing moved.
    """
    repo, branch = session.repo, session.refs.branch
    ours, known = repo.read_ref(branch), fetched(repo, branch)
    if ours is None or known is None:
        return
    remote, theirs = known
    if repo.objects.is_ancestor(theirs, ours):
        return
    short = f"{remote}/{branch.removeprefix(HEADS)}"
    if repo.objects.is_ancestor(ours, theirs):
        new, told = theirs, f"the branch goes on from {short} at {theirs[:12]}"
    elif last is None:
        branch = branch.removeprefix(HEADS)
        raise RefusedError(f"{branch} and {short} went on by themselves", mend=f"merge {short} into {branch} by hand")
    else:
        new = _join(session, last, ours, theirs, short)
        told = f"{short} went on as well: joined at {new[:12]}; what was accepted here is tried again on top of it"
    commit_refs(repo, [RefUpdate(branch, ours, new)], f"skillgit: meet {short}", lock=lock)
    session.tell(Note(told))


def owed(repo: Repository, name: str, tip: str) -> list[str]:
    """The candidates (their last commits) that a commit which joins two trainings owes a try; oldest first."""
    info = repo.objects.read_commit(tip)
    mine = dict(parse_trailers(info.message)).get(REJOIN)
    if len(info.parents) != 2 or mine != info.parents[0]:
        return []
    own = _only(repo, *info.parents)
    accepted = _accepted(repo, name)
    return [commit for commit in own if commit in accepted and accepted[commit].kind != "merge"]


def _accepted(repo: Repository, name: str) -> dict[str, StepRecord]:
    """Accepted candidates by their last commit."""
    return {e.record.commits[-1]: e.record for e in story.steps(repo, name) if e.record.accepted and e.record.commits}


def _only(repo: Repository, ours: str, theirs: str) -> list[str]:
    """Our commits that they do not have, along first parents, oldest first."""
    return repo.git("rev-list", "--first-parent", "--reverse", ours, f"^{theirs}").text.split()


def _join(session: Session, last: Journal, ours: str, theirs: str, short: str) -> str:
    repo, path = session.repo, last.info.document
    placed = documents.read_editable(repo, theirs, path)
    text = _with_people(session, last, _only(repo, ours, theirs), placed.text, short)
    merged = merge_tree(repo, ours, theirs)
    others = sorted(set(merged.conflicts) - {path, best_path(path)})
    if others:
        branch = session.refs.branch.removeprefix(HEADS)
        raise RefusedError(f"{branch} and {short} conflict in {', '.join(others[:5])}", mend="merge them by hand")
    best = repo.objects.entry(theirs, best_path(path))
    entries: dict[str, Entry | None] = {
        path: Entry(placed.mode, repo.objects.write_blob(text.encode())),
        best_path(path): best,
    }
    tree = repo.objects.write_tree(entries, merged.tree)
    place = Place(session.name, last.info.run, last.state.step, last.state.epoch)
    why = f"Both went on by themselves. The document is that of {theirs}; what was accepted here is tried on it again."
    message = plain_message(place, "merge", f"join {short}", why, [(REJOIN, ours)])
    return repo.objects.write_commit(tree, [ours, theirs], message)


def _with_people(session: Session, last: Journal, own: Sequence[str], text: str, short: str) -> str:
    """Their document with what people changed on our side: that is not the gate's to judge.

    Raises:
        ConflictError: both sides changed the same lines.
    """
    repo, path = session.repo, last.info.document
    ours = {commit for e in story.steps(repo, session.name) for commit in e.record.commits}
    for commit in own:
        info = repo.objects.read_commit(commit)
        if commit in ours or len(info.parents) != 1:
            continue
        had, has = (documents.blob_at(repo, c, path) for c in (info.parents[0], commit))
        if had == has or had is None or has is None:
            continue
        before, after = (documents.read(repo, c, path).text for c in (info.parents[0], commit))
        merged, shown = merge_file(repo, text, before, after, labels=(short, "before", commit[:12]))
        if not merged:
            raise ConflictError(
                f"{path}: {short} changed the lines that {commit[:12]} ({info.subject}) changed",
                mend=f"merge {short} into {session.refs.branch.removeprefix(HEADS)} by hand",
                shown=shown,
            )
        text = merged
    return text
