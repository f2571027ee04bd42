"""What a text in the place of a conflict may not do to the document. Pure.

The rules are those of edits (DESIGN, section 3). A place may lie inside of a protected region, which both sides wrote;
what one of them has there already (a whole region, a comment) may stay, as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from skillgit.document.content import refused_content
from skillgit.document.integrity import check_change, tears_fence
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Structure, body
from skillgit.redact import secrets_in
from skillgit.store.threeway import Hunk, Piece, hunks, joined
from skillgit.train.propose.candidate import MOST_CHARACTERS

_MARKER = re.compile(r"(?:<{7,}|>{7,}|\|{7,}|={7,})(?:[ \t].*)?")


@dataclass(frozen=True, slots=True)
class Resolution:
    """A text for each conflict, in order, the whole document with them, and why."""

    texts: tuple[str, ...]
    document: str
    reason: str

    @property
    def told(self) -> str:
        """One sentence for a commit's body."""
        count = len(self.texts)
        return f"{count} conflict{'s' if count > 1 else ''} settled by the optimizer: {self.reason}"


def problem(found: Sequence[Piece], texts: Sequence[str]) -> str | None:
    """Why these texts cannot stand in the places of the conflicts, as one clause; None where they can."""
    places = hunks(found)
    for number, (hunk, text) in enumerate(zip(places, texts, strict=True), start=1):
        wrong = _content(hunk, text) or _beside(found, texts, number - 1)
        if wrong is not None:
            return f"the text for c{number} cannot stand: {wrong}"
    document = joined(found, lambda number, _: texts[number])
    if not body(document).strip():
        return "these texts would leave the document empty"
    ours, theirs = joined(found, lambda _, hunk: hunk.ours), joined(found, lambda _, hunk: hunk.theirs)
    brought = secrets_in(document) - secrets_in(ours) - secrets_in(theirs)
    if brought:
        return f"the texts hold a secret ({', '.join(sorted({kind for kind, _ in brought}))})"
    return None


def _content(hunk: Hunk, text: str) -> str | None:
    """Judged by the text alone; lines that a side has may come again as they are."""
    if len(text) > MOST_CHARACTERS:
        return f"it is longer than {MOST_CHARACTERS} characters"
    had = {line for side in (hunk.ours, hunk.theirs, hunk.before) for line in side.splitlines()}
    new = [line for line in text.splitlines() if line not in had]
    if any(_MARKER.fullmatch(line) for line in new):
        return "a conflict marker is left in it"
    return refused_content("\n".join(new))


def _beside(found: Sequence[Piece], texts: Sequence[str], place: int) -> str | None:
    """Judged by the document around it, with one side or the other in its place; either may say yes."""
    said: str | None = None
    for ours in (True, False):
        said = _against(found, texts, place, ours=ours)
        if said is None:
            return None
    return said


def _against(found: Sequence[Piece], texts: Sequence[str], place: int, *, ours: bool) -> str | None:
    def side(hunk: Hunk) -> str:
        return hunk.ours if ours else hunk.theirs

    start = 0
    number = 0
    for piece in found:
        if isinstance(piece, Hunk):
            if number == place:
                break
            number += 1
            start += len(texts[number - 1])
        else:
            start += len(piece)
    before = Structure(joined(found, lambda n, hunk: texts[n] if n < place else side(hunk)))
    change = Change(start, start + len(side(hunks(found)[place])), texts[place])
    after = before.changed(change)
    if after.text == before.text:
        return None
    try:
        if _inside(before, change):
            _check_inside(before, after, change)
        else:
            check_change(before, after, change)
    except Refusal as refusal:
        return refusal.reason
    return None


def _inside(structure: Structure, change: Change) -> bool:
    """Whether a change lies between a region's markers."""
    return any(
        structure.text.index("-->", region.start) + 3 <= change.start
        and change.end <= structure.text.rindex("<!--", region.start, region.end)
        for region in structure.regions
    )


def _check_inside(before: Structure, after: Structure, change: Change) -> None:
    """What `check_change` sees to, but for the region's own text.

    Raises:
        Refusal: `invalid`.
    """
    kinds = [region.kind for region in before.regions]
    if after.problem is not None or [region.kind for region in after.regions] != kinds:
        raise Refusal("invalid", "it would make or change a protected region's markers")
    if Counter(after.comments) - Counter(before.comments):
        raise Refusal("invalid", "it would change or add text inside an HTML comment, which readers do not see")
    if tears_fence(before, after, change):
        raise Refusal("invalid", "it would leave a code fence open or change which other lines are code")
