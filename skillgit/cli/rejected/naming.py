"""How rejected candidates are named and told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillgit.cli.output import joined, one_line

if TYPE_CHECKING:
    from skillgit.train.archive.buffer import Told
    from skillgit.train.archive.remarks import Remark
    from skillgit.train.archive.story import Rejected


def find(found: list[Rejected], name: str, step: str) -> Rejected:
    """The candidate that a person names: STEP, STEP-KK or RUN/STEP of the newest run that has it.

    Raises:
        UsageError: there is none, or more than one.
    """
    from skillgit.errors import UsageError
    from skillgit.train.archive.story import parse_step

    asked = parse_step(step)
    fitting = [
        item
        for item in found
        if asked
        and item.run.startswith(asked.run)
        and item.step == asked.step
        and asked.candidate in (None, item.candidate)
    ]
    fitting = [item for item in fitting if item.run == fitting[0].run]
    if not fitting:
        raise UsageError(f"{name} has no rejected candidate {step!r}", mend=f"see `skillgit rejected list {name}`")
    if len(fitting) > 1:
        which = ", ".join(place(item) for item in fitting)
        raise UsageError(f"{name} has more than one rejected candidate {step!r}: {which}", mend="name one of them")
    return fitting[0]


def place(item: Rejected) -> str:
    """STEP-KK."""
    return f"{item.step}-{item.candidate:02d}"


def verdict(item: Rejected, told: Told | None = None) -> str:
    """Its scores and the sentence that the gate gave; of the trailers, where its journal is not here."""
    from skillgit.cli.progress import points, reached
    from skillgit.train.archive.journal import exact_number

    if item.entry is None:
        known = ""
        if told is not None and told.gap is not None:
            known = f"val {points(told.before)} -> {reached(told.score, told.maximum)}: "
        return f"{known}its journal is not here"
    record = item.entry.record
    score = reached(item.entry.score, exact_number(record.maximum))
    kind = "" if record.kind == "step" else f"{record.kind}: "
    return f"{kind}val {points(exact_number(record.before))} -> {score}: {joined(record.reason)}"


def said(remark: Remark) -> str:
    """A person's note, on one line."""
    return one_line(f"note {remark.at[:10]} {remark.by}: {remark.text}")


def to_json(item: Rejected, told: Told | None, remarks: list[Remark]) -> dict[str, Any]:
    """Stable keys. `gap` is the score, or what could still have been reached, minus the incumbent's."""
    from skillgit.train.archive.story import decimal

    return {
        "ref": item.ref,
        "commit": item.commit,
        "run": item.run,
        "step": item.step,
        "candidate": item.candidate,
        "record": item.entry.to_json() if item.entry else None,
        "day": (told.day if told else "") or None,
        "gap": decimal(told.gap if told else None),
        "notes": [remark.to_json() for remark in remarks],
    }
