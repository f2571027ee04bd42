"""The rejected buffer in order: by step, by day, by reason, by how close a candidate came.

How close it came is read from the candidates' own trailers by git itself, all at once, so that thousands of journal
entries need not be; a trailer's score counts only where the commit has the document that was measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive.story import Rejected, Steps

Order = Literal["step", "close", "day", "reason"]
ORDERS: tuple[Order, ...] = ("step", "close", "day", "reason")

FEW = 100
"""Refs that are named to git one by one."""

_NUMBERS = ("Skill-Score", "Skill-Score-Max", "Skill-Score-Before")
_DECIMAL = re.compile(r"[01]\.\d{1,12}")


@dataclass(frozen=True, slots=True)
class Told:
    """What a rejected ref tells of its candidate.

    Args:
        day: of the commit, in UTC.
        score: over all val tasks; maximum: instead, on an early rejection; before: the incumbent's. None where the
            commit does not have the document that its trailers are about, or says nothing.
    """

    day: str
    score: Fraction | None = None
    maximum: Fraction | None = None
    before: Fraction | None = None

    @property
    def gap(self) -> Fraction | None:
        """How far it was above the incumbent, or could still have come: 0 is a tie. None where that is not known."""
        reached = self.score if self.maximum is None else self.maximum
        return None if reached is None or self.before is None else reached - self.before


NOTHING = Told("")


def told(
    repo: Repository, name: str, document: str, known: Steps, items: Sequence[Rejected] | None = None
) -> dict[str, Told]:
    """What rejected refs of a skill tell, by ref.

    Args:
        document: its path, for runs whose journal is not here to say it.
        items: only these (and others, where they are many); all of them unless given.
    """
    few = items is not None and len(items) <= FEW
    chosen = [item.ref for item in items or ()] if few else [SkillRefs(name).rejected_prefix]
    if not chosen:
        return {}
    # All trailers, and not one by one: git mixes up the keys where a format asks for several.
    form = "%00%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:trailers:only,unfold)"
    parts = repo.git("for-each-ref", f"--format={form}", *chosen).text.split("\0")[1:]
    rows = list(zip(*(iter(parts),) * 4, strict=True))
    paths: dict[str, str] = {}
    for ref, *_ in rows:
        run = ref.split("/")[-2]
        if run not in paths:
            paths[run] = known.document(run) or document
    blobs = _blobs(repo, [f"{commit}:{paths[ref.split('/')[-2]]}" for ref, commit, _, _ in rows])
    return {ref: _told(when, text, blob) for (ref, _, when, text), blob in zip(rows, blobs, strict=True)}


def ordered(items: Sequence[Rejected], by: Order, tells: Mapping[str, Told]) -> list[Rejected]:
    """The candidates in an order; what is equal in it stays as it was: the newest step first.

    Args:
        tells: what `told` found; needed for `close` and `day`. `reason` reads every candidate's journal entry.
    """
    if by == "close":
        return sorted(items, key=lambda item: _distance(tells.get(item.ref, NOTHING)))
    if by == "day":
        return sorted(items, key=lambda item: tells.get(item.ref, NOTHING).day, reverse=True)
    if by == "reason":
        return sorted(items, key=lambda item: (item.entry is None, item.entry.record.reason if item.entry else ""))
    return list(items)


def _distance(told: Told) -> tuple[bool, Fraction, bool]:
    """The nearest first; what was measured to the end before what could at most have come so far; the unknown last."""
    gap = told.gap
    return gap is None, -gap if gap is not None else Fraction(0), told.maximum is not None


def _blobs(repo: Repository, places: Sequence[str]) -> list[str]:
    """The objects at `COMMIT:PATH` places, in one call; empty where nothing is."""
    if not places:
        return []
    asked = "".join(f"{place}\n" for place in places).encode("utf-8", "surrogateescape")
    lines = repo.git("cat-file", "--batch-check=%(objectname)", input=asked).out.decode("utf-8", "replace").split("\n")
    return ["" if line.endswith(" missing") else line for line in lines[: len(places)]]


def _told(when: str, trailers: str, blob: str) -> Told:
    day = datetime.fromtimestamp(int(when), UTC).date().isoformat() if re.fullmatch(r"\d{1,11}", when) else ""
    values = dict(line.split(": ", 1) for line in trailers.split("\n") if line.startswith("Skill-") and ": " in line)
    if not blob or values.get("Skill-Blob") != blob:
        return Told(day)
    return Told(
        day, *(_number(values.get(key, "")) for key in ("Skill-Score", "Skill-Score-Max", "Skill-Score-Before"))
    )


def _number(text: str) -> Fraction | None:
    """A trailer's decimal in 0..1."""
    if not _DECIMAL.fullmatch(text):
        return None
    number = Fraction(text)
    return number if number <= 1 else None
