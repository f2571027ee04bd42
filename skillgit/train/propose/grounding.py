"""How far proposed edits stand on what the attempts show. Pure, without a model.

An optimizer's own count of support is a claim. Two things can be checked: an edit that states the answer of a failed
task, about words of that task, is borne out by that attempt; and an edit with a code, a number or an identifier that
neither the attempts nor the document hold has made it up. A rule in plain words is neither, and keeps its claim.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from skillgit.envs.contract import Environment
from skillgit.models.replies import Patch
from skillgit.train.propose.attempts import is_failure
from skillgit.train.propose.proposals import Proposal
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric

_WORD = re.compile(r"\w+(?:[-.:/@]\w+)*")
LEAST_SPECIFIC = 3
"""Characters of a word with a digit that names something; `2 decimals` is a rule, not a made-up fact."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a step's attempts show.

    Args:
        failed: of each failed attempt the words that are its own (not those of most answers' inputs), and its answer.
        seen: every word of the attempts and the document, in lower case.
    """

    failed: tuple[tuple[frozenset[str], str], ...]
    seen: frozenset[str]


def evidence(rollouts: Iterable[Rollout], document: str, environment: Environment, metric: Metric) -> Evidence:
    """Read a step's attempts; answers only as far as the environment reveals them."""
    texts, failures = [document, environment.description], list[tuple[set[str], str]]()
    for rollout in rollouts:
        if rollout.attempt is None:
            continue
        shown = environment.explain(rollout.task, rollout.attempt)
        texts += [rollout.task.input, rollout.attempt.reply, shown.text]
        if shown.kind == "expected" and is_failure(rollout, metric) and shown.text.strip():
            failures.append((words(rollout.task.input), shown.text))
    # A word that stands beside most of the answers ties a text to none of them.
    answers: dict[str, set[str]] = {}
    for inner, answer in failures:
        answers.setdefault(answer, set()).update(inner)
    counts = Counter(word for inner in answers.values() for word in inner)
    common = {word for word, count in counts.items() if len(answers) > 1 and count > len(answers) / 2}
    failed = tuple((frozenset(inner - common), answer) for inner, answer in failures)
    return Evidence(failed, frozenset(word for text in texts for word in words(text)))


def weigh(proposals: Sequence[Proposal], shown: Evidence) -> list[Proposal]:
    """The proposals with what can be checked of them."""
    return [
        replace(p, stated=stated(p.edit.content, shown), invented=invents(p.edit.content, shown)) for p in proposals
    ]


def stated(content: str, shown: Evidence) -> int:
    """How many failed attempts have their answer in the text, beside a word of their own."""
    inside = words(content)
    return sum(_holds(content, answer) and bool(own & inside) for own, answer in shown.failed)


def invents(content: str, shown: Evidence) -> bool:
    """Whether the text holds a code, a number or an identifier that nothing shown has."""
    return any(_is_new(word, shown) for word in words(content))


def doubting(shown: Evidence) -> Callable[[Patch], str | None]:
    """Asks once more for a patch of which every edit has made something up, while the attempts show what is right."""

    def doubt(patch: Patch) -> str | None:
        contents = [edit.content for edit in patch.edits]
        if not contents or not shown.failed or not all(invents(content, shown) for content in contents):
            return None
        made_up = sorted({word for content in contents for word in words(content) if _is_new(word, shown)})
        return f"it states {', '.join(made_up[:5])}, which neither the attempts nor the document show"

    return doubt


def words(text: str) -> set[str]:
    """Words, numbers and identifiers, in lower case; also the parts of those that are joined."""
    found = {match.lower() for match in _WORD.findall(text)}
    return found | {part for word in found for part in re.split(r"[-.:/@]", word) if part}


def _is_new(word: str, shown: Evidence) -> bool:
    return len(word) >= LEAST_SPECIFIC and any(char.isdigit() for char in word) and word not in shown.seen


def _holds(content: str, answer: str) -> bool:
    answer = " ".join(answer.split())
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", " ".join(content.split()), re.IGNORECASE) is not None
