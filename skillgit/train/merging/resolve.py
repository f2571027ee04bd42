"""The optimizer settles the conflicts of a merge: a text for each place, checked like any edit.

What stands outside of the conflicts is the clean merge, byte for byte: the model writes nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillgit.document.lines import EOL
from skillgit.document.structure import Structure, body
from skillgit.errors import ConfigError, ModelError, RefusedError, ReplyError
from skillgit.models.base import Json, Request, Turn
from skillgit.models.replies import parse_object
from skillgit.redact import redact
from skillgit.store.threeway import Hunk, Piece, hunks, joined
from skillgit.train.archive.messages import MOST_REASON
from skillgit.train.events import StageStarted
from skillgit.train.merging.conflict import Clash, Conflict, Origin
from skillgit.train.merging.resolution import Resolution, problem
from skillgit.train.propose.optimizer_calls import CallLog, OptimizerCalls, StepOptimizer
from skillgit.train.propose.prompts import conversation, count, data, fill
from skillgit.train.session import Session

MOST_TRIES = 2
"""Resolutions that are gated; each is asked for at most twice."""
_ID = re.compile(r"\s*c?(\d{1,6})\s*")
_MOST_ORIGINS = 8


@dataclass(frozen=True, slots=True)
class Refused:
    """A resolution that the gate refused, as the next prompt tells of it."""

    texts: tuple[str, ...]
    reason: str


def check_resolvable(path: str, found: Sequence[Piece]) -> None:
    """See that a model may write in all of the places.

    Raises:
        RefusedError: a conflict touches the frontmatter, or no edit could touch one side's document.
    """
    mend = "merge by hand"
    for choose in (lambda _, hunk: hunk.ours, lambda _, hunk: hunk.theirs):
        structure = Structure(joined(found, choose))
        if structure.problem is not None:
            raise RefusedError(f"{path}: no edit can apply: {structure.problem}", mend=mend)
        first = next((i for i, piece in enumerate(found) if isinstance(piece, Hunk)), 0)
        if len(joined(found[:first], choose)) < structure.body_start:
            raise RefusedError(f"{path}: the conflict is in the frontmatter, which no model writes", mend=mend)


class Resolver:
    """Asks the optimizer to settle the conflicts of one merge.

    Args:
        key: names the merge; equal questions of it are answered from the cache.
        taken: the document that the merge has to beat: a resolution that ends there is none.
    """

    def __init__(self, session: Session, clash: Clash, key: str, taken: str) -> None:
        if session.optimizer is None:
            raise ConfigError("a resolution needs an optimizer model", mend="set models.optimizer")
        spender = session.spender("optimizer", "resolve")
        calls = OptimizerCalls(session.optimizer, session.cache, key, on_usage=spender, meter=session.meter)
        self._session, self._clash, self._taken = session, clash, taken
        self._optimizer = StepOptimizer(calls, 0, CallLog(), session.environment)
        self.refused: list[Refused] = []

    async def next(self) -> Resolution | None:
        """A resolution that may be gated.

        Returns: None where there were enough of them, or the next one could not be used.

        Raises:
            ModelError: a call failed for good, or nothing of what came first could be used.
        """
        if len(self.refused) == MOST_TRIES:
            return None
        self._session.tell(StageStarted(0, 0, "resolve", 1))
        request = _request(self._optimizer, self._session.form, self._clash, self.refused)
        calls, log = self._optimizer.calls, self._optimizer.log
        found = await calls.ask(0, f"resolve/{len(self.refused) + 1}", request, self._read, log)
        if found is None and not self.refused:
            raise ModelError(
                f"{calls.model.name} gave no resolution that can be used: {log.last_problem}",
                mend="merge by hand, or choose another optimizer",
            )
        return found

    def refuse(self, resolution: Resolution, reason: str) -> None:
        """Remember that the gate refused one: the next question tells of it."""
        self.refused.append(Refused(resolution.texts, reason))

    def _read(self, reply: str) -> Resolution:
        found = _read(reply, self._clash.pieces, self._clash.conflicts)
        if found.document == self._taken:
            raise ReplyError("with these texts the document stays as it is: nothing of the trained side is in it")
        if found.texts in [one.texts for one in self.refused]:
            raise ReplyError("these texts are those that were tried and are not good enough")
        return found


def _read(reply: str, found: Sequence[Piece], conflicts: Sequence[Conflict]) -> Resolution:
    """The reply's text for each conflict, in order, and the document that they make.

    Raises:
        ReplyError: one is missing, or may not stand in the document.
    """
    rows = parse_object(reply).get("resolutions")
    if not isinstance(rows, list):
        raise ReplyError("the reply has no list 'resolutions'")
    texts: dict[int, tuple[str, str]] = {}
    for row in rows:
        number, text, why = _row(row, len(conflicts))
        if number in texts:
            raise ReplyError(f"the reply settles the conflict c{number} twice")
        texts[number] = text, why
    missing = [f"c{c.number}" for c in conflicts if c.number not in texts]
    if missing:
        raise ReplyError(f"the reply does not settle {', '.join(missing)}")
    eol = Structure(joined(found, lambda _, hunk: hunk.ours)).eol
    last = len(found) - 1
    places = [index for index, piece in enumerate(found) if isinstance(piece, Hunk)]
    whole = [
        _ended(texts[number][0], eol, hunk, last=place == last)
        for number, (place, hunk) in enumerate(zip(places, hunks(found), strict=True), start=1)
    ]
    why = " ".join(texts[number][1] for number in sorted(texts) if texts[number][1])
    wrong = problem(found, whole)
    if wrong is not None:
        raise ReplyError(wrong)
    document = joined(found, lambda number, _: whole[number])
    return Resolution(tuple(whole), document, redact(why.strip())[:MOST_REASON])


def _row(row: Json, most: int) -> tuple[int, str, str]:
    if not isinstance(row, dict):
        raise ReplyError("an entry of 'resolutions' is no object")
    named = _ID.fullmatch(str(row.get("id")))
    number = int(named[1]) if named else 0
    if not 1 <= number <= most:
        raise ReplyError(f"the reply names a conflict {str(row.get('id'))[:40]!r}, which there is not")
    text, why = row.get("text"), row.get("reason", "")
    if not isinstance(text, str):
        raise ReplyError(f"the reply's text for c{number} is no text")
    return number, text, why if isinstance(why, str) else ""


def _ended(text: str, eol: str, hunk: Hunk, *, last: bool) -> str:
    """Whole lines with the document's end-of-line; at the end of a document that ends without one, so does the text."""
    lines = EOL.split(text)
    while lines and not lines[-1].strip(" \t") and not _ends_blank(hunk):
        lines.pop()
    if lines and lines[-1] == "":
        lines.pop()
    if not lines:
        return ""
    open_end = last and not any(side.endswith(("\n", "\r")) for side in (hunk.ours, hunk.theirs))
    return eol.join(lines) + ("" if open_end else eol)


def _ends_blank(hunk: Hunk) -> bool:
    """Whether a side ends with a blank line, which then belongs to the place."""
    return any(not line.strip() for side in (hunk.ours, hunk.theirs) if side for line in side.splitlines()[-1:])


def _request(optimizer: StepOptimizer, form: str, clash: Clash, refused: Sequence[Refused]) -> Request:
    found, conflicts = clash.pieces, clash.conflicts
    system, turns = conversation(f"{form}/resolve")
    marked = joined(found, lambda number, _: f"[conflict c{number + 1}]\n")
    values = {
        **optimizer.common(),
        "skill": f"<skill>\n{_inner('skill', body(marked).strip())}\n</skill>",
        "conflicts": "\n\n".join(_conflict(conflict) for conflict in conflicts),
        "refused": "".join(_told(one) for one in refused),
        "count": count(len(conflicts), "conflict"),
    }
    last = Turn("user", fill(turns[-1].text, values))
    return Request(system, (*turns[:-1], last), schema=_schema(conflicts))


def _conflict(conflict: Conflict) -> str:
    parts = [_block("before", conflict.before)]
    for tag, side in (("base_side", conflict.ours), ("trained_side", conflict.theirs)):
        parts.append(_block(tag, side.text))
        parts += [data("reason", _said(origin), of=tag) for origin in side.origins[:_MOST_ORIGINS]]
    opening = data("conflict", "", id=f"c{conflict.number}").removesuffix("</conflict>")
    return "\n".join([opening, *parts, "</conflict>"])


def _said(origin: Origin) -> str:
    if origin.step is None:
        return redact(origin.subject)
    gain = f" (it changed the score by {float(origin.delta):+.4f})" if origin.delta is not None else ""
    return redact(f"step {origin.step} of the training{gain}: {origin.reason or origin.subject}")


def _block(tag: str, text: str) -> str:
    inner = _inner(tag, text)
    return f"<{tag}>\n{inner}{'' if inner.endswith(chr(10)) or not inner else chr(10)}</{tag}>"


def _inner(tag: str, text: str) -> str:
    return data(tag, text).removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")


def _told(one: Refused) -> str:
    blocks = "\n".join(data("rejected_edit", text, id=f"c{n}") for n, text in enumerate(one.texts, start=1))
    return f"This was tried and measured, and it is not good enough ({one.reason}):\n\n{blocks}\n\n"


def _schema(conflicts: Sequence[Conflict]) -> dict[str, Any]:
    """What the reply has to be, for backends that can constrain it."""
    row = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": [f"c{conflict.number}" for conflict in conflicts]},
            "text": {"type": "string"},
            "reason": {"type": "string"},
        },
        "required": ["id", "text", "reason"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "resolutions": {"type": "array", "items": row}},
        "required": ["reasoning", "resolutions"],
        "additionalProperties": False,
    }
