"""From a step's attempts to its candidates: reflect, aggregate, select, update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillgit.document.refusal import quoted
from skillgit.execute.pool import map_bounded
from skillgit.redact import redact
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.layout import OPTIMIZER, PATTERNS
from skillgit.train.archive.taken_back import brings_back, is_taken
from skillgit.train.events import StageStarted
from skillgit.train.propose.aggregate import aggregate, mechanical
from skillgit.train.propose.candidate import Candidate, applicable, build, extend
from skillgit.train.propose.compaction import compact
from skillgit.train.propose.examples import examples, fill
from skillgit.train.propose.fitting import LEFT_OUT, fitting
from skillgit.train.propose.grounding import Evidence, doubting, evidence, weigh
from skillgit.train.propose.optimizer_calls import CallLog, OptimizerCalls, StepOptimizer, no_doubt
from skillgit.train.propose.prompts import data
from skillgit.train.propose.proposals import UNLIMITED, Dropped, Proposal
from skillgit.train.propose.proposers import Context, ask_proposer, find_proposer
from skillgit.train.propose.rate import StepEvidence, autonomous_rate
from skillgit.train.propose.reflect import Memory, Minibatch, minibatches, reflect
from skillgit.train.propose.rewrite import (
    Rewritten,
    as_candidate,
    one_shot,
    rewrite,
    rewrite_minibatches,
    suggest,
)
from skillgit.train.propose.select import ranked, select
from skillgit.train.propose.skill_aware import NO_REMINDERS, Reminders, reminders, with_reminders
from skillgit.train.run import Run
from skillgit.train.scoring import scores
from skillgit.train.scoring.measure import trials_of
from skillgit.train.scoring.rollout import Rollout

MOST_REMEMBERED = 12
"""Rejected candidates and failure patterns that a prompt tells of, the newest."""
_MOST_SHOWN = 2000
"""Characters of an edit that a person took out."""
_GONE = "(A person took this out of the document. Do not propose it again, in no other words either.)"


@dataclass(frozen=True, slots=True)
class Draft:
    """What one candidate is made from: edits, with reminders for the appendix, or a whole new body."""

    proposals: tuple[Proposal, ...] = ()
    reminders: Reminders = NO_REMINDERS
    rewritten: Rewritten | None = None
    parent: str = ""
    """The blob that a rewrite was made from: on another document it would undo what people wrote."""


@dataclass(slots=True)
class Drafts:
    """What a step's attempts brought. `reason` says why there is no draft; `budget` is None for no limit."""

    drafts: list[Draft] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    budget: int | None = 0
    reason: str = ""


@dataclass(slots=True)
class Work:
    """What the stages of one step share."""

    run: Run
    epoch: int
    parent: Placed
    rollouts: Sequence[Rollout]
    optimizer: StepOptimizer
    memory: Memory
    shown: Evidence
    found: Drafts


class Drafter:
    """Makes drafts of a run's steps, and candidates of drafts.

    Raises:
        ConfigError: the proposer is no known one.
    """

    def __init__(self, run: Run, calls: OptimizerCalls) -> None:
        name = run.session.settings.gradient.proposer
        self._calls = calls
        self._plugin = None if name in ("model", "both", "examples") else find_proposer(name)

    async def draft(
        self,
        run: Run,
        number: int,
        epoch: int,
        parent: Placed,
        rollouts: Sequence[Rollout],
        budget: int | None,
    ) -> Drafts:
        """Ask for what to change, and choose.

        Raises:
            ModelError: a call failed for good, or the optimizer gives nothing usable any more.
        """
        log = CallLog()
        optimizer = StepOptimizer(self._calls, number, log, run.session.environment, run.memory)
        memory, settings = memory_of(run, parent.blob), run.session.settings
        found = Drafts(budget=budget)
        shown = evidence(rollouts, parent.text, run.session.environment, run.session.metric)

        async def variant(number: int) -> tuple[Draft, Drafts]:
            # Each fills drafts of its own: whichever is done first, they are put together in their order.
            work = Work(run, epoch, parent, rollouts, optimizer, memory, shown, Drafts(budget=budget))
            return await self._variant(work, number), work.found

        try:
            if settings.train.one_shot:
                seed = f"{settings.train.seed}/step/{number}"
                rules = run.rules(parent.text)
                whole = await one_shot(
                    optimizer, parent.text, rollouts, run.session.metric, seed, refuse=rules, said=rules.said
                )
                found.drafts = [_whole(whole, parent.blob)]
            else:
                most = settings.optimizer.proposals
                _gather(found, await map_bounded(range(1, most + 1), variant, limit=most))
        finally:
            run.evidence[OPTIMIZER] = log.sorted()
        run.count_unusable(log)
        found.patterns = [redact(pattern) for pattern in dict.fromkeys(found.patterns)]
        run.evidence[PATTERNS] = [{"text": pattern} for pattern in found.patterns]
        found.drafts = [draft for draft in found.drafts if draft.proposals or draft.reminders.texts or draft.rewritten]
        if not found.drafts:
            found.reason = found.reason or _nothing(log)
        return found

    async def _variant(self, work: Work, variant: int) -> Draft:
        """One candidate's draft. Another variant sees other minibatches, and so is another proposal."""
        settings, session = work.run.session.settings, work.run.session
        batches = minibatches(
            work.rollouts,
            settings.gradient.minibatch_size,
            session.metric,
            f"{settings.train.seed}/step/{work.optimizer.step}",
            failure_only=settings.gradient.failure_only,
            successes=settings.gradient.success_minibatches,
            budget=work.found.budget,
            variant=variant,
        )
        mode, rules = settings.optimizer.skill_update_mode, work.run.rules(work.parent.text)
        if variant == 1:
            # Once for all variants, which have as many minibatches; rewrites do not tell of their calls.
            asked = settings.gradient.proposer in ("model", "both") and mode == "patch"
            total = len(batches) * settings.optimizer.proposals if asked else 0
            session.tell(StageStarted(work.optimizer.step, work.epoch, "reflect", total))
        if mode == "full_rewrite_minibatch":
            found = await rewrite_minibatches(
                work.optimizer,
                work.parent.text,
                batches,
                settings.gradient.merge_batch_size,
                work.memory,
                refuse=rules,
                said=rules.said,
            )
            return _whole(found, work.parent.blob)
        if mode == "rewrite_from_suggestions":
            most = UNLIMITED if work.found.budget is None else work.found.budget
            suggested = await suggest(work.optimizer, work.parent.text, batches, most, work.memory)
            work.found.patterns += suggested.patterns
            together = mechanical(suggested.proposals, work.parent.text)
            selected = ranked(together.kept, await self._rate(work, together.kept, work.optimizer))
            work.found.dropped += [*together.dropped, *together.merged, *selected.dropped]
            stage = "rewrite" if variant == 1 else f"{variant}/rewrite"
            rewritten = await rewrite(
                work.optimizer, work.parent.text, selected.chosen, refuse=rules, said=rules.said, stage=stage
            )
            return _whole(rewritten, work.parent.blob)
        return await self._patch(work, batches)

    async def _patch(self, work: Work, batches: Sequence[Minibatch]) -> Draft:
        session, settings = work.run.session, work.run.session.settings
        chosen, proposer = settings.optimizer, settings.gradient.proposer
        proposals: Sequence[Proposal] = ()
        reminded = NO_REMINDERS
        scheduled = work.found.budget  # the optimizer's own rate is about edits
        if proposer in ("model", "both"):
            reflection = await reflect(
                work.optimizer,
                work.parent.text,
                batches,
                work.found.budget,
                work.memory,
                session.tell,
                form=session.form,
                skill_aware=chosen.use_skill_aware_reflection and session.form == "full",
                doubt=doubting(work.shown) if session.form == "full" else no_doubt,
            )
            work.found.patterns += reflection.patterns
            reminded = reminders(reflection.notes, chosen.skill_aware_appendix_source, scheduled)
            proposals = await self._choose(work, reflection.proposals)
        if proposer in ("examples", "both"):
            most = len(work.rollouts) if work.found.budget is None else work.found.budget
            shown = examples(work.rollouts, work.parent.text, session.environment, most, session.metric)
            proposals = fill(proposals, self._wanted(work, shown.proposals), most)
            if not proposals and shown.said:
                work.found.reason = "; ".join(shown.said)
        if self._plugin is not None:
            asked = await ask_proposer(self._plugin, proposer, self._context(work))
            proposals = await self._choose(work, asked)
        return Draft(tuple(proposals), reminded, parent=work.parent.blob)

    async def _choose(self, work: Work, proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
        """Aggregate and select."""
        session, settings = work.run.session, work.run.session.settings
        asked = work.optimizer if session.form == "full" else None
        document = work.parent.text
        proposals = weigh(self._wanted(work, proposals), work.shown)
        together = await aggregate(proposals, document, asked, settings.gradient.merge_batch_size)
        fit, unfit = applicable(document, together.kept)
        if together.kept and not fit:
            work.found.reason = "none of the proposed edits could be applied"
        selected = await select(fit, await self._rate(work, fit, asked), document, asked)
        work.found.dropped += [*together.dropped, *together.merged, *unfit, *selected.dropped]
        return selected.chosen

    def _wanted(self, work: Work, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Without those that people took out of the document."""
        gone = [p for p in proposals if is_taken(work.run.taken_back, p.edit)]
        work.found.dropped += [Dropped(p, "a person took it out of the document") for p in gone]
        if gone and len(gone) == len(proposals):
            work.found.reason = "people took out of the document what was proposed"
        return [p for p in proposals if p not in gone]

    async def _rate(self, work: Work, proposals: Sequence[Proposal], asked: StepOptimizer | None) -> int | None:
        """The most of these that the step takes: the scheduler's number, or the optimizer's."""
        budget = work.found.budget
        if work.run.session.settings.optimizer.rate_control != "autonomous" or asked is None or budget is None:
            return budget
        rate = await autonomous_rate(proposals, work.parent.text, self._evidence(work), budget, asked)
        if proposals and not rate.edits:
            work.found.reason = f"the optimizer would have none of what was proposed ({len(proposals)}) applied"
        work.found.budget = rate.edits
        return rate.edits

    def _evidence(self, work: Work) -> StepEvidence:
        trials = trials_of(work.rollouts)
        return StepEvidence(
            attempts=sum(r.attempt is not None for r in work.rollouts),
            hard=scores.decimal(scores.mean(trials, scores.HARD)),
            soft=scores.decimal(scores.mean(trials, scores.SOFT)),
            history=work.run.told(work.epoch),
        )

    def _context(self, work: Work) -> Context:
        settings, session = work.run.session.settings, work.run.session
        return Context(
            document=work.parent.text,
            rollouts=tuple(work.rollouts),
            budget=UNLIMITED if work.found.budget is None else work.found.budget,
            environment=session.environment,
            metric=session.metric,
            rejected=work.memory.rejected,
            seed=f"{settings.train.seed}/step/{work.optimizer.step}",
            optimizer=work.optimizer,
        )

    async def update(self, run: Run, number: int, base: Placed, draft: Draft) -> tuple[Candidate, str]:
        """Make a draft a candidate on a document, within the rules of length and density.

        Returns: the candidate, and why it is not to be measured; empty where it is.
        """
        if draft.rewritten is not None:
            if draft.parent != base.blob:
                return Candidate(base.text, ()), "the document was changed by somebody since it was rewritten"
            built = as_candidate(base.text, draft.rewritten)
            return built, _brought_back(run, base, built)
        optimizer = StepOptimizer(self._calls, number, CallLog(), run.session.environment, run.memory)
        threshold = run.session.settings.optimizer.skill_aware_consolidate_threshold
        built = await with_reminders(build(base.text, draft.proposals), draft.reminders, optimizer, threshold)
        built = await self._within(run, optimizer, base, built)
        run.evidence.setdefault(OPTIMIZER, []).extend(optimizer.log.sorted())
        left = "" if built.applied else next((o.reason for o in built.outcomes if o.status == LEFT_OUT), "")
        return built, left or _brought_back(run, base, built) or run.rules(base.text)(built.document) or ""

    async def _within(self, run: Run, optimizer: StepOptimizer, base: Placed, built: Candidate) -> Candidate:
        """Where the candidate is over its length budget, shorten it; what still does not fit is left out."""
        rules = run.rules(base.text)
        most = rules.most_tokens
        if most is None or not built.applied or rules.too_long(built.document) is None:
            return built
        asked = optimizer if run.session.form == "full" else None
        shorter = extend(built, await compact(asked, built.document, most))
        if rules.too_long(shorter.document) is None:
            return shorter
        return fitting(base.text, built, shorter.outcomes[len(built.outcomes) :], rules.too_long, most)


def memory_of(run: Run, blob: str) -> Memory:
    """Only what was rejected on this very document: on another, an edit may be tried again."""
    here = [entry["text"] for entry in run.state.rejected if entry["document"] == blob]
    rejected = tuple(data("rejected_edit", text) for text in here[-MOST_REMEMBERED:])
    gone = tuple(
        data("rejected_edit", f"{e.op}: {(e.content or e.target)[:_MOST_SHOWN]}\n{_GONE}") for e in run.taken_back
    )
    rejected = (*gone[-MOST_REMEMBERED:], *rejected)
    return Memory(rejected, tuple(data("pattern", text) for text in run.patterns[-MOST_REMEMBERED:]))


def _brought_back(run: Run, base: Placed, built: Candidate) -> str:
    back = brings_back(run.taken_back, base.text, built.document)
    return f"it would bring back what a person took out: {quoted(back.content)}" if back else ""


def _gather(found: Drafts, variants: Sequence[tuple[Draft, Drafts]]) -> None:
    """Put the variants' drafts together, in their order. The budget recorded is the highest that one of them chose."""
    found.drafts = [draft for draft, _ in variants]
    for _, own in variants:
        found.dropped += own.dropped
        found.patterns += own.patterns
        found.reason = found.reason or own.reason
    budgets = [own.budget for _, own in variants if own.budget is not None]
    found.budget = max(budgets, default=None)


def _nothing(log: CallLog) -> str:
    """Why there is no draft. What a reply that cannot be used says is in the evidence, and nowhere else."""
    if log.unusable and not log.usable:
        return "none of the optimizer's replies could be used"
    return ": ".join(["no edit was proposed", *sorted(log.unfit)[:1]])


def _whole(rewritten: Rewritten | None, blob: str) -> Draft:
    return Draft(rewritten=rewritten, parent=blob)
