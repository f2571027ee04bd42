"""Updates that rewrite the whole body: from suggestions, from minibatches, or once from all failures.

Behaviour after SkillOpt 0.2.0 (`optimizer/rewrite.py`, `optimizer/update_modes.py`, `gradient/aggregate.py`): with
`rewrite_from_suggestions` minibatches suggest, what is selected within the learning rate goes into one rewrite; with
`full_rewrite_minibatch` each minibatch writes a whole document, several are merged, and there is no learning rate.
Unlike there, the model writes the body alone: frontmatter and protected regions keep their bytes, and a reply that
would touch them is asked again, firmer, and then dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skillgit.document import Edit
from skillgit.document.regions import guidance, notes
from skillgit.document.rewriting import UNCHANGED, editable_body, with_body
from skillgit.errors import ReplyError, UnfitReplyError
from skillgit.execute.pool import map_bounded
from skillgit.models.base import Json
from skillgit.models.replies import parse_object, whole
from skillgit.redact import secrets_in
from skillgit.train.propose.attempts import attempts_text, is_failure, listed, tagged
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import count, data
from skillgit.train.propose.proposals import Proposal, Source
from skillgit.train.propose.reflect import Memory, Minibatch
from skillgit.train.schedule import seeded_shuffle
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric

SUGGEST, REWRITE = "suggest", "rewrite"
"""Ops of edits that no document takes: a suggestion until it is rewritten, and the one edit that a rewrite is."""

MOST_SHOWN = 32
MOST_CHARACTERS = 60_000
"""Attempts that a one-shot rewrite is shown, and their characters together."""

_TYPES = ("add", "correct", "remove", "clarify")
_MOST_SUMMARY = 300

Refuse = Callable[[str], str | None]
"""Why a whole new document is not taken, as one clause (length, density); None where it is fine."""


def fine(_: str) -> str | None:
    """Refuses nothing."""
    return None


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What minibatches suggested: proposals with the op `suggest`, whose content is title and instruction and whose
    reason is the kind of change. `aggregate` and `select` take them as they take edits. `patterns` are the failures'
    common causes."""

    proposals: tuple[Proposal, ...]
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A whole new document.

    Args:
        document: with the frontmatter and the regions that were there.
        reasoning: why, in the optimizer's words.
        summary: what it says has changed.
        support: how many attempts it rests on.
        source: what those attempts were.
    """

    document: str
    reasoning: str
    summary: tuple[str, ...]
    support: int = 1
    source: Source = "failure"


async def suggest(
    optimizer: StepOptimizer, document: str, batches: Sequence[Minibatch], budget: int, recall: Memory
) -> Suggestions:
    """`rewrite_from_suggestions`, first part: one call per minibatch, in parallel, each at most `budget` suggestions.

    Raises:
        ModelError: a call failed for good.
    """

    async def one(batch: Minibatch) -> tuple[list[Proposal], str] | None:
        prompt = "full/suggest_failures" if batch.source == "failure" else "full/suggest_successes"
        values = {**_shown(optimizer, document, batch, recall), "budget": count(budget, "suggestion")}
        return await optimizer.ask(batch.stage, prompt, values, lambda text: _suggestions(text, batch, budget))

    replies = await map_bounded(batches, one, limit=optimizer.in_flight)
    proposals: list[Proposal] = []
    patterns = []
    for batch, reply in zip(batches, replies, strict=True):
        if reply is not None:
            proposals += reply[0]
            patterns += [reply[1]] if batch.source == "failure" and reply[1] else []
    return Suggestions(tuple(proposals), tuple(patterns))


async def rewrite(
    optimizer: StepOptimizer,
    document: str,
    suggestions: Sequence[Proposal],
    *,
    refuse: Refuse = fine,
    said: str = "",
    stage: str = "rewrite",
) -> Rewritten | None:
    """`rewrite_from_suggestions`, second part: ONE call rewrites the body with the selected suggestions.

    Returns: None where there is no suggestion, or no usable reply came.

    Raises:
        ModelError: the call itself failed.
    """
    if not suggestions:
        return None
    shown = [
        data("suggestion", p.edit.content, type=p.edit.reason, source=p.source, support=str(p.support))
        for p in suggestions
    ]
    values = {**_parts(document, said), "suggestions": "\n".join(shown)}
    source: Source = "failure" if any(p.source == "failure" for p in suggestions) else "success"
    support = max(p.support for p in suggestions if p.source == source)
    return await optimizer.ask(stage, "full/rewrite", values, _reader(document, refuse, support, source))


async def rewrite_minibatches(
    optimizer: StepOptimizer,
    document: str,
    batches: Sequence[Minibatch],
    merge_batch_size: int,
    recall: Memory,
    *,
    refuse: Refuse = fine,
    said: str = "",
) -> Rewritten | None:
    """`full_rewrite_minibatch`: one whole document per minibatch, in parallel, merged to one.

    Failures come first. Equal documents count as one, without a call; of a group whose merge brings no usable reply
    its first document goes on.

    Args:
        merge_batch_size: documents that one call merges, at least 2.

    Returns: None where no minibatch brought a usable document.

    Raises:
        ModelError: a call failed for good.
    """

    async def one(batch: Minibatch) -> Rewritten | None:
        read = _reader(document, refuse, len(batch.rollouts), batch.source)
        return await optimizer.ask(
            batch.stage, "full/rewrite_minibatch", _shown(optimizer, document, batch, recall, said), read
        )

    ordered = sorted(batches, key=lambda batch: batch.source != "failure")
    replies = await map_bounded(ordered, one, limit=optimizer.in_flight)
    current, level = _distinct([r for r in replies if r is not None and r.document != document]), 0
    while len(current) > 1:
        level += 1
        groups = [current[i : i + merge_batch_size] for i in range(0, len(current), merge_batch_size)]
        numbered = [(f"merge/{level}/{number}", group) for number, group in enumerate(groups, start=1)]

        async def merged(item: tuple[str, list[Rewritten]]) -> Rewritten:
            return await _merged(optimizer, document, item[1], refuse, said, item[0])

        current = _distinct(await map_bounded(numbered, merged, limit=optimizer.in_flight))
    return current[0] if current else None


async def one_shot(
    optimizer: StepOptimizer,
    document: str,
    rollouts: Sequence[Rollout],
    metric: Metric,
    seed: str,
    *,
    refuse: Refuse = fine,
    said: str = "",
    stage: str = "one-shot",
) -> Rewritten | None:
    """The baseline: ONE call rewrites the body from failures of all train tasks, as many as `MOST_SHOWN` and
    `MOST_CHARACTERS` allow, a seeded choice.

    Returns: None where nothing failed, or no usable reply came.

    Raises:
        ModelError: the call itself failed.
    """
    failures = sorted((r for r in rollouts if is_failure(r, metric)), key=lambda r: (r.task.id, r.trial))
    if not failures:
        return None
    chosen: list[Rollout] = []
    size = 0
    for rollout in seeded_shuffle(failures, f"{seed}/one-shot"):
        size += len(attempts_text([rollout], optimizer.environment))
        if len(chosen) == MOST_SHOWN or (chosen and size > MOST_CHARACTERS):
            break
        chosen.append(rollout)
    chosen.sort(key=lambda r: (r.task.id, r.trial))
    values = {
        **_parts(document, said),
        "attempts": attempts_text(chosen, optimizer.environment),
        "failed": f"{len(chosen)} of {len(failures)} failed attempts, of {count(len(rollouts), 'attempt')} in all",
    }
    read = _reader(document, refuse, len(chosen), "failure")
    return await optimizer.ask(stage, "full/one_shot", values, read)


def as_candidate(document: str, rewritten: Rewritten) -> Candidate:
    """A rewrite as what the gate and the commits take: one edit, `1/1 rewrite`, whose content says what changed."""
    summary = "; ".join(rewritten.summary)[:_MOST_SUMMARY] or "the whole body"
    edit = Edit(REWRITE, content=summary, reason=rewritten.reasoning, support=rewritten.support)
    same = rewritten.document == document
    status, reason = ("no_change", "Not applied: the document would stay as it is.") if same else ("applied", "")
    outcome = EditOutcome(edit, rewritten.support, rewritten.source, status, reason, rewritten.document)
    return Candidate(rewritten.document, (outcome,))


async def _merged(
    optimizer: StepOptimizer, document: str, group: list[Rewritten], refuse: Refuse, said: str, stage: str
) -> Rewritten:
    """One document of several; the first where they are one already, or the model brings none."""
    first = group[0]
    if len(group) == 1:
        return first
    shown = [
        data("candidate", editable_body(one.document), source=one.source, support=str(one.support)) for one in group
    ]
    values = {**_parts(document, said), "candidates": "\n\n".join(shown)}
    support = sum(one.support for one in group if one.source == first.source)
    found = await optimizer.ask(stage, "full/merge_rewrites", values, _reader(document, refuse, support, first.source))
    return found or first


def _distinct(documents: Sequence[Rewritten]) -> list[Rewritten]:
    """Equal documents as one, whose support adds up within its source."""
    found: dict[str, Rewritten] = {}
    for one in documents:
        known = found.get(one.document)
        added = one.support if known is not None and one.source == known.source else 0
        found[one.document] = one if known is None else replace(known, support=known.support + added)
    return list(found.values())


def _parts(document: str, said: str = "") -> dict[str, str]:
    """What may be rewritten, what the document says besides, and what the new one has to keep to."""
    kept = []
    if guidance(document):
        kept.append(data("guidance", guidance(document)))
    kept += [data("appendix", note) for note in notes(document)]
    title = "The document also says this, in parts of its own that stay as they are (do not repeat them):"
    return {
        "skill": tagged("skill", editable_body(document)),
        "kept": listed(title, kept) + (f"{said}\n\n" if said else ""),
    }


def _shown(optimizer: StepOptimizer, document: str, batch: Minibatch, recall: Memory, said: str = "") -> dict[str, str]:
    outcome = "failed" if batch.source == "failure" else "succeeded"
    return {
        **_parts(document, said),
        "rejected": listed("Candidates that were tried on this document and rejected:", recall.rejected),
        "patterns": listed("What earlier failures of this epoch had in common:", recall.patterns),
        "attempts": attempts_text(batch.rollouts, optimizer.environment),
        "outcome": outcome,
    }


def _reader(document: str, refuse: Refuse, support: int, source: Source) -> Callable[[str], Rewritten]:
    """Reads `{"reasoning": …, "new_skill": …, "change_summary": […]}`; what cannot be taken is asked again."""
    known = secrets_in(document)

    def read(text: str) -> Rewritten:
        reply = parse_object(text)
        body = reply.get("new_skill")
        if not isinstance(body, str):
            raise ReplyError("the reply has no text under 'new_skill'")
        after, reason = with_body(document, body)
        brought = sorted({kind for kind, _ in secrets_in(after) - known})
        if reason is None and brought:
            reason = f"its text holds a secret ({', '.join(brought)})"
        said = _line(reply.get("reasoning")), _summary(reply.get("change_summary")), support, source
        if reason == UNCHANGED and source == "success":
            return Rewritten(document, *said)  # what succeeds may need no change
        if reason is not None:
            kind = UnfitReplyError if reason == UNCHANGED else ReplyError
            raise kind(f"the new document cannot be used: {reason}")
        if (against := refuse(after)) is not None:
            raise UnfitReplyError(f"the new document cannot be used: {against}")
        return Rewritten(after, *said)

    return read


def _suggestions(text: str, batch: Minibatch, budget: int) -> tuple[list[Proposal], str]:
    """Reads `{"reasoning": …, "suggestions": [{"type", "title", "instruction", "support"}, …]}`."""
    reply = parse_object(text)
    raw = reply.get("suggestions")
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        raise ReplyError("the reply has no list of objects under 'suggestions'")
    found: list[Proposal] = []
    for item in raw:
        title, instruction = _line(item.get("title")).rstrip(":"), _line(item.get("instruction"))
        if not instruction:
            raise ReplyError("a suggestion of the reply has no 'instruction'")
        kind, support = _line(item.get("type")).lower(), whole(item.get("support")) or 1
        support = min(max(support, 1), len(batch.rollouts))
        content = f"{title}: {instruction}" if title else instruction
        edit = Edit(SUGGEST, content=content, reason=kind if kind in _TYPES else "change", support=support)
        found.append(Proposal(edit, support, batch.source, len(found), batch.stage))
    return found[:budget], _line(reply.get("reasoning"))[:_MOST_SUMMARY]


def _line(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _summary(value: Json) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(line for line in map(_line, items) if line)
