"""Select: at most as many edits as the learning rate allows.

SkillOpt lets a model rank whenever there are more edits than the budget (`optimizer/clip.py`). Here support, source and
the optimizer's own order rank them; a model chooses only where those leave the budget's border inside a tie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillgit.document.structure import body
from skillgit.errors import ReplyError
from skillgit.models.base import Json
from skillgit.models.replies import parse_object
from skillgit.train.propose.merge_calls import shown_edit
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import count, data
from skillgit.train.propose.proposals import Dropped, Proposal, weight


@dataclass(frozen=True, slots=True)
class Selected:
    """What a step applies, in the order it was given, so that edits which build on each other stay in order."""

    chosen: tuple[Proposal, ...]
    dropped: tuple[Dropped, ...]
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Border:
    """Where a budget cuts the ranking: places among the proposals.

    Args:
        settled: what is inside without doubt.
        tied: what is equal in support, source and rank, and of which only `room` fit; empty where the cut is clear.
    """

    settled: tuple[int, ...]
    tied: tuple[int, ...]
    room: int


def border(proposals: Sequence[Proposal], budget: int) -> Border:
    """Rank by support, failures before successes, then by the place in the patch, and see where the budget cuts."""
    weights = [weight(proposal) for proposal in proposals]
    order = sorted(range(len(proposals)), key=lambda place: weights[place])
    inside, outside = order[:budget], order[budget:]
    if not inside or not outside or weights[inside[-1]] != weights[outside[0]]:
        return Border(tuple(inside), (), 0)
    edge = weights[outside[0]]
    settled = tuple(place for place in order if weights[place] < edge)
    return Border(settled, tuple(place for place in order if weights[place] == edge), budget - len(settled))


def ranked(proposals: Sequence[Proposal], budget: int | None) -> Selected:
    """Select without a model: what ties leaves open goes to the earlier.

    Args:
        budget: None for no budget.
    """
    found = border(proposals, len(proposals) if budget is None else budget)
    return _selected(proposals, [*found.settled, *found.tied[: found.room]], budget, 0)


async def select(
    proposals: Sequence[Proposal], budget: int | None, document: str, optimizer: StepOptimizer | None
) -> Selected:
    """At most `budget` proposals.

    Args:
        budget: None for no budget (`lr_control_mode: none`).
        document: what the edits are about, whole.
        optimizer: None for no calls, as `ranked`.

    Raises:
        ModelError: the call failed for good. A reply that cannot be used leaves the choice to the ranking.
    """
    found = border(proposals, len(proposals) if budget is None else budget)
    if optimizer is None or not found.tied:
        return ranked(proposals, budget)
    values = {
        "skill": data("skill", body(document).strip()).removeprefix("<skill>").removesuffix("</skill>"),
        "settled": _settled([proposals[place] for place in found.settled]),
        "edits": "\n".join(shown_edit(f"e{n}", proposals[place]) for n, place in enumerate(found.tied, start=1)),
        "budget": count(found.room, "edit"),
    }
    wanted = await optimizer.ask("select", "full/select", values, _reader(len(found.tied))) or []
    order = dict.fromkeys([*(found.tied[number] for number in wanted), *found.tied])
    return _selected(proposals, [*found.settled, *list(order)[: found.room]], budget, 1)


def _settled(proposals: Sequence[Proposal]) -> str:
    shown = "\n".join(shown_edit("chosen", proposal) for proposal in proposals)
    return f"These edits are chosen already:\n\n{shown}\n\n" if shown else ""


def _selected(proposals: Sequence[Proposal], chosen: Sequence[int], budget: int | None, calls: int) -> Selected:
    places = set(chosen)
    reason = f"outside the learning rate of {count(budget or 0, 'edit')}"
    kept = tuple(p for place, p in enumerate(proposals) if place in places)
    return Selected(kept, tuple(Dropped(p, reason) for i, p in enumerate(proposals) if i not in places), calls)


def _reader(available: int) -> Callable[[str], list[int]]:
    """Reads the places that a reply selects, the most important first; unknown and repeated ids are left out."""

    def read(reply: str) -> list[int]:
        selected = parse_object(reply).get("selected")
        if not isinstance(selected, list):
            raise ReplyError("the reply has no list 'selected'", mend="ask again")
        places = dict.fromkeys(_place(ident) for ident in selected)
        return [place for place in places if place is not None and place < available]

    return read


def _place(ident: Json) -> int | None:
    if isinstance(ident, bool) or not isinstance(ident, int | str):
        return None
    match = re.fullmatch(r"\s*[eE]?([1-9]\d{0,5})\s*", str(ident))
    return int(match[1]) - 1 if match else None
