"""What a push would send, what it must not, and why. Values in, values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skillgit.errors import RefusedError
from skillgit.store.sync.namespaces import Kind, Shared, next_release
from skillgit.store.sync.sides import Relation

Action = Literal["create", "forward", "move"]
Supersedes = Callable[[str, str, str], bool]
"""Whether, of a skill's best (its name first), the second value came after the first by what the journals say."""


class Ancestry(Protocol):
    """What is asked about commits (`sides.Commits`)."""

    def relation(self, ours: str, theirs: str) -> Relation:
        """How ours stands to theirs."""

    def lacking(self, ours: str, theirs: str) -> int:
        """How many commits of theirs ours has not."""


@dataclass(frozen=True, slots=True)
class Send:
    """A ref to send.

    Args:
        old: what the remote has; None where it has no such ref.
        action: `move` is the one that is no fast-forward; it goes with a lease on `old`.
    """

    what: Shared
    old: str | None
    new: str
    action: Action


@dataclass(slots=True)
class PushPlan:
    """A push, decided. Where anything is refused, nothing may be sent.

    Args:
        send: in the order in which it is told.
        same: refs that the remote has as we have them.
        notes: what stays as it is, said to the person.
        refused: the reasons.
    """

    send: list[Send] = field(default_factory=list)
    same: int = 0
    notes: list[str] = field(default_factory=list)
    refused: list[RefusedError] = field(default_factory=list)


def plan_push(
    remote: str,
    ours: Mapping[Shared, str],
    theirs: Mapping[Shared, str],
    commits: Ancestry,
    supersedes: Supersedes,
    pruned: Mapping[str, frozenset[str]],
) -> PushPlan:
    """Decide for every ref of ours.

    Args:
        ours, theirs: the refs of the skills concerned. A list of pruned candidates of ours is already united with
            theirs.
        pruned: whole names of refs that are not to be sent, by skill.
    """
    plan = PushPlan()
    for one, mine in sorted(ours.items(), key=lambda item: _order(item[0])):
        if one.ref in pruned.get(one.name, ()):
            continue
        there = theirs.get(one)
        if there == mine:
            plan.same += 1
        elif there is None:
            plan.send.append(Send(one, None, mine, "create"))
        elif one.kind.immutable:
            plan.refused.append(_conflict(remote, one, there, mine, next_release(one.name, [*ours, *theirs])))
        elif one.kind is Kind.PRUNED:
            plan.send.append(Send(one, there, mine, "move"))
        elif one.kind is Kind.BEST:
            _best(remote, one, mine, there, commits, supersedes, plan)
        elif one.kind in (Kind.PUBLISHED, Kind.TASKS):
            _loose(remote, one, mine, there, commits, plan)
        else:
            _grown(remote, one, mine, there, commits, plan)
    return plan


_ORDER = (
    *(Kind.BRANCH, Kind.BEST, Kind.JOURNAL, Kind.TAG, Kind.REJECTED, Kind.PRUNED),
    *(Kind.PUBLISHED, Kind.TASKS, Kind.EVIDENCE),
)


def _order(one: Shared) -> tuple[str, int, str]:
    return one.name, _ORDER.index(one.kind), one.ref


def _grown(remote: str, one: Shared, mine: str, there: str, commits: Ancestry, plan: PushPlan) -> None:
    """What is only ever added to: the branch, journals, transcripts."""
    relation = commits.relation(mine, there)
    if relation is Relation.AHEAD:
        plan.send.append(Send(one, there, mine, "forward"))
        return
    if relation is Relation.UNKNOWN:
        lacks = f"is at {there[:12]}, which is not here"
    else:
        number = commits.lacking(mine, there)
        lacks = f"has {number} commit{'' if number == 1 else 's'} that yours lacks"
    mend = f"run `skillgit fetch {remote}`, then push again"
    if one.kind is Kind.BRANCH and relation is not Relation.BEHIND:
        again = "your steps are re-based onto it and gated again"
        mend = f"run `skillgit fetch {remote}`, then `skillgit train {one.name}`: {again}"
    plan.refused.append(RefusedError(f"{remote}'s {one.short} {lacks}", mend=mend))


def _loose(remote: str, one: Shared, mine: str, there: str, commits: Ancestry, plan: PushPlan) -> None:
    """What may stand elsewhere on the other side without harm: it goes forward, or stays."""
    relation = commits.relation(mine, there)
    if relation is Relation.AHEAD:
        plan.send.append(Send(one, there, mine, "forward"))
    elif relation is not Relation.BEHIND:
        plan.notes.append(f"{one.short} was not sent: {remote}'s is {there[:12]}, and does not lead to ours")


def _best(
    remote: str, one: Shared, mine: str, there: str, commits: Ancestry, supersedes: Supersedes, plan: PushPlan
) -> None:
    """The best document may be an older commit than the one before it: what counts is which came later."""
    relation = commits.relation(mine, there)
    if relation is Relation.UNKNOWN:
        mend = f"run `skillgit fetch {remote}`, then push again"
        plan.refused.append(RefusedError(f"{remote}'s {one.short} is {there[:12]}, which is not here", mend=mend))
    elif supersedes(one.name, there, mine):
        plan.send.append(Send(one, there, mine, "forward" if relation is Relation.AHEAD else "move"))
    elif relation is Relation.AHEAD and not supersedes(one.name, mine, there):
        plan.send.append(Send(one, there, mine, "forward"))
    elif relation is Relation.DIVERGED:
        plan.notes.append(
            f"{one.short} was not sent: {remote}'s is {there[:12]}, and no training here has compared the two"
        )


def _conflict(remote: str, one: Shared, there: str, mine: str, free: int) -> RefusedError:
    what = f"{remote} has another {one.short}: {there[:12]} there, {mine[:12]} here; such a ref never changes"
    return RefusedError(what, mend=f"{conflict_mend(remote, one, free)}, and push again")


def conflict_mend(remote: str, one: Shared, free: int) -> str:
    """How a ref that never changes, and is another one there, gets out of the way: commands to type. Pure.

    Args:
        free: the number of a release that neither side has.
    """
    if one.release is not None:
        renamed = f"skill/{one.name}/v{free}"
        rename = f"git tag {renamed} {one.short} && git tag -d {one.short}"
        return f"rename yours: `{rename}`, then `skillgit fetch {remote}`"
    delete = f"git tag -d {one.short}" if one.kind is Kind.TAG else f"git update-ref -d {one.ref}"
    return f"see which is right; for theirs, `{delete}`, then `skillgit fetch {remote}`"
