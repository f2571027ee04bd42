"""The protected regions of a document: the slow update's guidance, and the appendix of execution notes.

No edit reaches them; what owns a region writes it whole, by the functions here. Of several regions of one kind the
first one counts. What stands outside of it stays byte for byte. Source of the two regions and of the rule for equal
notes: SkillOpt's `optimizer/slow_update.py` and `optimizer/appendix.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillgit.document.content import refused_content
from skillgit.document.integrity import tears_fence
from skillgit.document.lines import block_lines
from skillgit.document.placing import last_line_for_append, place_after
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Region, Structure
from skillgit.redact import secrets_in

GUIDANCE, APPENDIX = "SLOW_UPDATE", "APPENDIX"
HEADING = "## Execution notes"
MOST_OF_A_NOTE = 400
"""Characters of one note: a reminder, no text to read up on."""

_BULLET = re.compile(r"\A(?:[-*+]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Written:
    """A document after a region was written.

    Args:
        document: unchanged where that was refused, or would change nothing.
        reason: one sentence that says why it was refused; it quotes no secret. None where it was not.
    """

    document: str
    reason: str | None = None


def guidance(document: str) -> str:
    """The slow update's guidance, with LF line ends and no blank lines around; empty where there is none."""
    return "\n".join(_content(Structure(document), GUIDANCE))


def with_guidance(document: str, text: str) -> Written:
    """Replace the guidance.

    Where the document has no such region it is made at the end, before an appendix that stands there. The document's
    own end-of-line is used. An empty text empties a region that exists.
    """
    structure = Structure(document)
    lines = block_lines(text)
    return _written(structure, GUIDANCE, lines, text)


def notes(document: str) -> tuple[str, ...]:
    """The execution notes of the appendix, in order: each line with text is one, without its bullet,
    but for the heading and comments."""
    lines = [line.strip() for line in _content(Structure(document), APPENDIX)]
    return tuple(_BULLET.sub("", line) for line in lines if line and not _is_no_note(line))


def with_notes(document: str, added: Iterable[str]) -> Written:
    """Add notes to the appendix, those it has aside; what stands in it stays as it is.

    Where the document has no appendix it is made at the end, under the heading `HEADING`.
    """
    structure = Structure(document)
    old = notes(document)
    new = merged_notes(old, added)[len(merged_notes(old, ())) :]
    if not new:
        return Written(document)
    lines = _content(structure, APPENDIX) or [HEADING, ""]
    return _written(structure, APPENDIX, [*lines, *_bullets(new)], "\n".join(new))


def with_only_notes(document: str, kept: Iterable[str]) -> Written:
    """Put these notes, equal ones once, in place of all that stand in the appendix."""
    chosen = merged_notes((), kept)
    lines = [HEADING, "", *_bullets(chosen)] if chosen else []
    return _written(Structure(document), APPENDIX, lines, "\n".join(chosen))


def merged_notes(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Both in order, each on one line without a bullet; of notes that are equal but for case, white space and final
    punctuation the first one."""
    found: dict[str, str] = {}
    for note in (*old, *new):
        line = _BULLET.sub("", " ".join(note.split()))
        key = line.rstrip(" .,;:!?-_").casefold()
        if key:
            found.setdefault(key, line)
    return tuple(found.values())


def refused_note(note: str) -> str | None:
    """Why a note cannot stand in an appendix, whatever the document, as one clause; None where it can."""
    if len(note) > MOST_OF_A_NOTE:
        return f"its content is longer than the {MOST_OF_A_NOTE} characters of a note"
    return refused_text(f"- {note}")


def refused_text(text: str) -> str | None:
    """Why a text cannot stand in a region, whatever the document, as one clause without the secret it may be about;
    None where it can."""
    return refused_content(text) or _secret_reason(secrets_in(text))


def _bullets(texts: Sequence[str]) -> list[str]:
    return [f"- {text}" for text in texts]


def _is_no_note(line: str) -> bool:
    """The heading, or a comment that people left."""
    heading = line.startswith("#") and line.lstrip("#").strip().casefold() == HEADING.lstrip("#").strip().casefold()
    return heading or line.startswith("<!--")


def _region(structure: Structure, kind: str) -> Region | None:
    return next((region for region in structure.regions if region.kind == kind), None)


def _inner(structure: Structure, region: Region) -> tuple[int, int]:
    """The span between the region's markers."""
    text = structure.text
    return text.index("-->", region.start) + 3, text.rindex("<!--", region.start, region.end)


def _content(structure: Structure, kind: str) -> list[str]:
    """The region's lines without blank ones around; empty where there is no such region."""
    region = _region(structure, kind)
    if region is None:
        return []
    start, end = _inner(structure, region)
    return block_lines(structure.text[start:end])


def _written(structure: Structure, kind: str, lines: Sequence[str], brought: str) -> Written:
    """The document with `lines` in its region.

    Args:
        brought: the text that is new in it, which is judged.
    """
    document = structure.text
    if list(lines) == _content(structure, kind):
        return Written(document)
    try:
        return Written(_checked(structure, kind, lines, brought))
    except Refusal as refusal:
        return Written(document, f"Not written: {refusal.reason}.")


def _checked(structure: Structure, kind: str, lines: Sequence[str], brought: str) -> str:
    if structure.problem is not None:
        raise Refusal("protected", structure.problem)
    refused = refused_content(brought)
    if refused is not None:
        raise Refusal("invalid", refused)
    change = _change(structure, kind, lines)
    after = structure.changed(change)
    _check(structure, after, change, kind)
    if _content(after, kind) != list(lines):
        raise Refusal("invalid", "together with the text beside it, it would not be read as what it is")
    known = secrets_in(structure.text)
    secret = _secret_reason((secrets_in(after.text) | secrets_in(brought)) - known)
    if secret is not None:
        raise Refusal("invalid", secret)
    return after.text


def _change(structure: Structure, kind: str, lines: Sequence[str]) -> Change:
    eol = structure.eol
    region = _region(structure, kind)
    if region is not None:
        start, end = _inner(structure, region)
        return Change(start, end, eol + "".join(line + eol for line in lines))
    block = [f"<!-- {kind}_START -->", *lines, f"<!-- {kind}_END -->"]
    return place_after(structure, _line_before(structure, kind), block)


def _line_before(structure: Structure, kind: str) -> int | None:
    """The line that a new region comes after: guidance stands before an appendix at the end, an appendix last."""
    if kind == GUIDANCE:
        return last_line_for_append(structure)
    return next((i for i in range(len(structure.lines) - 1, -1, -1) if not structure.lines.is_blank(i)), None)


def _check(before: Structure, after: Structure, change: Change, kind: str) -> None:
    """What writing a region may not do to the rest of the document (as `integrity.check_change` for edits).

    Raises:
        Refusal: `invalid`.
    """
    if after.problem is not None:
        raise Refusal("invalid", "together with the text beside it, it would unbalance the region's markers")
    made = Counter[str]() if _region(before, kind) else Counter((f"<!-- {kind}_START -->", f"<!-- {kind}_END -->"))
    if Counter(after.comments) - Counter(before.comments) - made:
        raise Refusal("invalid", "it would change or add text inside an HTML comment, which readers do not see")
    if tears_fence(before, after, change):
        raise Refusal("invalid", "it would leave a code fence open or change which other lines are code")


def _secret_reason(secrets: Iterable[tuple[str, str]]) -> str | None:
    kinds = sorted({kind for kind, _ in secrets})
    return f"its text holds a secret ({', '.join(kinds)})" if kinds else None
