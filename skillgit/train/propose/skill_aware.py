"""Skill-aware reflection: lapses of the agent become reminders in the appendix, and leave the document's rules alone.

Source: SkillOpt's `optimizer/skill_aware.py` and `optimizer/appendix.py` (after EmbodiSkill, arXiv 2605.10332). Ours
differs on purpose: notes are part of the candidate, as a change of its own, and pass the gate with it; SkillOpt writes
them into the document unmeasured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillgit.document import Edit
from skillgit.document.regions import merged_notes, notes, refused_note, with_notes, with_only_notes
from skillgit.errors import ReplyError
from skillgit.models.base import Json
from skillgit.models.replies import parse_object, parse_patch
from skillgit.train.propose.candidate import MOST_CHARACTERS, Candidate, EditOutcome
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import count, data, sections
from skillgit.train.propose.proposals import UNLIMITED, Source

KEY = "appendix_notes"
"""The top-level key of a reply that holds the notes."""

REASON = "The rule was there, and was not followed."
"""Why a note is written, in its commit."""

STAGE = "consolidate"
"""Names the call within its step."""

AppendixSource = Literal["both", "failure", "success"]

_FILES: dict[Source, str] = {"failure": "full/skill_aware_failures", "success": "full/skill_aware_successes"}
_TEXT_KEYS = ("note", "content", "text")


def addition(source: Source) -> str:
    """What a reflection's system prompt ends with where the option is on: `system + addition(source)`."""
    return "\n\n" + sections(_FILES[source])["system"]


def read_notes(reply: str) -> tuple[str, ...]:
    """The notes of a reflection's reply; empty where it has none, or cannot be read (which `parse_patch` says)."""
    try:
        return notes_of(parse_patch(reply).extra)
    except ReplyError:
        return ()


def notes_of(extra: Mapping[str, Json]) -> tuple[str, ...]:
    """The notes among a patch's other keys (`Patch.extra`), equal ones once.

    Tolerant of shape: a list of texts, one text, or objects that hold a text. What is none of these is passed over.
    """
    value = extra.get(KEY)
    return merged_notes((), (_text(item) for item in (value if isinstance(value, list) else [value])))


def gather(found: Iterable[tuple[Source, Sequence[str]]], appendix_source: AppendixSource) -> tuple[str, ...]:
    """The notes of a step's reflections, failures first, equal ones once.

    Args:
        found: each minibatch's source and notes, in the order of the minibatches.
        appendix_source: `skill_aware_appendix_source`: whose notes count.
    """
    wanted = [(source, texts) for source, texts in found if appendix_source in ("both", source)]
    return merged_notes(
        (), (text for _, texts in sorted(wanted, key=lambda one: one[0] != "failure") for text in texts)
    )


@dataclass(frozen=True, slots=True)
class Reminders:
    """Notes that a step would add, failures first.

    Args:
        most: how many of them may be added: a step's budget counts for them as it does for edits.
        source: what the attempts were that the first of them come from.
    """

    texts: tuple[str, ...] = ()
    most: int = 0
    source: Source = "failure"


NO_REMINDERS = Reminders()


@dataclass(frozen=True, slots=True)
class Noted:
    """A document with notes in its appendix.

    Args:
        written: those that were new and went in.
        left_out: why others did not, each with their number; it quotes no note, which may hold a secret.
    """

    document: str
    written: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def reminders(
    found: Sequence[tuple[Source, Sequence[str]]], appendix_source: AppendixSource, budget: int | None
) -> Reminders:
    """What `gather` finds, with how many of them a step may add: its budget, `UNLIMITED` where it has none."""
    failing = appendix_source != "success" and any(texts for source, texts in found if source == "failure")
    most = UNLIMITED if budget is None else budget
    return Reminders(gather(found, appendix_source), most, "failure" if failing else "success")


def document_with_notes(document: str, added: Iterable[str], most: int) -> Noted:
    """The document with these notes added to its appendix, at most `most` of them.

    A note that cannot stand there (hidden text, a secret, too long) is left out by itself: the others go in. One that
    the document has already counts for nothing. All together are no longer than one edit may be.
    """
    there = merged_notes(notes(document), ())
    written: list[str] = []
    reasons: Counter[str] = Counter()
    for note in merged_notes(there, added)[len(there) :]:
        if len(written) == most:
            reasons[f"Not written: a step adds at most {count(most, 'note')} here."] += 1
        elif len("\n".join([*written, note])) > MOST_CHARACTERS:
            reasons[f"Not written: with it the step's notes have more than {MOST_CHARACTERS} characters."] += 1
        elif (refused := refused_note(note)) is not None:
            reasons[f"Not written: {refused}."] += 1
        elif (after := with_notes(document, [note])).reason is not None:
            reasons[after.reason] += 1
        else:
            document = after.document
            written.append(note)
    return Noted(document, tuple(written), tuple(reasons.items()))


def document_with_only(document: str, kept: Sequence[str]) -> tuple[str, str | None]:
    """The document with what `consolidate` made of its notes in their place; or as it is, and why not."""
    written = with_only_notes(document, kept)
    return written.document, written.reason


async def consolidate(optimizer: StepOptimizer, document: str, threshold: int) -> tuple[str, ...]:
    """Shorten the appendix of a document where it has more notes than `skill_aware_consolidate_threshold`.

    Args:
        document: the candidate, with the step's notes.
        threshold: 0 for never.

    Returns: the document's notes, as they are where no call was made or no usable reply came. A usable reply has at
        least one note, not more than there were, and none that cannot stand in an appendix.

    Raises:
        ModelError: the call itself failed.
    """
    current = notes(document)
    if threshold <= 0 or len(current) <= threshold:
        return current
    listed = "\n".join(f"{number}. {note}" for number, note in enumerate(current, start=1))
    values = {"appendix": data("appendix", f"\n{listed}\n"), "count": count(len(current), "note")}

    def read(reply: str) -> tuple[str, ...]:
        return _shorter(reply, len(current))

    return await optimizer.ask(STAGE, "full/consolidate", values, read) or current


async def with_reminders(built: Candidate, added: Reminders, optimizer: StepOptimizer, threshold: int) -> Candidate:
    """A candidate with reminders in its appendix, as a change of its own that passes the gate with the edits.

    The change's text is what the appendix says that it did not say before. Of what was left out there is an outcome for
    each reason. Only where the optimizer shortened the appendix is more than the new notes written: what people wrote
    into it, and how, stays otherwise.

    Args:
        threshold: as `consolidate` takes it.

    Raises:
        ModelError: the call to shorten failed for good.
    """
    noted = document_with_notes(built.document, added.texts, added.most)
    left = [
        EditOutcome(Edit("appendix", reason=REASON), number, added.source, "left_out", reason, built.document)
        for reason, number in noted.left_out
    ]
    if not noted.written:
        return Candidate(built.document, (*built.outcomes, *left))
    before, current = notes(built.document), notes(noted.document)
    document, why, problem = noted.document, REASON, ""
    kept = await consolidate(optimizer, document, threshold)
    if kept != current:
        shorter, refused = document_with_only(document, kept)
        problem = refused or ""
        if refused is None:
            document, why = shorter, f"{REASON} The appendix had {count(len(current), 'note')}, and was shortened."
    said = [note for note in notes(document) if note not in before] or notes(document)
    status = "applied" if document != built.document else "no_change"
    edit = Edit("appendix", content="\n".join(said), reason=why)
    outcome = EditOutcome(edit, len(noted.written), added.source, status, problem, document)
    return Candidate(document, (*built.outcomes, outcome, *left))


def _shorter(reply: str, most: int) -> tuple[str, ...]:
    found = notes_of(parse_object(reply))
    if not found:
        raise ReplyError(f"the reply's object has no notes under the key {KEY!r}")
    if len(found) > most:
        raise ReplyError(f"the reply has {count(len(found), 'note')}, more than the {most} that were to be shortened")
    refused = next((reason for note in found if (reason := refused_note(note)) is not None), None)
    if refused is not None:
        raise ReplyError(f"a note cannot be used: {refused}")
    return found


def _text(item: Json) -> str:
    if isinstance(item, dict):
        item = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), "")
    return item if isinstance(item, str) else ""
