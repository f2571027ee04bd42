"""Merging edits that conflict, by the optimizer: packed into few calls, in parallel, level by level."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from skillgit.document import Edit, apply_edits
from skillgit.document.edits import OPS
from skillgit.document.structure import body
from skillgit.errors import ReplyError
from skillgit.execute.pool import map_bounded
from skillgit.models.replies import RawEdit, parse_patch
from skillgit.train.propose.conflicts import Unit, stand_for
from skillgit.train.propose.likeness import contradiction, says_the_same
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import data
from skillgit.train.propose.proposals import Proposal, key_of, place_of

MEND = "ask again"


@dataclass(slots=True)
class Group:
    """One conflict and what became of it.

    Args:
        units: its edits, in order; after merging, those that are left.
        given_up: what the model left out.
        settled: whether the model decided; else the edits are still in conflict.
    """

    units: list[Unit]
    given_up: list[Unit] = field(default_factory=list)
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """The groups in their order, and how many merges were asked for."""

    groups: list[Group]
    calls: int


@dataclass(frozen=True, slots=True)
class Part:
    """As much of a group as one call holds."""

    group: int
    units: tuple[Unit, ...]


Job = tuple[Part, ...]
"""The parts of one call."""


async def merge(
    groups: Sequence[Sequence[Unit]],
    ordered: Sequence[Proposal],
    document: str,
    optimizer: StepOptimizer,
    batch_size: int,
) -> Merged:
    """Have each group merged.

    Args:
        groups: edits in conflict, at least two in each.
        ordered: what the sources of the units are places in.
        batch_size: the most edits in one call, at least 2.

    Raises:
        ModelError: a call failed for good.
    """
    found = [Group(list(units)) for units in groups]
    waiting, level, calls = list(range(len(found))), 0, 0
    while waiting:
        level += 1
        parts = [part for number in waiting for part in _cut(number, found[number].units, batch_size)]
        jobs = pack([part for part in parts if len(part.units) > 1], batch_size)
        calls += len(jobs)
        answers = await _answers(jobs, level, ordered, document, optimizer)
        again = []
        for number in waiting:
            own = [part for part in parts if part.group == number]
            if _take(found[number], own, answers):
                again.append(number)
        waiting = again
    return Merged(found, calls)


def _cut(number: int, units: Sequence[Unit], size: int) -> list[Part]:
    return [Part(number, tuple(units[start : start + size])) for start in range(0, len(units), size)]


def pack(parts: Sequence[Part], size: int) -> list[Job]:
    """Put the parts of different groups into as few calls as hold at most `size` edits each, in order."""
    jobs: list[list[Part]] = []
    for part in parts:
        for job in jobs:
            if sum(len(p.units) for p in job) + len(part.units) <= size and all(p.group != part.group for p in job):
                job.append(part)
                break
        else:
            jobs.append([part])
    return [tuple(job) for job in jobs]


async def _answers(
    jobs: Sequence[Job], level: int, ordered: Sequence[Proposal], document: str, optimizer: StepOptimizer
) -> dict[Part, list[Unit]]:
    """What the model makes of each part; nothing where it decided nothing."""

    async def one(numbered: tuple[int, Job]) -> dict[Part, list[Unit]]:
        number, job = numbered
        values = {"skill": body(document).strip(), "conflicts": _shown(job)}
        values["skill"] = data("skill", values["skill"]).removeprefix("<skill>").removesuffix("</skill>")
        read = _Reader(job, ordered, document)
        answer = await optimizer.ask(f"merge/{level}/{number}", "full/merge", values, read)
        return answer or {}

    found: dict[Part, list[Unit]] = {}
    for answer in await map_bounded(list(enumerate(jobs, start=1)), one, limit=optimizer.in_flight):
        found.update(answer)
    return found


def _take(group: Group, parts: Sequence[Part], answers: dict[Part, list[Unit]]) -> bool:
    """Take the answers about a group's parts over. Returns: whether it needs another level."""
    before, after = len(group.units), []
    for part in parts:
        made = answers.get(part)
        if not made:
            after += list(part.units)
            continue
        after += made
        told = frozenset(place for unit in made for place in unit.sources)
        group.given_up += [unit for unit in part.units if not unit.sources & told]
    group.units = after
    whole = len(parts) == 1
    group.settled = (whole and bool(answers.get(parts[0]))) or len(after) == 1
    return not whole and not group.settled and len(after) < before


def shown_edit(ident: str, proposal: Proposal) -> str:
    """An edit as prompts show it: JSON in its tag, in the form that replies have."""
    edit, (op, _) = proposal.edit, place_of(proposal.edit)
    fields = {"op": op, "target": edit.target, "content": edit.content, "reason": edit.reason}
    told: dict[str, str | int] = {key: value for key, value in fields.items() if value.strip()}
    told.update(support=proposal.support, source=proposal.source)
    return data("edit", json.dumps(told, ensure_ascii=False), id=ident)


def _shown(job: Job) -> str:
    blocks, number = [], 0
    for count, part in enumerate(job, start=1):
        lines = [f"Conflict {count}:"]
        for unit in part.units:
            number += 1
            lines.append(shown_edit(f"e{number}", unit.proposal))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


class _Reader:
    """Reads a reply about one job: each edit says which of the given edits it stands for."""

    def __init__(self, job: Job, ordered: Sequence[Proposal], document: str) -> None:
        self._ordered = ordered
        self._document = document
        self._job = job
        self._units = [(part, unit) for part in job for unit in part.units]

    def __call__(self, reply: str) -> dict[Part, list[Unit]]:
        """The edits of each part; a part of which none speaks is left out, and an empty list decides nothing.

        Raises:
            ReplyError: the reply, or an edit in it, cannot be used.
        """
        found: dict[Part, list[Unit]] = {}
        for number, raw in enumerate(parse_patch(reply).edits, start=1):
            part, units = self._meant(number, raw)
            found.setdefault(part, []).append(self._unit(number, raw, units))
        for part, made in found.items():
            if len(made) > len(part.units):
                raise ReplyError(f"the reply has {len(made)} edits for a conflict of {len(part.units)}", mend=MEND)
        return found

    def _meant(self, number: int, raw: RawEdit) -> tuple[Part, list[Unit]]:
        places = dict.fromkeys(int(digits) - 1 for digits in re.findall(r"\be(\d{1,6})\b", raw.support))
        named = [self._units[place] for place in places if 0 <= place < len(self._units)]
        named = named or self._unnamed(raw)
        parts = list(dict.fromkeys(part for part, _ in named))
        if len(parts) != 1:
            which = "edits of different conflicts" if parts else "none of the given edits"
            raise ReplyError(f"edit {number} of the reply names {which} in 'support'", mend=MEND)
        return parts[0], [unit for _, unit in named]

    def _unnamed(self, raw: RawEdit) -> list[tuple[Part, Unit]]:
        """What an edit without ids stands for (models write a count there): the given edit that it repeats, else all of
        the one conflict that it is about, by its place and matter."""
        edit = _edit(raw)
        equal = [item for item in self._units if key_of(item[1].proposal.edit) == key_of(edit)]
        if equal or len(self._job) == 1:
            return equal or self._units
        about = {part for part, unit in self._units if _same_matter(unit.proposal.edit, edit)}
        return [item for item in self._units if item[0] in about]

    def _unit(self, number: int, raw: RawEdit, units: Sequence[Unit]) -> Unit:
        sources = {place for unit in units for place in unit.sources}
        edit = _edit(raw)
        for unit in units:
            if key_of(unit.proposal.edit) == key_of(edit):
                return stand_for(self._ordered, sources, unit.proposal, unit.own)
        if edit.op not in OPS:
            raise ReplyError(f"edit {number} of the reply has the op {edit.op[:40]!r}", mend=MEND)
        report = apply_edits(self._document, [edit]).reports[0]
        known = {place_of(unit.proposal.edit)[1] for unit in units}  # its place may come of an earlier edit
        if report.status in ("invalid", "protected") or (
            report.status in ("unmatched", "ambiguous") and place_of(edit)[1] not in known
        ):
            raise ReplyError(f"edit {number} of the reply cannot be used: {report.reason}", mend=MEND)
        return stand_for(self._ordered, sources, Proposal(edit, 0, "failure", 0), None)


def _edit(raw: RawEdit) -> Edit:
    return Edit(raw.op.strip().lower(), raw.target, raw.content, raw.reason)


def _same_matter(one: Edit, other: Edit) -> bool:
    if place_of(one) != place_of(other):
        return False
    changes = place_of(one)[0] in ("replace", "delete")
    return changes or says_the_same(one.content, other.content) or bool(contradiction(one.content, other.content))
