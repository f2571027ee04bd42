"""Who proposes a step's edits: the optimizer model, worked examples, or a plugin (docs/plugins.md).

`model`, `examples` and `both` are built in; any other `gradient.proposer` is the name of an entry point in the group
`skillgit.proposers`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from skillgit.document import Edit
from skillgit.document.edits import OPS
from skillgit.envs.contract import Environment
from skillgit.errors import ConfigError
from skillgit.models.endpoint import well_formed
from skillgit.models.replies import whole
from skillgit.train import plugins
from skillgit.train.propose.examples import examples
from skillgit.train.propose.optimizer_calls import StepOptimizer
from skillgit.train.propose.proposals import Proposal
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric

BUILT_IN = ("model", "examples", "both")


@dataclass(frozen=True, slots=True)
class Context:
    """What a proposer works with. All of it but `optimizer` is a value.

    Args:
        document: the incumbent's text, whole.
        rollouts: the step's attempts at train tasks, errored ones included, sorted by task.
        budget: the most edits that can be applied; what is proposed beyond it, and comes later, is dropped.
        environment: explains as much of a task's truth as `reveal` allows.
        metric: the number that the gate looks at; what it leaves below 1 has failed.
        rejected: texts of candidates that were tried on this document and rejected.
        seed: of this step; a proposer that chooses by chance draws from it alone, so that a resumed run repeats it.
        optimizer: asks the optimizer model, cached and counted; None where the run has none.
    """

    document: str
    rollouts: tuple[Rollout, ...]
    budget: int
    environment: Environment
    metric: Metric
    rejected: tuple[str, ...]
    seed: str
    optimizer: StepOptimizer | None


class Proposer(Protocol):
    """What an entry point leads to: an object with this method, or a class whose instances have it."""

    async def propose(self, context: Context) -> Sequence[Proposal]:
        """The edits to try, the most important first. The document does not change within a step."""


class ExamplesProposer:
    """`examples`: see `skillgit.train.propose.examples`."""

    async def propose(self, context: Context) -> Sequence[Proposal]:
        """Without a model call."""
        found = examples(context.rollouts, context.document, context.environment, context.budget, context.metric)
        return found.proposals


def find_proposer(name: str) -> Proposer:
    """The proposer of a name that is not `model` or `both`, which the step makes itself.

    Raises:
        ConfigError: no plugin has the name, it cannot be loaded, or it is no proposer.
    """
    if name == "examples":
        return ExamplesProposer()
    found = plugins.load(plugins.PROPOSERS, name, BUILT_IN)
    if isinstance(found, type):
        with plugins.Border(f"{plugins.PROPOSERS}: {name!r}"):
            found = found()
    if not callable(getattr(found, "propose", None)):
        raise _wrong(name, "has no method `propose`", "see docs/plugins.md")
    return found  # type: ignore[no-any-return]


async def ask_proposer(proposer: Proposer, name: str, context: Context) -> list[Proposal]:
    """What a proposer proposes, checked: at most `budget` edits, each with a support and a rank that hold.

    Raises:
        ConfigError: it raised, or returned what is no list of proposals; names it.
    """
    handed = replace(context, rollouts=tuple(map(_copied, context.rollouts)))
    with plugins.Border(f"{plugins.PROPOSERS}: {name!r}"):
        found = list(await proposer.propose(handed))
    return [_checked(name, one, rank) for rank, one in enumerate(found[: context.budget])]


def _copied(rollout: Rollout) -> Rollout:
    """A plugin may change what it is handed, and tasks are attempted again."""
    return replace(rollout, task=replace(rollout.task, fields=copy.deepcopy(dict(rollout.task.fields))))


def _checked(name: str, proposal: object, rank: int) -> Proposal:
    """A plugin's proposal, in text that can be written. What it says is judged later, as any edit's is."""
    if not isinstance(proposal, Proposal) or not isinstance(proposal.edit, Edit):
        raise _wrong(
            name, f"returned {type(proposal).__name__}", "return skillgit.train.propose.proposals.Proposal objects"
        )
    edit = proposal.edit
    texts = (edit.op, edit.target, edit.content, edit.reason)
    if not all(isinstance(text, str) for text in texts) or edit.op not in OPS:
        raise _wrong(name, f"returned an edit with op {edit.op!r}", f"ops are {', '.join(OPS)}, all fields text")
    if proposal.source not in ("failure", "success"):
        raise _wrong(name, f"returned source {proposal.source!r}", "source is failure or success")
    support = max(whole(proposal.support) or 1, 1) if isinstance(proposal.support, int) else 1
    target, content, reason = (well_formed(text) for text in (edit.target, edit.content, edit.reason))
    edit = Edit(edit.op, target, content, reason, support)
    return Proposal(edit, support, proposal.source, rank, well_formed(str(proposal.batch or "")))


def _wrong(name: str, what: str, mend: str) -> ConfigError:
    return ConfigError(f"{plugins.PROPOSERS}: {name!r} {what}", mend=mend)
