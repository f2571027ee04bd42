"""From patches to the edits of a candidate: aggregate, select. Pure, and without a model call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillgit.document import Edit

Source = Literal["failure", "success"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One edit that reflection asked for.

    Args:
        support: how many attempts asked for it.
        source: what the attempts were; failures come first.
        rank: its place in its patch (from 0), an optimizer's own order of importance.
    """

    edit: Edit
    support: int
    source: Source
    rank: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A proposal that aggregation or selection left out, and why."""

    proposal: Proposal
    reason: str


def aggregate(proposals: Sequence[Proposal]) -> tuple[list[Proposal], list[Dropped]]:
    """Merge the proposals of all minibatches.

    Failures come first, then the proposals in their order. Equal edits (white space and case of the operation aside)
    become one, and their support adds up. Of two edits that change the same text differently, the one with more
    support stays, on a tie the earlier.

    Returns: what stays, in order, and what was dropped.
    """
    merged: dict[tuple[str, str, str], Proposal] = {}
    for proposal in sorted(proposals, key=lambda p: p.source != "failure"):
        key = _key(proposal.edit)
        known = merged.get(key)
        if known is None:
            merged[key] = proposal
        else:
            merged[key] = replace(known, support=known.support + proposal.support, rank=min(known.rank, proposal.rank))
    return _without_conflicts(list(merged.values()))


def _without_conflicts(proposals: list[Proposal]) -> tuple[list[Proposal], list[Dropped]]:
    """Two `replace` or `delete` edits of one target cannot both apply; `insert_after` and `append` only add."""
    holders: dict[str, int] = {}
    dropped: dict[int, Dropped] = {}
    for index, proposal in enumerate(proposals):
        if proposal.edit.op not in ("replace", "delete"):
            continue
        target = _squeeze(proposal.edit.target)
        first = holders.setdefault(target, index)
        if first == index:
            continue
        winner, loser = (index, first) if proposal.support > proposals[first].support else (first, index)
        holders[target] = winner
        reason = "another edit with more support changes the same text"
        dropped[loser] = Dropped(proposals[loser], reason)
    kept = [p for index, p in enumerate(proposals) if index not in dropped]
    return kept, [dropped[index] for index in sorted(dropped)]


def select(proposals: Sequence[Proposal], budget: int) -> tuple[list[Proposal], list[Dropped]]:
    """At most `budget` proposals: by support, failures before successes, then by rank and place.

    Returns: the chosen in the order they were given, so that edits which build on each other stay in order.
    """
    places = range(len(proposals))

    def importance(place: int) -> tuple[int, bool, int, int]:
        proposal = proposals[place]
        return (-proposal.support, proposal.source != "failure", proposal.rank, place)

    chosen = set(sorted(places, key=importance)[:budget])
    reason = f"outside the learning rate of {budget} edits"
    kept = [proposals[place] for place in places if place in chosen]
    return kept, [Dropped(proposals[place], reason) for place in places if place not in chosen]


def _key(edit: Edit) -> tuple[str, str, str]:
    return edit.op.strip().lower(), _squeeze(edit.target), _squeeze(edit.content)


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
