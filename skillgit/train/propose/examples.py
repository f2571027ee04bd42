"""The `examples` proposer: failed tasks with their answers become worked examples, without a model call.

DSPy's bootstrapped few-shot is the model of it, on a document: an example is a line of it, gated as any other edit.
It is a baseline that an optimizer has to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillgit.document import Edit
from skillgit.document.content import refused_content
from skillgit.document.lines import split_lines
from skillgit.document.structure import body
from skillgit.document.words import splits_word
from skillgit.envs.contract import Environment
from skillgit.train.propose.attempts import is_failure
from skillgit.train.propose.compact import MOST_CONTENT, example_line
from skillgit.train.propose.proposals import Proposal
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric

ALIKE = 0.8
"""Words that two inputs with one answer have in common, as a share of all their words, from which on one example
stands for both."""


@dataclass(frozen=True, slots=True)
class Examples:
    """What failed tasks gave.

    Args:
        proposals: one edit per example, the best supported first.
        said: why failed tasks gave none, one sentence each; for the step's record and the person.
    """

    proposals: tuple[Proposal, ...]
    said: tuple[str, ...] = ()


@dataclass(slots=True)
class _Group:
    """Failed tasks with one answer and nearly the same input; the first by id stands for them."""

    task: str
    answer: str
    words: frozenset[str]
    tasks: set[str] = field(default_factory=set)


def examples(
    rollouts: Sequence[Rollout], document: str, environment: Environment, budget: int, metric: Metric
) -> Examples:
    """Worked examples of failed tasks.

    What the document shows already is left out; a line that shows the task with another answer is replaced. The order
    depends on the tasks alone: support first, then ids.

    Args:
        budget: the most proposals.
        metric: what counts as failed.
    """
    failures = sorted((r for r in rollouts if is_failure(r, metric)), key=lambda r: (r.task.id, r.trial))
    groups, hidden = _groups(failures, environment)
    lines = split_lines(body(document))
    proposals: list[Proposal] = []
    unfit = shown = 0
    used: set[str] = set()
    for group in sorted(groups, key=lambda group: -len(group.tasks)):
        line = example_line(group.task, group.answer)
        if len(line) > MOST_CONTENT or refused_content(line) is not None:
            unfit += 1
        elif any(_holds(text, group.task) and _holds(text, group.answer) for text in lines):
            shown += 1
        elif group.task not in used:  # a task that has two answers teaches the first one only
            used.add(group.task)
            edit = _edit(line, group, lines)
            proposals.append(Proposal(edit, len(group.tasks), "failure", len(proposals)))
    return Examples(tuple(proposals[:budget]), tuple(_reasons(hidden, unfit, shown)))


def fill(proposals: Sequence[Proposal], more: Sequence[Proposal], budget: int) -> list[Proposal]:
    """`both`: the model's proposals, then as many examples as the budget leaves room for.

    An example whose text a proposal brings already is left out.
    """
    said = {" ".join(proposal.edit.content.split()) for proposal in proposals}
    extra = [proposal for proposal in more if " ".join(proposal.edit.content.split()) not in said]
    return [*proposals, *extra[: max(0, budget - len(proposals))]]


def _groups(failures: Sequence[Rollout], environment: Environment) -> tuple[list[_Group], int]:
    """Failed tasks by answer and input, in order of their first task; and how many tasks have no answer to show."""
    groups: dict[str, list[_Group]] = {}
    found: list[_Group] = []
    hidden: set[str] = set()
    for rollout in failures:
        explanation = environment.explain(rollout.task, rollout.attempt) if rollout.attempt else None
        if explanation is None or explanation.kind != "expected" or not explanation.text.strip():
            hidden.add(rollout.task.id)
            continue
        task, answer = " ".join(rollout.task.input.split()), " ".join(explanation.text.split())
        words = frozenset(task.casefold().split())
        same = groups.setdefault(answer, [])
        group = next((one for one in same if _alike(one.words, words)), None)
        if group is None:
            group = _Group(task, answer, words)
            same.append(group)
            found.append(group)
        group.tasks.add(rollout.task.id)
    return found, len(hidden)


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= ALIKE * len(words | others)


def _holds(line: str, text: str) -> bool:
    """Whether a line has a text, spaces aside, not as a part of a longer word."""
    line = " ".join(line.split())
    start = line.find(text)
    while start >= 0:
        if not splits_word(line, start) and not splits_word(line, start + len(text)):
            return True
        start = line.find(text, start + 1)
    return False


def _edit(line: str, group: _Group, lines: Sequence[str]) -> Edit:
    count = len(group.tasks)
    reason = f"{count} failed task{'' if count == 1 else 's'} with this answer."
    opening = example_line(group.task, "").rstrip() + " "
    others = [text for text in lines if " ".join(text.split()).startswith(opening)]
    if len(others) == 1:
        return Edit("replace", target=others[0], content=line, reason=reason, support=count)
    return Edit("append", content=line, reason=reason, support=count)


def _reasons(hidden: int, unfit: int, shown: int) -> list[str]:
    found = []
    if hidden:
        found.append(f"{_tasks(hidden)} gave no example: the environment shows no answer (see reveal in env.yaml)")
    if unfit:
        found.append(f"{_tasks(unfit)} gave no example: too long for a line, or text that no edit may bring")
    if shown:
        found.append(f"{_tasks(shown)} gave no example: the document shows it already")
    return found


def _tasks(number: int) -> str:
    return f"{number} failed task{'' if number == 1 else 's'}"
