"""How many calls each stage of a run makes, and how long they are. Pure, but for `survey`; see `estimate`.

docs/budget.md states the assumptions; their numbers stand here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from skillgit.config import SkillSettings
from skillgit.document.structure import body
from skillgit.envs.contract import Task
from skillgit.models.base import Usage
from skillgit.models.usage import usd
from skillgit.train.propose.proposals import UNLIMITED
from skillgit.train.schedule import steps_per_epoch
from skillgit.train.session import Session

CHARACTERS = 4
"""Of one token."""
REPLY = 200
"""Tokens of a target's reply."""
PROMPT = 500
"""Tokens of the optimizer's instructions, without the data."""
ATTEMPT = 25
"""Tokens of the tags around one attempt."""
EDIT = 60
"""Tokens of one proposed edit, and by which an accepted one lengthens the document."""
REASONING = 150
"""Tokens of an optimizer's reply beside its edits."""
MEMORY = 600
"""Tokens of rejected edits and failure patterns in a prompt, at most."""
Role = Literal["target", "optimizer"]


@dataclass(frozen=True, slots=True)
class Split:
    """A split as a run uses it: the number of tasks, and the mean length of their inputs and first answers."""

    tasks: int
    input_tokens: int = 0
    answer_tokens: int = 0

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> Split:
        """Measured on the real texts."""
        if not tasks:
            return cls(0)
        inputs = sum(len(task.input) for task in tasks)
        answers = sum(len(task.answers[0]) for task in tasks if task.answers)
        return cls(len(tasks), _tokens(inputs / len(tasks)), _tokens(answers / len(tasks)))


@dataclass(frozen=True, slots=True)
class Survey:
    """What an estimate is made from.

    Args:
        document_tokens: the document without its frontmatter.
        form: of the optimizer's prompts. speculates: whether mini-batches are rolled out ahead.
        target, optimizer: `provider/model`. in_flight: the target's calls at once.
    """

    settings: SkillSettings
    train: Split
    val: Split
    test: Split
    document_tokens: int
    form: Literal["full", "compact"]
    speculates: bool
    target: str
    optimizer: str
    in_flight: int


def survey(session: Session, document: str) -> Survey:
    """Measure the session's splits, and the document that a run would start from."""
    optimizer = session.optimizer or session.target
    return Survey(
        settings=session.settings,
        train=Split.of(session.train),
        val=Split.of(session.val),
        test=Split.of(session.test),
        document_tokens=_tokens(len(body(document))),
        form=session.form,
        speculates=session.speculates,
        target=session.target.name,
        optimizer=optimizer.name,
        in_flight=session.target.in_flight,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One stage of one role, over a whole run. `low` and `high` are usage; prices are None where not known."""

    stage: str
    role: Role
    model: str
    low: Usage
    high: Usage

    @property
    def usd(self) -> tuple[Decimal, Decimal] | None:
        """Low and high, at list prices."""
        low, high = usd(self.model, self.low), usd(self.model, self.high)
        return None if low is None or high is None else (low, high)


class Sizes:
    """What the stages have in common."""

    def __init__(self, given: Survey) -> None:
        chosen = given.settings
        self.given, self.chosen = given, chosen
        train = given.train.tasks
        self.batch = train if chosen.train.one_shot else min(train, chosen.train.batch_size * chosen.train.accumulation)
        self.epochs = 1 if chosen.train.one_shot else chosen.train.num_epochs
        self.steps = steps_per_epoch(train, max(1, self.batch)) * self.epochs
        self.candidates = 1 if chosen.train.one_shot else chosen.optimizer.proposals
        self.edits = max(chosen.optimizer.learning_rate, chosen.optimizer.min_learning_rate)
        self.unlimited = chosen.optimizer.rate_control == "none"
        self.asked = UNLIMITED if self.unlimited else self.edits  # of one call
        self.val = given.val.tasks * chosen.evaluation.repeats
        self.closings = self.epochs - 1 if self._looks_back else 0
        self.document = given.document_tokens
        self.grown = self._grown()

    @property
    def _looks_back(self) -> bool:
        optimizer = self.chosen.optimizer
        wanted = optimizer.use_slow_update or optimizer.use_meta_skill
        return wanted and self.given.form == "full" and not self.chosen.train.one_shot

    def _grown(self) -> int:
        """The document's mean length over a run that accepts every edit."""
        chosen, now = self.chosen.optimizer, self.document
        edits = self.edits
        if self.unlimited and chosen.skill_update_mode == "patch":
            shown = self.batch if self.chosen.gradient.proposer in ("examples", "both") else 0
            edits = max(self.asked * self.reflections(), shown)
        most = [now + EDIT * edits * self.steps]
        most += [max(now, chosen.max_tokens)] if chosen.max_tokens else []
        most += [math.ceil(now * (1 + chosen.max_growth))] if chosen.max_growth else []
        return (now + min(most)) // 2

    def target(self, stage: str, low: int, high: int, split: Split, *, long: bool = True) -> Row:
        """A row of attempts at a split's tasks."""

        def usage(calls: int, document: int) -> Usage:
            return Usage(calls, calls * (document + split.input_tokens), 0, calls * REPLY)

        grown = self.grown if long else self.document
        return Row(stage, "target", self.given.target, usage(low, self.document), usage(high, grown))

    def optimizer(self, stage: str, low: int, high: int, data: int, reply: int, *, documents: int = 1) -> Row:
        """A row of optimizer calls, each with `data` tokens beside the documents that it is shown."""

        def usage(calls: int, document: int, more: int) -> Usage:
            return Usage(calls, calls * (PROMPT + documents * document + data + more), 0, calls * reply)

        model = self.given.optimizer
        return Row(stage, "optimizer", model, usage(low, self.document, 0), usage(high, self.grown, MEMORY))

    @property
    def attempt(self) -> int:
        """Tokens of one attempt in a prompt."""
        return self.given.train.input_tokens + self.given.train.answer_tokens + REPLY + ATTEMPT

    def first_wave(self) -> int:
        """Attempts that a candidate gets at least: only these rules can reject before the end."""
        rules = self.chosen.evaluation
        early = rules.racing and rules.use_gate and (rules.gate_mode == "strict" or rules.no_regression)
        return min(self.val, self.given.in_flight) if early else self.val

    def reflections(self) -> int:
        """The most reflection calls of a candidate: over all numbers of failures in a mini-batch."""
        rules, size = self.chosen.gradient, self.chosen.gradient.minibatch_size
        budget = math.inf if self.unlimited else self.edits
        compact = self.given.form == "compact" and self.chosen.optimizer.skill_update_mode == "patch"

        def calls(failures: int) -> int:
            successes = math.ceil((self.batch - failures) / size)
            if rules.failure_only or compact:
                successes = 0
            elif rules.success_minibatches:
                successes = min(successes, rules.success_minibatches) if failures < budget else 0
            return math.ceil(failures / size) + successes

        return max((calls(failures) for failures in range(1, self.batch + 1)), default=0)


def stages(sizes: Sizes) -> Iterator[Row]:
    """All stages of a whole new run, in order; some may have no calls."""
    given, steps = sizes.given, sizes.steps
    train, evaluation = given.train.tasks, sizes.chosen.evaluation
    yield sizes.target("baseline", sizes.val, sizes.val, given.val, long=False)
    # A document that stays the same meets the same tasks in later epochs: the cache answers.
    yield sizes.target("rollout", train, train * sizes.epochs, given.train)
    if given.speculates:
        yield sizes.target("speculation", 0, sizes.batch * (steps - 1), given.train)
    yield from _proposing(sizes, steps)
    contests = steps * sizes.candidates
    yield sizes.target("gate", steps * sizes.first_wave(), contests * sizes.val, given.val)
    yield from _closing(sizes)
    if evaluation.eval_test:
        tests = given.test.tasks
        yield sizes.target("test", tests, 2 * tests, given.test)


def _proposing(sizes: Sizes, steps: int) -> Iterator[Row]:
    """The optimizer's stages of so many steps, as `propose.drafting` takes them. A plugin's own calls are not known."""
    chosen, mode = sizes.chosen, sizes.chosen.optimizer.skill_update_mode
    size, variants = min(sizes.batch, chosen.gradient.minibatch_size), steps * sizes.candidates
    whole, rated = REASONING + sizes.grown, chosen.optimizer.rate_control == "autonomous"
    if chosen.train.one_shot:
        yield sizes.optimizer("reflect", steps, steps, min(sizes.batch, 32) * sizes.attempt, whole)
        return
    if mode == "patch":
        yield from _patching(sizes, steps)
        return
    most, group = sizes.reflections(), chosen.gradient.merge_batch_size
    reply = whole if mode == "full_rewrite_minibatch" else REASONING + sizes.asked * EDIT
    yield sizes.optimizer("reflect", steps, variants * most, size * sizes.attempt, reply)
    if mode == "full_rewrite_minibatch":
        yield sizes.optimizer("merge", 0, variants * _tree(most, group), group * sizes.grown, whole)
    else:  # suggestions are put together and chosen from without a model
        yield sizes.optimizer("select", 0, variants * rated, most * sizes.asked * EDIT, REASONING)
        yield sizes.optimizer("rewrite", steps, variants, sizes.asked * EDIT, whole)


def _patching(sizes: Sizes, steps: int) -> Iterator[Row]:
    """Edits: who proposes them, and what is asked about them."""
    chosen, optimizer, full = sizes.chosen, sizes.chosen.optimizer, sizes.given.form == "full"
    proposer, variants, rate = chosen.gradient.proposer, steps * sizes.candidates, optimizer.rate_control
    size, patch = min(sizes.batch, chosen.gradient.minibatch_size), REASONING + sizes.asked * EDIT
    modelled = proposer in ("model", "both")
    # A plugin's edits come all at once, as those of one call do, and no more than the budget.
    most, group = sizes.reflections() if modelled else 1, chosen.gradient.merge_batch_size
    if modelled:
        yield sizes.optimizer("reflect", steps, variants * most, size * sizes.attempt, patch)
    if not full:
        return
    parts = most * sizes.asked
    if proposer != "examples":
        yield sizes.optimizer("merge", 0, variants * _tree(parts, group), group * EDIT, REASONING + group * EDIT)
        choices = (rate != "none" and most > 1) or rate == "autonomous"
        yield sizes.optimizer("select", 0, variants * (choices + (rate == "autonomous")), parts * EDIT, REASONING)
    notes = modelled and optimizer.use_skill_aware_reflection and optimizer.skill_aware_consolidate_threshold
    shorter = bool(optimizer.max_tokens or optimizer.max_growth) + bool(notes)
    yield sizes.optimizer("shorten", 0, variants * shorter, 0, patch)


def _closing(sizes: Sizes) -> Iterator[Row]:
    """The ends of the epochs, from the second on: nothing where an epoch changed nothing."""
    given, chosen, closings = sizes.given, sizes.chosen.optimizer, sizes.closings
    samples = min(given.train.tasks, chosen.slow_update_samples)
    # `changed` goes on through the split until it has enough pairs.
    compared = given.train.tasks if chosen.longitudinal_pair_policy == "changed" else samples
    pairs = samples * (sizes.attempt + REPLY)
    yield sizes.target("compare", 0, closings * 2 * compared, given.train)
    reply = REASONING + 4 * EDIT
    yield sizes.optimizer("slow update", 0, closings * chosen.use_slow_update, pairs, reply, documents=2)
    yield sizes.target("slow update", 0, closings * chosen.use_slow_update * sizes.val, given.val)
    yield sizes.optimizer("meta memory", 0, closings * chosen.use_meta_skill, pairs, reply, documents=2)


def least(sizes: Sizes, steps: int) -> Iterator[Row]:
    """The baseline and the first steps at their low ends: their tasks are new, so the cache answers nothing."""
    given = sizes.given
    yield sizes.target("baseline", sizes.val, sizes.val, given.val)
    attempts = min(steps * sizes.batch, given.train.tasks)
    yield sizes.target("rollout", attempts, attempts, given.train)
    yield from (row for row in _proposing(sizes, steps) if row.low.calls)
    yield sizes.target("gate", steps * sizes.first_wave(), steps * sizes.first_wave(), given.val)


def _tree(parts: int, group: int) -> int:
    """Calls that merge `parts` in groups, the results in groups again, to one."""
    calls = 0
    while parts > 1:
        parts = math.ceil(parts / group)
        calls += parts
    return calls


def _tokens(characters: float) -> int:
    return math.ceil(characters / CHARACTERS)
