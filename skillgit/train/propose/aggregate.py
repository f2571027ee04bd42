"""Aggregate: the proposals of all minibatches become edits that can stand together, with as few calls as possible.

SkillOpt merges all patches by model calls, failures and successes apart, then both (`gradient/aggregate.py`). Here
edits that have nothing to do with each other are merged mechanically; the model is asked about real conflicts only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillgit.train.propose.conflicts import (
    Ground,
    Pairs,
    Unit,
    components,
    conflicts,
    distinct,
    failures_first,
    in_order,
    is_clear_cut,
    settle,
)
from skillgit.train.propose.merge_calls import merge
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.proposals import Dropped, Proposal

MORE_SUPPORT = "another edit with more support says or changes the same"
AS_MUCH_SUPPORT = "a weightier or earlier edit with as much support says or changes the same"
NOT_MERGED = " (the optimizer's merge could not be used)"
GIVEN_UP = "the optimizer's merge of conflicting edits gave it up"
IN_ANOTHER = "merged into another edit, whose support has its own"


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What aggregation brings. Each proposal is in one of the three, but that a model's merges are `kept` too.

    Args:
        kept: edits that can stand together, failures first, each with the support of all that it stands for.
        dropped: what lost a conflict.
        merged: what went into an edit of `kept` or `dropped`.
        calls: how many merges the optimizer was asked for.
    """

    kept: tuple[Proposal, ...]
    dropped: tuple[Dropped, ...]
    merged: tuple[Dropped, ...] = ()
    calls: int = 0


def mechanical(proposals: Sequence[Proposal], document: str) -> Aggregated:
    """Aggregate without a model: of edits in conflict the weightier wins (support, failures before successes,
    then rank), on a tie the earlier."""
    ordered = failures_first(proposals)
    ground = Ground(document)
    units = distinct(ordered)
    pairs = conflicts(units, ground)
    kept, lost = _settled(units, range(len(units)), pairs)
    return _result(ordered, in_order(kept, ground), lost, 0)


async def aggregate(
    proposals: Sequence[Proposal], document: str, optimizer: StepOptimizer | None, merge_batch_size: int
) -> Aggregated:
    """Aggregate, and let the optimizer merge what really conflicts.

    Groups of conflicting edits that only give one thing different values are settled by support, source and rank where
    those differ. Else they go to the model, as many groups in one call as have together at most `merge_batch_size`
    edits, calls in parallel. A larger group is merged in parts, then their results, until one call holds it.

    Args:
        document: what the edits are about, whole.
        optimizer: None for no calls, as `mechanical`.

    Raises:
        ModelError: a call failed for good. A reply that cannot be used is none: the group is settled mechanically.
    """
    if optimizer is None:
        return mechanical(proposals, document)
    ordered = failures_first(proposals)
    ground = Ground(document)
    units = distinct(ordered)
    pairs = conflicts(units, ground)
    kept: list[Unit] = []
    lost: list[tuple[Unit, str]] = []
    groups: list[list[Unit]] = []
    for group in _groups(units, pairs):
        if len(group) == 1:
            kept.append(units[group[0]])
        elif is_clear_cut(units, group, pairs):
            winners, losers = _settled(units, group, pairs)
            kept, lost = [*kept, *winners], [*lost, *losers]
        else:
            groups.append([units[place] for place in group])
    outcome = await merge(groups, ordered, document, optimizer, merge_batch_size)
    for merged in outcome.groups:
        lost += [(unit, GIVEN_UP) for unit in merged.given_up]
        if merged.settled:
            kept += merged.units
            continue
        again = conflicts(merged.units, ground)
        winners, losers = _settled(merged.units, range(len(merged.units)), again, NOT_MERGED)
        kept, lost = [*kept, *winners], [*lost, *losers]
    return _checked(ordered, kept, lost, ground, outcome.calls)


def _checked(
    ordered: Sequence[Proposal], kept: list[Unit], lost: list[tuple[Unit, str]], ground: Ground, calls: int
) -> Aggregated:
    """Whatever the model wrote, no two edits change the same words."""
    kept.sort(key=lambda unit: unit.place)
    pairs = {pair: kind for pair, kind in conflicts(kept, ground).items() if kind == "text"}
    winners, losers = _settled(kept, range(len(kept)), pairs)
    return _result(ordered, in_order(winners, ground), [*lost, *losers], calls)


def _groups(units: Sequence[Unit], pairs: Pairs) -> list[list[int]]:
    return components(range(len(units)), lambda one, other: (one, other) in pairs)


def _settled(
    units: Sequence[Unit], group: Sequence[int], pairs: Pairs, because: str = ""
) -> tuple[list[Unit], list[tuple[Unit, str]]]:
    """Winners, and losers with the reason."""
    winners, losers = settle(units, group, pairs)
    place = {id(unit): number for number, unit in enumerate(units)}
    found = []
    for loser in losers:
        mine = place[id(loser)]
        rivals = [w for w in winners if (min(mine, place[id(w)]), max(mine, place[id(w)])) in pairs]
        most = max(w.proposal.support for w in rivals)
        reason = MORE_SUPPORT if most > loser.proposal.support else AS_MUCH_SUPPORT
        found.append((loser, reason + because))
    return winners, found


def _result(
    ordered: Sequence[Proposal], kept: Sequence[Unit], lost: Iterable[tuple[Unit, str]], calls: int
) -> Aggregated:
    """Account for every proposal: it is kept, dropped, or merged into one that is."""
    alive = {place for unit in kept for place in unit.sources}
    own = {unit.own for unit in kept}
    dropped: dict[int, Dropped] = {}
    for unit, reason in lost:
        if unit.own is None:  # a model's edit that lost: what it stood for is what was proposed
            dropped.update({p: Dropped(ordered[p], reason) for p in unit.sources - alive})
        elif unit.own not in alive:
            dropped[unit.own] = Dropped(unit.proposal, reason)
    rest = [place for place in range(len(ordered)) if place not in own and place not in dropped]
    return Aggregated(
        tuple(unit.proposal for unit in kept),
        tuple(dropped[place] for place in sorted(dropped)),
        tuple(Dropped(ordered[place], IN_ANOTHER) for place in rest),
        calls,
    )
