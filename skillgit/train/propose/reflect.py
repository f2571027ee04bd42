"""Reflection: seeded minibatches of scored attempts become proposals of edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from skillgit.document import Edit
from skillgit.document.structure import body
from skillgit.envs.contract import Environment
from skillgit.execute.pool import map_bounded
from skillgit.models.base import Request, Turn
from skillgit.models.replies import Patch, parse_patch, whole
from skillgit.train.events import UnitDone
from skillgit.train.propose.attempts import attempts_text, is_failure, listed, tagged
from skillgit.train.propose.compact import compact_request
from skillgit.train.propose.optimizer_calls import StepOptimizer, no_doubt
from skillgit.train.propose.prompts import count, fill, sections
from skillgit.train.propose.proposals import UNLIMITED, Proposal, Source
from skillgit.train.propose.skill_aware import addition, notes_of
from skillgit.train.schedule import seeded_shuffle
from skillgit.train.scoring.measure import OnDone
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier steps leave for the prompt: rejected candidates on this document, and patterns of failures."""

    rejected: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """What reflection brings, in the order of the minibatches.

    Args:
        patterns: what failures had in common.
        notes: reminders for the appendix, by minibatch.
    """

    proposals: tuple[Proposal, ...]
    patterns: tuple[str, ...] = ()
    notes: tuple[tuple[Source, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Attempts for one call: all failed, or all succeeded. `variant` counts a step's candidates, from 1."""

    source: Source
    number: int
    rollouts: tuple[Rollout, ...]
    variant: int = 1

    @property
    def stage(self) -> str:
        """Names the call within its step."""
        name = f"{self.source}/{self.number}"
        return name if self.variant == 1 else f"{self.variant}/{name}"


def minibatches(
    rollouts: Sequence[Rollout],
    size: int,
    metric: Metric,
    seed: str,
    *,
    failure_only: bool = False,
    successes: int = 0,
    budget: int | None = None,
    variant: int = 1,
) -> list[Minibatch]:
    """Scored attempts, sorted by task, shuffled by the seed and cut; failures first. Errored rollouts teach nothing.

    Args:
        successes: the most minibatches of successes, and none where failures alone can use up the budget: what failed
            teaches more, and each call is paid for. 0 for all of them, always, as SkillOpt has it.
        budget: the step's learning rate; None for no limit.
        variant: another one gives another shuffle.
    """
    scored = sorted((r for r in rollouts if r.attempt is not None), key=lambda r: (r.task.id, r.trial))
    failures = [r for r in scored if is_failure(r, metric)]
    others = [] if failure_only else [r for r in scored if not is_failure(r, metric)]
    if successes and budget is not None and len(failures) >= budget:
        others = []
    seed = seed if variant == 1 else f"{seed}/{variant}"
    found = [*_cut("failure", failures, size, seed, variant)]
    cut = _cut("success", others, size, seed, variant)
    return found + (cut[:successes] if successes else cut)


def _cut(source: Source, rollouts: list[Rollout], size: int, seed: str, variant: int) -> list[Minibatch]:
    shuffled = seeded_shuffle(rollouts, f"{seed}/{source}")
    starts = enumerate(range(0, len(shuffled), size), start=1)
    return [Minibatch(source, n, tuple(shuffled[start : start + size]), variant) for n, start in starts]


async def reflect(
    optimizer: StepOptimizer,
    document: str,
    batches: Sequence[Minibatch],
    budget: int | None,
    memory: Memory,
    on_done: OnDone,
    *,
    form: Literal["full", "compact"] = "full",
    skill_aware: bool = False,
    doubt: Callable[[Patch], str | None] = no_doubt,
) -> Reflection:
    """One call per minibatch, in parallel; each proposes at most `budget` edits.

    Args:
        skill_aware: ask for the agent's own lapses apart from the document's defects.
        doubt: what is probably wrong with a patch: it is asked for once more.

    Raises:
        ModelError: a call failed for good.
    """
    most = UNLIMITED if budget is None else budget

    async def one(batch: Minibatch) -> Patch | None:
        request = _request(optimizer, document, batch, most, memory, form, skill_aware)
        patch = None
        if request is not None:
            patch = await optimizer.calls.ask(optimizer.step, batch.stage, request, parse_patch, optimizer.log, doubt)
        on_done(UnitDone(None))
        return patch

    patches = await map_bounded(batches, one, limit=optimizer.in_flight)
    proposals: list[Proposal] = []
    patterns, notes = [], []
    for batch, patch in zip(batches, patches, strict=True):
        if patch is None:
            continue
        proposals += _proposals(patch, batch, most)
        if batch.source == "failure" and patch.reasoning.strip():
            patterns.append(" ".join(patch.reasoning.split())[:300])
        if skill_aware:
            notes.append((batch.source, notes_of(patch.extra)))
    return Reflection(tuple(proposals), tuple(patterns), tuple(notes))


def _request(
    optimizer: StepOptimizer,
    document: str,
    batch: Minibatch,
    budget: int,
    memory: Memory,
    form: Literal["full", "compact"],
    skill_aware: bool,
) -> Request | None:
    if form == "compact":
        return _compact(optimizer.environment, document, batch, budget)
    prompt = sections("full/reflect_failures" if batch.source == "failure" else "full/reflect_successes")
    values = {
        **optimizer.common(),
        "skill": tagged("skill", body(document).strip()),
        "rejected": listed("Candidates that were tried on this document and rejected:", memory.rejected),
        "patterns": listed("What earlier failures of this epoch had in common:", memory.patterns),
        "attempts": attempts_text(batch.rollouts, optimizer.environment),
        "budget": count(budget, "edit"),
    }
    system = prompt["system"] + (addition(batch.source) if skill_aware else "")
    return Request(system, (Turn("user", fill(prompt["user"], values)),))


def _compact(environment: Environment, document: str, batch: Minibatch, budget: int) -> Request | None:
    """Failures with a known answer that the document does not show yet; successes teach a small model nothing."""
    if batch.source == "success":
        return None
    shown = []
    for rollout in batch.rollouts:
        answer = environment.explain(rollout.task, rollout.attempt) if rollout.attempt else None
        if answer is not None and answer.kind == "expected" and not _shows(document, rollout.task.input, answer.text):
            shown.append((rollout.task.id, rollout.task.input, answer.text))
    return compact_request(shown, budget) if shown else None


def _shows(document: str, task: str, answer: str) -> bool:
    """Whether a line of the document already holds the task with its answer."""
    return any(task in line and answer in line for line in document.splitlines())


def _proposals(patch: Patch, batch: Minibatch, budget: int) -> list[Proposal]:
    found = []
    for rank, raw in enumerate(patch.edits[:budget]):
        support = min(max(whole(raw.support) or 1, 1), len(batch.rollouts)) if raw.support.isdecimal() else 1
        edit = Edit(op=raw.op, target=raw.target, content=raw.content, reason=raw.reason, support=support)
        found.append(Proposal(edit, support, batch.source, rank, batch.stage))
    return found
