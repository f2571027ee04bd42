"""How rejected candidates are named and told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgit.cli.output import one_line

if TYPE_CHECKING:
    from skillgit.train.archive.story import Rejected


def find(found: list[Rejected], name: str, step: str) -> Rejected:
    """The candidate that a person names: STEP, STEP-KK or RUN/STEP of the newest run that has it.

    Raises:
        UsageError: there is none, or more than one.
    """
    import re

    from skillgit.errors import UsageError

    run, _, number = step.rpartition("/")
    asked = re.fullmatch(r"0*(\d{1,9})(?:-0*(\d{1,9}))?", number)
    fitting = [
        item
        for item in found
        if asked and item.run.startswith(run) and item.step == int(asked[1]) and asked[2] in (None, str(item.candidate))
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


def verdict(item: Rejected) -> str:
    """Its scores and the sentence that the gate gave."""
    from skillgit.cli.progress import points, reached
    from skillgit.train.archive.journal import exact_number

    if item.entry is None:
        return "its journal is not here"
    record = item.entry.record
    score = reached(item.entry.score, exact_number(record.maximum))
    kind = "" if record.kind == "step" else f"{record.kind}: "
    return f"{kind}val {points(exact_number(record.before))} -> {score}: {one_line(record.reason)}"


def to_json(item: Rejected) -> dict[str, object]:
    """Stable keys."""
    return {
        "ref": item.ref,
        "commit": item.commit,
        "run": item.run,
        "step": item.step,
        "candidate": item.candidate,
        "record": item.entry.to_json() if item.entry else None,
    }
