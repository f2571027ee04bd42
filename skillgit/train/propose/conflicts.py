"""Which proposals say the same, which cannot stand together, and who wins without a model. Pure.

SkillOpt gives all patches of a step to a model and lets it merge them (`gradient/aggregate.py`). Most edits have
nothing to do with each other, so here only real conflicts are left over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from skillgit.document.matching import find_target
from skillgit.document.structure import Structure
from skillgit.train.propose.likeness import contradiction, says_the_same, words_in
from skillgit.train.propose.proposals import Proposal, Source, key_of, place_of, weight

Kind = Literal["text", "value", "partial"]
"""`text`: they change the same words of the document. `value`: they say different things about one matter. `partial`:
the same, but they also say things that are not in question."""

Pairs = Mapping[tuple[int, int], Kind]
"""Conflicts by the places of the two units, the lower first."""


@dataclass(frozen=True, slots=True)
class Unit:
    """An edit on its way through aggregation.

    Args:
        proposal: the edit, with the support of all its sources.
        sources: places, among the proposals with failures first, of all proposals that it stands for.
        own: the place of the proposal whose edit it is; None where a model wrote it.
    """

    proposal: Proposal
    sources: frozenset[int]
    own: int | None

    @property
    def place(self) -> int:
        """Where it stands in the order: as early as its earliest source."""
        return min(self.sources)


def failures_first(proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
    """The order that all places mean."""
    return tuple(sorted(proposals, key=lambda p: p.source != "failure"))


def stand_for(ordered: Sequence[Proposal], sources: Iterable[int], edit: Proposal, own: int | None) -> Unit:
    """A unit with the edit of one proposal and what its sources have together.

    Support adds up over minibatches, whose attempts are distinct; within one only the highest counts.
    """
    places = frozenset(sources)
    shares: dict[str, int] = {}
    for place in places:
        given = ordered[place]
        batch = given.batch or f"\0{place}"
        shares[batch] = max(shares.get(batch, 0), given.support)
    members = [ordered[place] for place in places]
    source: Source = "failure" if any(p.source == "failure" for p in members) else "success"
    rank = min(p.rank for p in members)
    return Unit(replace(edit, support=sum(shares.values()), source=source, rank=rank), places, own)


def distinct(ordered: Sequence[Proposal]) -> list[Unit]:
    """Equal edits and near-duplicates become one: of those that say the same, what says most, else the earliest.

    Likeness is closed transitively, so what becomes one does not depend on the order.
    """
    equal: dict[tuple[str, str, str], list[int]] = {}
    for place, proposal in enumerate(ordered):
        equal.setdefault(key_of(proposal.edit), []).append(place)
    firsts = [places[0] for places in equal.values()]

    def same(one: int, other: int) -> bool:
        ours, theirs = ordered[one].edit, ordered[other].edit
        if place_of(ours) != place_of(theirs) or place_of(ours)[0] == "delete":
            return False
        return says_the_same(ours.content, theirs.content)

    found = []
    for cluster in components(firsts, same):
        own = max(cluster, key=lambda place: (words_in(ordered[place].edit.content), -place))
        sources = [place for first in cluster for place in equal[key_of(ordered[first].edit)]]
        found.append(stand_for(ordered, sources, ordered[own], own))
    return sorted(found, key=lambda unit: unit.place)


def components(items: Sequence[int], joined: Callable[[int, int], bool]) -> list[list[int]]:
    """The connected components of a symmetric relation, each in order, by their first members."""
    group = {item: item for item in items}

    def root(item: int) -> int:
        while group[item] != item:
            item = group[item]
        return item

    for number, one in enumerate(items):
        for other in items[number + 1 :]:
            if root(one) != root(other) and joined(one, other):
                low, high = sorted((root(one), root(other)))
                group[high] = low
    found: dict[int, list[int]] = {}
    for item in items:
        found.setdefault(root(item), []).append(item)
    return list(found.values())


@dataclass(slots=True)
class Ground:
    """A document, and where targets stand in it."""

    document: str
    _structure: Structure = field(init=False)
    _spans: dict[str, tuple[int, int] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._structure = Structure(self.document)

    def span(self, target: str) -> tuple[int, int] | None:
        """The one place of a target, as offsets; None where it has none or several."""
        if target not in self._spans:
            places = find_target(self._structure, target).editable if target.strip() else ()
            self._spans[target] = (places[0].start, places[0].end) if len(places) == 1 else None
        return self._spans[target]

    def overlap(self, one: str, other: str) -> bool:
        """Whether two targets have text in common."""
        ours, theirs = self.span(one), self.span(other)
        return ours is not None and theirs is not None and ours[0] < theirs[1] and theirs[0] < ours[1]


def conflicts(units: Sequence[Unit], ground: Ground) -> dict[tuple[int, int], Kind]:
    """All pairs of units that cannot both stand as they are.

    Two `replace` or `delete` edits conflict where their targets are the same or overlap in the document. Two edits that
    add at the same place conflict where their texts contradict each other; else they only add, whatever the order.
    """
    found: dict[tuple[int, int], Kind] = {}
    for first, one in enumerate(units):
        for second in range(first + 1, len(units)):
            kind = _conflict(one.proposal, units[second].proposal, ground)
            if kind is not None:
                found[first, second] = kind
    return found


def _conflict(one: Proposal, other: Proposal, ground: Ground) -> Kind | None:
    (op, target), (other_op, other_target) = place_of(one.edit), place_of(other.edit)
    changes = {"replace", "delete"}
    if op in changes and other_op in changes:
        touch = target == other_target or ground.overlap(one.edit.target, other.edit.target)
        return "text" if touch else None
    if op in changes or (op, target) != (other_op, other_target):
        return None
    return contradiction(one.edit.content, other.edit.content)


def is_clear_cut(units: Sequence[Unit], group: Sequence[int], pairs: Pairs) -> bool:
    """Whether the ranking decides a group: it is about values only, and no two rivals are equal in support, source and
    rank. A model that merges sees no attempts, so it can hardly know better than their number, and than the order
    that the optimizer gave when it saw them."""
    inner = [pair for pair in pairs if pair[0] in group and pair[1] in group]
    if any(pairs[pair] != "value" for pair in inner):
        return False
    return all(weight(units[a].proposal) != weight(units[b].proposal) for a, b in inner)


def settle(units: Sequence[Unit], group: Sequence[int], pairs: Pairs) -> tuple[list[Unit], list[Unit]]:
    """Who stays without a model: the weightier wins, on a tie the earlier; who conflicts with a winner gives way.

    `partial` conflicts drop nobody: what is not in question would be lost with them.

    Returns: winners and losers, in order.
    """

    def apart(one: int, other: int) -> bool:
        return pairs.get((min(one, other), max(one, other)), "partial") == "partial"

    winners: list[int] = []
    for place in sorted(group, key=lambda place: (weight(units[place].proposal), units[place].place)):
        if all(apart(place, winner) for winner in winners):
            winners.append(place)
    return [units[p] for p in group if p in winners], [units[p] for p in group if p not in winners]


def in_order(units: Iterable[Unit], ground: Ground) -> list[Unit]:
    """By place; but an insertion stands before the change that takes its anchor away, so that both apply."""
    found: list[Unit] = []
    for unit in sorted(units, key=lambda unit: unit.place):
        if place_of(unit.proposal.edit)[0] == "insert_after":
            target = unit.proposal.edit.target
            takers = (place for place, other in enumerate(found) if _takes(other, target, ground))
            found.insert(next(takers, len(found)), unit)
        else:
            found.append(unit)
    return found


def _takes(unit: Unit, anchor: str, ground: Ground) -> bool:
    edit = unit.proposal.edit
    return place_of(edit)[0] in ("replace", "delete") and ground.overlap(edit.target, anchor)
