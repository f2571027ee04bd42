"""The same train tasks under two documents: what the slow update and the meta memory look at. Pure.

Source of the four changes and of the policies: SkillOpt's `optimizer/slow_update.py` and `engine/trainer.py`. A change
is judged by the gate metric there is, not by `hard` alone, and a pair with an errored attempt is left out: an attempt
that failed to happen shows nothing about a document.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from skillgit.envs.contract import Attempt, Environment, Explanation, Task
from skillgit.train.propose.prompts import data
from skillgit.train.schedule import seeded_shuffle
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric

Change = Literal["regressed", "persistent", "improved", "stable"]
Policy = Literal["mixed", "changed", "unchanged"]

CHANGES: tuple[Change, ...] = get_args(Change)
"""In the order in which the optimizer is shown them: what got worse matters most."""

KEPT: dict[Policy, frozenset[Change]] = {
    "mixed": frozenset(CHANGES),
    "changed": frozenset({"regressed", "improved"}),
    "unchanged": frozenset({"persistent", "stable"}),
}

MOST_OF_A_TEXT = 3_000
"""Characters of one input, reply or reason in a prompt: the middle of a longer one is left out."""
MOST_OF_PAIRS = 80_000
"""Characters of all pairs in a prompt, about 20,000 tokens: the last ones of a longer text are left out, and said."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One task's scored attempts under two documents, and what became of it."""

    task: Task
    change: Change
    before: Attempt
    after: Attempt


def sample(train_ids: Iterable[str], known: Collection[str], count: int, seed: int, epoch: int) -> list[str]:
    """Which train tasks to compare at an epoch's end.

    Args:
        train_ids: all tasks of the split, in any order.
        known: tasks with an attempt under either document already: they come first, since they cost less. It must
            follow from the run's history, not from what a cache happens to hold: else a resumed run samples others.
        count: `slow_update_samples`.
        seed, epoch: the run's seed, and the epoch (from 1): a shuffle of the sorted ids depends on nothing else.

    Returns: at most `count` ids, without repeats.
    """
    shuffled = seeded_shuffle(sorted(set(train_ids)), f"{seed}/longitudinal/{epoch}")
    return sorted(shuffled, key=lambda task: task not in known)[:count]


def missing(order: Sequence[str], tried: int, kept: int, count: int, policy: Policy) -> list[str]:
    """The tasks to try next, where the policy keeps fewer pairs than `slow_update_samples`.

    Only `changed` goes on, once through the split, as in SkillOpt; `unchanged` and `mixed` take what the sample gives.

    Args:
        order: `sample` of the whole split (its `count` is the number of tasks). tried: how many were compared so far.
        kept: pairs that the policy kept so far. count: `slow_update_samples`.

    Returns: empty where there are enough pairs, or no more tasks.
    """
    return list(order[tried : tried + max(count - kept, 0)]) if policy == "changed" else []


def pairs(before: Iterable[Rollout], after: Iterable[Rollout], metric: Metric) -> list[Pair]:
    """Pair the attempts under the previous document and the current one, task by task.

    Of several trials of a task the first one is compared. Tasks without a scored attempt on both sides are left out.

    Returns: by change as `CHANGES` has them, then by task id: independent of the order in which attempts ended.
    """
    old, new = _by_task(before), _by_task(after)
    found = []
    for ident in old.keys() & new.keys():
        (task, first), (_, second) = old[ident], new[ident]
        found.append(Pair(task, _change(first, second, metric), first, second))
    return sorted(found, key=lambda pair: (CHANGES.index(pair.change), pair.task.id))


def chosen(found: Iterable[Pair], policy: Policy) -> list[Pair]:
    """The pairs that `longitudinal_pair_policy` keeps, in their order."""
    return [pair for pair in found if pair.change in KEPT[policy]]


def tally(found: Sequence[Pair]) -> dict[Change, int]:
    """How many pairs of each change, in the order of `CHANGES`."""
    return {change: sum(pair.change == change for pair in found) for change in CHANGES}


def pairs_text(found: Sequence[Pair], environment: Environment) -> str:
    """The pairs for a prompt: a line that counts them, then a block each, regressed, persistent, improved, stable.

    Bounded: each text to `MOST_OF_A_TEXT`, all blocks to `MOST_OF_PAIRS` characters (the first one always stands).
    """
    ordered = sorted(found, key=lambda pair: CHANGES.index(pair.change))
    blocks: list[str] = []
    room = MOST_OF_PAIRS
    for pair in ordered:
        block = _block(pair, environment)
        room -= len(block)
        if room < 0 and blocks:
            break
        blocks.append(block)
    counts = ", ".join(f"{number} {change}" for change, number in tally(ordered).items())
    left = len(ordered) - len(blocks)
    more = [f"({left} more of the {len(ordered)} are not shown.)"] if left else []
    return "\n\n".join([f"{counts}.", *blocks, *more])


def _by_task(rollouts: Iterable[Rollout]) -> dict[str, tuple[Task, Attempt]]:
    """Each task's first trial; errored ones are left out."""
    found: dict[str, tuple[Task, Attempt]] = {}
    for rollout in sorted(rollouts, key=lambda r: (r.task.id, r.trial)):
        if rollout.attempt is not None:
            found.setdefault(rollout.task.id, (rollout.task, rollout.attempt))
    return found


def _change(before: Attempt, after: Attempt, metric: Metric) -> Change:
    old, new = (metric.value(attempt.score.hard, attempt.score.soft) for attempt in (before, after))
    if new != old:
        return "improved" if new > old else "regressed"
    return "stable" if new >= 1 else "persistent"


def _block(pair: Pair, environment: Environment) -> str:
    """An answer is the task's, and stands once; a reason belongs to the attempt it is about."""
    old, new = (environment.explain(pair.task, attempt) for attempt in (pair.before, pair.after))
    opening = data("pair", "", id=pair.task.id, change=pair.change).removesuffix("</pair>")
    parts = [
        opening,
        data("input", shortened(pair.task.input)),
        _side("before", pair.before, old),
        _side("after", pair.after, new),
    ]
    expected = next((one.text for one in (new, old) if one.kind == "expected"), None)
    if expected is not None:
        parts.append(data("expected", shortened(expected)))
    return "\n".join([*parts, "</pair>"])


def _side(tag: str, attempt: Attempt, explanation: Explanation) -> str:
    reason = "\n" + data("reason", shortened(explanation.text)) if explanation.kind == "reason" else ""
    return f"<{tag}>{data('reply', shortened(attempt.reply))}{reason}</{tag}>"


def shortened(text: str) -> str:
    """A text of at most `MOST_OF_A_TEXT` characters and a mark: its beginning, and its end, where answers stand."""
    if len(text) <= MOST_OF_A_TEXT:
        return text
    half = MOST_OF_A_TEXT // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
