"""Send skills' refs to a remote: all of them or none, and the notes by themselves afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillgit.errors import RefMovedError, RefusedError
from skillgit.store import remotes
from skillgit.store.pruned import list_ref
from skillgit.store.refs import NOTES
from skillgit.store.repository import Repository
from skillgit.store.sync.fetch_plan import notes_refspec
from skillgit.store.sync.lists import Lists, read_lists
from skillgit.store.sync.namespaces import Kind, Shared, tracking, tracking_notes
from skillgit.store.sync.notes import merge_notes
from skillgit.store.sync.push_plan import PushPlan, plan_push
from skillgit.store.sync.refspecs import for_push
from skillgit.store.sync.sending import receive, send
from skillgit.store.sync.sides import Commits, Relation, local_refs, travelling
from skillgit.store.transactions import RefUpdate, commit_refs
from skillgit.train.sharing.skills import chosen, chosen_remote

NotesState = Literal["none", "same", "sent", "merged"]
Say = Callable[[str], None]
_TRIES = 5
_FOLDERS = ("refs/tags/skill/", "refs/skillgit/rejected/", "refs/skillgit/runs/", "refs/skillgit/evidence/")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push sent, or, in a dry run, would send.

    Args:
        notes: what became of the notes: `merged` where the remote's were united with ours first.
    """

    remote: str
    skills: list[str]
    plan: PushPlan
    notes: NotesState


def push(
    repo: Repository,
    given: str | None,
    asked: Sequence[str],
    *,
    evidence: bool,
    dry_run: bool,
    say: Say,
) -> Pushed:
    """Send what a remote lacks of some skills.

    Args:
        given: the remote; chosen as git does where None. asked: the skills; all of skillgit.yaml where empty.
        evidence: transcripts too.

    Raises:
        UsageError: no such remote or skill.
        RefusedError: the remote has what is not here, or another value of what never changes: nothing was sent. Or
            a hook or the server said no.
    """
    remote = chosen_remote(repo, given, asked, push=True)
    there = remotes.listing(repo, remote, push=True)
    here = local_refs(repo, remote)
    skills = chosen(repo, asked, here, there, fetch=False)
    lists = read_lists(repo, remote, there, skills, push=True)
    plan = _plan(repo, remote, lists, here, there, evidence)
    if plan.refused:
        raise _foremost(plan.refused)
    if dry_run:
        return Pushed(remote, skills, plan, _notes_state(repo, here, there))
    if plan.send:
        gone = {one.what.ref for one in plan.send}
        held = [r for r, oid in here.items() if r.startswith(_FOLDERS) and r not in gone and there.get(r) != oid]
        leases = [(one.what.ref, one.old) for one in plan.send if one.action == "move" and one.old]
        send(repo, remote, for_push(plan.send, held), leases=leases, evidence=evidence, say=say)
        _remember(repo, remote, {tracking(remote, s.what): s.new for s in plan.send if not s.what.kind.immutable})
    return Pushed(remote, skills, plan, _push_notes(repo, remote, there.get(NOTES)))


def _plan(
    repo: Repository,
    remote: str,
    lists: Lists,
    here: Mapping[str, str],
    there: Mapping[str, str],
    evidence: bool,
) -> PushPlan:
    ours = {one: oid for one, oid in travelling(here, evidence=evidence).items() if one.name in lists.ours}
    theirs = {one: oid for one, oid in travelling(there, evidence=evidence).items() if one.name in lists.ours}
    for name in lists.ours:
        ours.pop(listed := Shared(list_ref(name), name, Kind.PRUNED), None)
        if (longer := lists.outgoing(repo, name)) is not None:
            ours[listed] = longer
    grown = [oid for one, oid in theirs.items() if not one.kind.immutable and ours.get(one, oid) != oid]

    def later(name: str, old: str, new: str) -> bool:
        from skillgit.train.sharing.best import scored_higher, superseded  # reads journals: slow to load, rarely asked

        if superseded(repo, name, here, old, new):
            return True
        # Two machines may each have found one: the one that measures higher on the same tasks stays.
        return not superseded(repo, name, here, new, old) and scored_higher(repo, name, old, new)

    united = {name: lists.united(name) for name in lists.ours}
    plan = plan_push(remote, ours, theirs, Commits(repo, grown), later, united)
    plan.notes += [*_unsent(remote, lists, [ref for ref in here if ref not in there]), *lists.odd.values()]
    return plan


def _unsent(remote: str, lists: Lists, lacking: Sequence[str]) -> list[str]:
    """What is said of candidates that are here, and not sent since they were pruned. Pure.

    Args:
        lacking: refs that the remote has not.
    """
    lines = []
    for name in lists.ours:
        found = [ref for ref in lacking if ref in lists.united(name)]
        if found:
            one = len(found) == 1
            what = f"1 rejected candidate of {name} was" if one else f"{len(found)} rejected candidates of {name} were"
            prune = f"`skillgit rejected prune {name}` removes {'it' if one else 'them'} here"
            before = f"`skillgit fetch {remote}`, then " if lists.elsewhere(name, found) else ""
            lines.append(f"{what} not sent, since a list of pruned ones has {'it' if one else 'them'}: {before}{prune}")
    return lines


def _foremost(refused: Sequence[RefusedError]) -> RefusedError:
    """The first, which is a branch where any is; with how many there are."""
    if len(refused) == 1:
        return refused[0]
    more = len(refused) - 1
    others = "1 other ref is" if more == 1 else f"{more} other refs are"
    return RefusedError(f"{refused[0].message} ({others} refused too)", mend=refused[0].mend)


def _remember(repo: Repository, remote: str, values: Mapping[str, str]) -> None:
    """Move the fetched copies to what the remote has now."""
    known = local_refs(repo, remote)
    updates = [RefUpdate(ref, known.get(ref), oid) for ref, oid in values.items() if known.get(ref) != oid]
    try:
        commit_refs(repo, updates, f"skillgit: push to {remote}")
    except RefMovedError:
        return  # somebody fetched meanwhile, which is newer


def _notes_state(repo: Repository, here: Mapping[str, str], there: Mapping[str, str]) -> NotesState:
    ours, theirs = here.get(NOTES), there.get(NOTES)
    if ours is None:
        return "none"
    if theirs is None or Commits(repo).relation(ours, theirs) is Relation.AHEAD:
        return "sent"
    return "same" if ours == theirs else "merged"


def _push_notes(repo: Repository, remote: str, theirs: str | None) -> NotesState:
    """Against others who push notes at the same time it is tried anew on what they sent."""
    merged = False
    for attempt in range(_TRIES):
        ours = repo.read_ref(NOTES)
        if ours is None:
            return "none"
        if ours == theirs:
            return "merged" if merged else "same"
        if attempt or (theirs is not None and Commits(repo).relation(ours, theirs) is not Relation.AHEAD):
            receive(repo, remote, [notes_refspec(remote)])
            theirs = repo.read_ref(tracking_notes(remote))
            if theirs is not None:
                ours, merged = merge_notes(repo, theirs).new, True
                if ours == theirs:
                    return "merged"
        try:
            send(repo, remote, [f"{ours}:{NOTES}"])
        except RefMovedError:
            if attempt == _TRIES - 1:
                raise
        else:
            _remember(repo, remote, {tracking_notes(remote): ours})
            return "merged" if merged else "sent"
    return "none"
