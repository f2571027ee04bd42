"""Get skills' refs from a remote, and move here what only has to go forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from skillgit.errors import LockedError, RefMovedError
from skillgit.store import pruned, remotes
from skillgit.store.locks import SkillLock
from skillgit.store.refs import NOTES, SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.sync.fetch_plan import FetchPlan, Forward, notes_refspec, plan_fetch, plan_forward
from skillgit.store.sync.lists import Lists, read_lists
from skillgit.store.sync.namespaces import Kind, Shared, next_release, tracking, tracking_notes
from skillgit.store.sync.notes import merge_notes
from skillgit.store.sync.push_plan import conflict_mend
from skillgit.store.sync.refspecs import for_fetch
from skillgit.store.sync.sending import receive
from skillgit.store.sync.sides import Commits, Relation, local_refs, travelling
from skillgit.store.transactions import RefUpdate, commit_refs
from skillgit.train.archive.refusals import refuse_symbolic
from skillgit.train.events import Event, Note
from skillgit.train.sharing.best import superseded
from skillgit.train.sharing.skills import chosen, chosen_remote
from skillgit.train.start import recover

Say = Callable[[str], None]


@dataclass(slots=True)
class Fetched:
    """What a fetch got, or, in a dry run, would get.

    Args:
        moved: what moved here afterwards. left: what did not, and why. notes: whether notes came.
        unstarted: skills that the remote has a branch of, and we have none.
    """

    remote: str
    skills: list[str]
    plan: FetchPlan
    moved: list[RefUpdate] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    notes: bool = False
    unstarted: list[str] = field(default_factory=list)


def fetch(
    repo: Repository, given: str | None, asked: Sequence[str], *, evidence: bool, dry_run: bool, say: Say
) -> Fetched:
    """Get what is new on a remote. Nothing here is ever rewound, overwritten or pruned.

    Args:
        given: the remote; chosen as git does where None.
        asked: the skills; all of skillgit.yaml and of the remote where empty.
        evidence: transcripts too.

    Raises:
        UsageError: no such remote or skill. RefusedError: the remote, the disk or a hook said no.
    """
    remote = chosen_remote(repo, given, asked, push=False)
    there = remotes.listing(repo, remote)
    here = local_refs(repo, remote)
    skills = chosen(repo, asked, here, there, fetch=True)
    theirs = {one: oid for one, oid in travelling(there, evidence=evidence).items() if one.name in skills}
    lists = read_lists(repo, remote, there, skills)
    theirs = {one: oid for one, oid in theirs.items() if one.kind is not Kind.PRUNED or one.name not in lists.odd}
    plan = plan_fetch(remote, here, theirs, there.get(NOTES), {name: lists.united(name) for name in skills})
    done = Fetched(remote, skills, plan, notes=plan.notes)
    done.left = [*_conflicts(remote, plan.conflicts, [*travelling(here, evidence=False), *theirs]), *lists.odd.values()]
    done.left += [text for name in skills if (text := _elsewhere(name, len(lists.elsewhere(name, here))))]
    if dry_run:
        return done
    refspecs = for_fetch([(get.what, get.place) for get in plan.get], there)
    if plan.notes:
        refspecs.append(notes_refspec(remote))
    if refspecs:
        receive(repo, remote, refspecs)
    for name in skills:
        mutable = [one for one in theirs if one.name == name and not (one.kind.immutable or one.kind is Kind.PRUNED)]
        _forward(repo, remote, name, mutable, lists, done, say)
        branch = SkillRefs(name).branch
        if Shared(branch, name, Kind.BRANCH) in theirs and repo.read_ref(branch) is None:
            done.unstarted.append(name)
    if (notes := repo.read_ref(tracking_notes(remote))) is not None and there.get(NOTES) is not None:
        merged = merge_notes(repo, notes)
        done.notes = merged.old != merged.new
    return done


def _conflicts(remote: str, conflicts: Sequence[Shared], known: Sequence[Shared]) -> list[str]:
    """What is another one there: said, with what to do. Pure."""
    lines, later = [], 0
    for one in conflicts:
        mend = conflict_mend(remote, one, next_release(one.name, known) + later)
        later += one.release is not None
        lines.append(f"{one.short} is another one on {remote}; such a ref never changes, and ours stays: {mend}")
    return lines


def _elsewhere(name: str, number: int) -> str | None:
    """What is said of candidates that a list of theirs, and not yet ours, names. Pure."""
    if not number:
        return None
    some = "1 rejected candidate that is" if number == 1 else f"{number} rejected candidates that are"
    them, was = ("it", "was") if number == 1 else ("them", "were")
    prune = f"`skillgit rejected prune {name}` removes {them} here too"
    return f"{some} here {was} pruned elsewhere: no push of yours sends {them}, and {prune}"


def _forward(
    repo: Repository, remote: str, name: str, fetched: Sequence[Shared], lists: Lists, done: Fetched, say: Say
) -> None:
    """Move the refs of one skill, as its only writer."""
    plan = _plan(repo, remote, name, fetched, lists)
    if plan.updates:
        try:
            with SkillLock.acquire(repo, name, "fetch") as lock:
                recover(repo, name, lock, _teller(say))
                plan = _plan(repo, remote, name, fetched, lists)
                refuse_symbolic(repo, *(update.ref for update in plan.updates))
                commit_refs(repo, plan.updates, f"skillgit: fetch from {remote}", lock=lock)
        except (LockedError, RefMovedError) as error:
            waits = f"what was fetched of {name} waits under refs/remotes/{remote} and refs/skillgit/remotes/{remote}"
            done.left.append(f"{error.message}: {waits}; fetch again afterwards")
            return
    done.moved += plan.updates
    done.left += plan.notes


def _plan(repo: Repository, remote: str, name: str, fetched: Sequence[Shared], lists: Lists) -> Forward:
    here = local_refs(repo, remote)
    copies = {one: here[place] for one in fetched if (place := tracking(remote, one)) in here}
    commits = Commits(repo, copies.values())
    foreign = [one for one, oid in copies.items() if commits.foreign(oid)]
    for one in foreign:
        del copies[one]
    journals = _newest(here, copies, commits)

    def later(skill: str, old: str, new: str) -> bool:
        return superseded(repo, skill, journals, old, new)

    branch = SkillRefs(name).branch
    checked_out = repo.checked_out_at(branch) if branch in here else None
    found = plan_forward(remote, name, here, copies, commits, later, checked_out)
    if (longer := pruned.grow(repo, name, lists.theirs[name])) is not None:
        found.updates.append(longer)
    found.notes += [f"{one.short} on {remote} is no commit, and was left there" for one in foreign]
    mend = remotes.shallow_mend(repo, remote)
    if mend and found.notes:
        found.notes.append(mend)
    return found


def _newest(here: Mapping[str, str], copies: Mapping[Shared, str], commits: Commits) -> dict[str, str]:
    """The journals as they are after the move: the further one of ours and theirs."""
    found = dict(here)
    for one, oid in copies.items():
        mine = here.get(one.ref)
        if one.kind is Kind.JOURNAL and (mine is None or commits.relation(mine, oid) is Relation.BEHIND):
            found[one.ref] = oid
    return found


def _teller(say: Say) -> Callable[[Event], None]:
    def tell(event: Event) -> None:
        if isinstance(event, Note):
            say(event.text)

    return tell
