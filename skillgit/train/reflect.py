"""Reflection: seeded minibatches of scored attempts become proposals of edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from skillgit.document import Edit
from skillgit.document.structure import body
from skillgit.envs.contract import Environment
from skillgit.execute.pool import map_bounded
from skillgit.models.base import Request, Turn
from skillgit.models.replies import Patch, parse_patch
from skillgit.train.compact import compact_request
from skillgit.train.events import UnitDone
from skillgit.train.measure import OnDone
from skillgit.train.optimizer_calls import SCORING, CallLog, OptimizerCalls
from skillgit.train.prompts import count, data, fill, sections
from skillgit.train.proposals import Proposal, Source
from skillgit.train.rollout import Rollout
from skillgit.train.schedule import seeded_shuffle
from skillgit.train.scores import Metric


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier steps leave for the prompt: rejected candidates on this document, and patterns of failures."""

    rejected: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """What reflection brings: the proposals in the order of the minibatches, and how the calls went."""

    proposals: tuple[Proposal, ...]
    patterns: tuple[str, ...]
    log: CallLog = field(default_factory=CallLog)


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Attempts for one call: all failed, or all succeeded."""

    source: Source
    number: int
    rollouts: tuple[Rollout, ...]

    @property
    def stage(self) -> str:
        """Names the call within its step."""
        return f"{self.source}/{self.number}"


def minibatches(
    rollouts: Sequence[Rollout], size: int, metric: Metric, seed: str, *, failure_only: bool
) -> list[Minibatch]:
    """Scored attempts, sorted by task, shuffled by the seed and cut; failures first. Errored rollouts teach nothing."""
    scored = sorted((r for r in rollouts if r.attempt is not None), key=lambda r: (r.task.id, r.trial))
    found = []
    sources: tuple[Source, ...] = ("failure",) if failure_only else ("failure", "success")
    for source in sources:
        chosen = seeded_shuffle([r for r in scored if failed(r, metric) == (source == "failure")], f"{seed}/{source}")
        for number, start in enumerate(range(0, len(chosen), size), start=1):
            found.append(Minibatch(source, number, tuple(chosen[start : start + size])))
    return found


def failed(rollout: Rollout, metric: Metric) -> bool:
    """Whether a scored attempt left something to win."""
    score = rollout.attempt.score if rollout.attempt else None
    return score is not None and metric.value(score.hard, score.soft) < 1


class Reflector:
    """Asks the optimizer about minibatches, in the full or the compact form."""

    def __init__(self, calls: OptimizerCalls, environment: Environment, form: Literal["full", "compact"]) -> None:
        self._calls = calls
        self._environment = environment
        self._form = form

    async def reflect(
        self, step: int, document: str, batches: Sequence[Minibatch], budget: int, memory: Memory, on_done: OnDone
    ) -> Reflection:
        """One call per minibatch, in parallel; each proposes at most `budget` edits.

        Raises:
            ModelError: a call failed for good.
        """
        log = CallLog()
        work = [(b, request) for b in batches if (request := self._request(document, b, budget, memory)) is not None]

        async def one(item: tuple[Minibatch, Request]) -> Patch | None:
            batch, request = item
            patch = await self._calls.ask(step, batch.stage, request, parse_patch, log)
            on_done(UnitDone(None))
            return patch

        patches = await map_bounded(work, one, limit=self._calls.model.in_flight)
        log.entries.sort(key=lambda entry: (entry["stage"], entry["attempt"]))
        proposals, patterns = [], []
        for (batch, _), patch in zip(work, patches, strict=True):
            if patch is None:
                continue
            proposals += _proposals(patch, batch, budget)
            if batch.source == "failure" and patch.reasoning.strip():
                patterns.append(" ".join(patch.reasoning.split())[:300])
        return Reflection(tuple(proposals), tuple(patterns), log)

    def _request(self, document: str, batch: Minibatch, budget: int, memory: Memory) -> Request | None:
        if self._form == "compact":
            return self._compact(document, batch, budget)
        prompt = sections("full/reflect_failures" if batch.source == "failure" else "full/reflect_successes")
        values = {
            "description": self._environment.description,
            "scoring": SCORING.get(self._environment.scorer, "by a program that belongs to the environment"),
            "skill": _inner("skill", body(document).strip()),
            "rejected": _block("Candidates that were tried on this document and rejected:", memory.rejected),
            "patterns": _block("What earlier failures of this epoch had in common:", memory.patterns),
            "attempts": "\n\n".join(self._attempt(rollout) for rollout in batch.rollouts),
            "budget": count(budget, "edit"),
        }
        return Request(prompt["system"], (Turn("user", fill(prompt["user"], values)),))

    def _attempt(self, rollout: Rollout) -> str:
        attempt = rollout.attempt
        if attempt is None:
            raise AssertionError("only scored attempts are reflected on")
        parts = [data("input", rollout.task.input), data("reply", attempt.reply)]
        explanation = self._environment.explain(rollout.task, attempt)
        if explanation.kind != "nothing":
            parts.append(data(explanation.kind, explanation.text))
        ident = data("attempt", "", id=rollout.task.id)
        opening = ident.removesuffix("</attempt>")
        return "\n".join([opening, *parts, "</attempt>"])

    def _compact(self, document: str, batch: Minibatch, budget: int) -> Request | None:
        """Failures with a known answer that the document does not show yet; successes teach a small model nothing."""
        if batch.source == "success":
            return None
        shown = []
        for rollout in batch.rollouts:
            answer = self._environment.explain(rollout.task, rollout.attempt) if rollout.attempt else None
            if (
                answer is not None
                and answer.kind == "expected"
                and not _shows(document, rollout.task.input, answer.text)
            ):
                shown.append((rollout.task.id, rollout.task.input, answer.text))
        return compact_request(shown, budget) if shown else None


def _shows(document: str, task: str, answer: str) -> bool:
    """Whether a line of the document already holds the task with its answer."""
    return any(task in line and answer in line for line in document.splitlines())


def _proposals(patch: Patch, batch: Minibatch, budget: int) -> list[Proposal]:
    found = []
    for rank, raw in enumerate(patch.edits[:budget]):
        support = min(max(int(raw.support), 1), len(batch.rollouts)) if raw.support.isdecimal() else 1
        edit = Edit(op=raw.op, target=raw.target, content=raw.content, reason=raw.reason, support=support)
        found.append(Proposal(edit, support, batch.source, rank))
    return found


def _inner(tag: str, text: str) -> str:
    """Escaped text without its tag: the template has the tag on lines of its own."""
    return data(tag, text).removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")


def _block(title: str, items: Sequence[str]) -> str:
    return f"{title}\n\n" + "\n".join(items) + "\n\n" if items else ""
