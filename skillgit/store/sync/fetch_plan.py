"""What a fetch gets, and what it then moves here. Values in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillgit.store.refs import NOTES, SkillRefs
from skillgit.store.sync.namespaces import Kind, Shared, tracking, tracking_notes
from skillgit.store.sync.push_plan import Ancestry, Supersedes
from skillgit.store.sync.sides import Relation
from skillgit.store.transactions import RefUpdate


@dataclass(frozen=True, slots=True)
class Get:
    """A ref to fetch, where it goes, and what stands there now."""

    what: Shared
    place: str
    old: str | None
    new: str


@dataclass(slots=True)
class FetchPlan:
    """A fetch, decided by what the remote lists.

    Args:
        conflicts: immutable refs that have another value there; ours stay.
        pruned: how many were left there since they were pruned, here or elsewhere.
    """

    get: list[Get] = field(default_factory=list)
    notes: bool = False
    conflicts: list[Shared] = field(default_factory=list)
    pruned: int = 0


def plan_fetch(
    remote: str,
    ours: Mapping[str, str],
    theirs: Mapping[Shared, str],
    their_notes: str | None,
    pruned: Mapping[str, frozenset[str]],
) -> FetchPlan:
    """Decide for every ref of theirs.

    Args:
        ours: all our refs that have to do with it, by whole name.
        theirs: of the skills concerned.
        pruned: whole names of refs that are not to be got, by skill.
    """
    plan = FetchPlan(notes=their_notes is not None and ours.get(tracking_notes(remote)) != their_notes)
    for one, there in sorted(theirs.items(), key=lambda item: (item[0].name, item[0].ref)):
        place = tracking(remote, one)
        here = ours.get(place)
        if here == there:
            continue
        if one.ref in pruned.get(one.name, ()):
            plan.pruned += 1
        elif one.kind.immutable and here is not None:
            plan.conflicts.append(one)
        else:
            plan.get.append(Get(one, place, here, there))
    return plan


def notes_refspec(remote: str) -> str:
    """Fetches the notes into their copy."""
    return f"+{NOTES}:{tracking_notes(remote)}"


@dataclass(slots=True)
class Forward:
    """What moves here, in one transaction, and what does not, said to the person."""

    updates: list[RefUpdate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def plan_forward(
    remote: str,
    name: str,
    ours: Mapping[str, str],
    fetched: Mapping[Shared, str],
    commits: Ancestry,
    supersedes: Supersedes,
    checked_out: Path | None,
) -> Forward:
    """Decide what of a skill moves here, after its refs were fetched.

    A branch goes forward together with journals and best, or none of them does: a journal that says of the branch what
    is not so would be taken for somebody's meddling. Where the two branches have gone apart, the other's journals come
    all the same, for the training that joins them; it is the one to say which best is the better.

    Args:
        ours: all our refs, by whole name. fetched: what is now here of the remote's.
        checked_out: the work tree that has the branch.
    """
    plan = Forward()
    branch = SkillRefs(name).branch
    mine, there = ours.get(branch), fetched.get(Shared(branch, name, Kind.BRANCH))
    # Without a branch here, training makes it from the remote's.
    relation = commits.relation(mine, there) if mine is not None and there is not None else Relation.SAME
    apart = relation in (Relation.DIVERGED, Relation.UNKNOWN)
    held = relation is Relation.BEHIND and checked_out is not None
    if held:
        behind = f"{remote} has newer steps of {name}, but skill/{name} is checked out at {checked_out}"
        plan.notes.append(f"{behind}: switch that work tree to another branch and fetch again")
    if apart and mine is not None and there is not None:
        plan.notes.append(_gone_apart(remote, name, mine, there, relation, commits))
    for one, oid in sorted(fetched.items(), key=lambda item: item[0].ref):
        own = one.kind in (Kind.PUBLISHED, Kind.TASKS)
        if own or (one.kind in (Kind.JOURNAL, Kind.EVIDENCE) and not held):
            _follow(remote, one, ours.get(one.ref), oid, commits, plan)
    best = Shared(SkillRefs(name).best, name, Kind.BEST)
    if best in fetched and not (held or apart):
        _best(remote, best, ours.get(best.ref), fetched[best], commits, supersedes, plan)
    # The journal first: it is what a crash is rolled forward from.
    plan.updates.sort(key=lambda update: not update.ref.startswith("refs/skillgit/runs/"))
    if relation is Relation.BEHIND and not held:
        plan.updates.append(RefUpdate(branch, mine, there))
    return plan


def _gone_apart(remote: str, name: str, ours: str, theirs: str, relation: Relation, commits: Ancestry) -> str:
    number = 0 if relation is Relation.UNKNOWN else commits.lacking(ours, theirs)
    what = f"{number} commit{'' if number == 1 else 's'}" if number else "commits"
    return (
        f"{remote}/skill/{name} has {what} that yours lacks, and yours has others: "
        f"`skillgit train {name}` re-bases your steps onto it and gates them again"
    )


def _follow(remote: str, one: Shared, ours: str | None, theirs: str, commits: Ancestry, plan: Forward) -> None:
    """Made where it is missing, moved where it is behind, left where it is ahead."""
    if ours is None:
        plan.updates.append(RefUpdate(one.ref, None, theirs))
        return
    relation = commits.relation(ours, theirs)
    if relation is Relation.BEHIND:
        plan.updates.append(RefUpdate(one.ref, ours, theirs))
    elif relation in (Relation.DIVERGED, Relation.UNKNOWN):
        plan.notes.append(f"{one.short} and {remote}'s have gone apart: ours stays at {ours[:12]}")


def _best(
    remote: str, one: Shared, ours: str | None, theirs: str, commits: Ancestry, supersedes: Supersedes, plan: Forward
) -> None:
    """Ours is moved only to what a training that we now have put in its place."""
    if ours is None:
        plan.updates.append(RefUpdate(one.ref, None, theirs))
        return
    relation = commits.relation(ours, theirs)
    if relation is Relation.SAME or supersedes(one.name, theirs, ours):
        return
    if relation is Relation.BEHIND or supersedes(one.name, ours, theirs):
        plan.updates.append(RefUpdate(one.ref, ours, theirs))
    elif relation is not Relation.AHEAD:
        plan.notes.append(f"{one.short} stays at {ours[:12]}: {remote}'s is {theirs[:12]}, which came by another way")
