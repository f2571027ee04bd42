"""The autonomous learning rate: the optimizer says how many of the proposed edits a step applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillgit.document.structure import body
from skillgit.errors import ReplyError
from skillgit.models.replies import parse_object, whole
from skillgit.train.propose.merge_calls import shown_edit
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.prompts import count, data
from skillgit.train.propose.proposals import Proposal, weight
from skillgit.train.propose.rewrite import SUGGEST

KINDS = {False: "edits", True: "suggestions, of which one rewrite of the document carries out those that are applied"}
"""What the prompt says that there is to choose from: edits, or what goes into a rewrite."""


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """How the step's attempts went.

    Args:
        attempts: how many were scored.
        hard, soft: their mean scores, as decimals.
        history: what earlier steps of this epoch applied and what became of it, one line each, oldest first.
    """

    attempts: int
    hard: str
    soft: str
    history: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rate:
    """A step's learning rate.

    Args:
        edits: the most edits that the step applies: 0 to as many as there are.
        asked: what the optimizer answered before it was clamped; None where no usable answer came.
        reasoning: the optimizer's, for the record.
    """

    edits: int
    asked: int | None = None
    reasoning: str = ""


async def autonomous_rate(
    proposals: Sequence[Proposal], document: str, evidence: StepEvidence, scheduled: int, optimizer: StepOptimizer
) -> Rate:
    """Ask how many of the edits to apply now (`lr_control_mode: autonomous`).

    As SkillOpt's `optimizer/lr_autonomous.py`, the prompt names no default and no earlier budget to lean on, and the
    answer is clamped to what there is. Unlike SkillOpt, which takes a broken reply for 0 and so loses the step, a reply
    that cannot be used leaves the scheduler's value.

    Args:
        proposals: what aggregation kept, edits or suggestions for a rewrite; without any, nothing is asked.
        scheduled: the scheduler's budget for this step.

    Raises:
        ModelError: the call failed for good.
    """
    available = len(proposals)
    if not proposals:
        return Rate(0)
    ranked = sorted(proposals, key=weight)
    whole = all(proposal.edit.op == SUGGEST for proposal in proposals)
    shown = "\n".join(data("candidate", line) for line in evidence.history)
    values = {
        "skill": data("skill", body(document).strip()).removeprefix("<skill>").removesuffix("</skill>"),
        "attempts": count(evidence.attempts, "attempt"),
        "hard": evidence.hard,
        "soft": evidence.soft,
        "history": f"Earlier steps of this epoch:\n\n{shown}\n\n" if shown else "",
        "kind": KINDS[whole],
        "edits": "\n".join(_shown(number, p) for number, p in enumerate(ranked, start=1)),
        "available": count(available, "suggestion" if whole else "edit"),
    }
    answer = await optimizer.ask("rate", "full/rate", values, _read)
    if answer is None:
        return Rate(min(scheduled, available))
    asked, reasoning = answer
    return Rate(min(max(asked, 0), available), asked, reasoning)


def _shown(number: int, proposal: Proposal) -> str:
    """An edit as other prompts show it, and a suggestion as the prompt that rewrites does."""
    edit, ident = proposal.edit, f"e{number}"
    if edit.op != SUGGEST:
        return shown_edit(ident, proposal)
    told = {"type": edit.reason, "source": proposal.source, "support": str(proposal.support)}
    return data("suggestion", edit.content, id=ident, **told)


def _read(reply: str) -> tuple[int, str]:
    found = parse_object(reply)
    rate = whole(found.get("learning_rate"))
    if rate is None:
        raise ReplyError("the reply has no whole number 'learning_rate'", mend="ask again")
    reasoning = found.get("reasoning")
    return rate, reasoning if isinstance(reasoning, str) else ""
