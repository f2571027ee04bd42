"""Scored attempts as a prompt shows them, each piece of data in its tag."""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.envs.contract import Environment
from skillgit.train.propose.prompts import data
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import Metric


def is_failure(rollout: Rollout, metric: Metric) -> bool:
    """Whether a scored attempt left something to win."""
    score = rollout.attempt.score if rollout.attempt else None
    return score is not None and metric.value(score.hard, score.soft) < 1


def attempt_text(rollout: Rollout, environment: Environment) -> str:
    """`<attempt id="…">` with input, reply, and as much of the truth as the environment reveals."""
    attempt = rollout.attempt
    if attempt is None:
        raise AssertionError("only scored attempts are shown")
    parts = [data("input", rollout.task.input), data("reply", attempt.reply)]
    explanation = environment.explain(rollout.task, attempt)
    if explanation.kind != "nothing":
        parts.append(data(explanation.kind, explanation.text))
    opening = data("attempt", "", id=rollout.task.id).removesuffix("</attempt>")
    return "\n".join([opening, *parts, "</attempt>"])


def attempts_text(rollouts: Sequence[Rollout], environment: Environment) -> str:
    """Attempts under each other."""
    return "\n\n".join(attempt_text(rollout, environment) for rollout in rollouts)


def tagged(tag: str, text: str) -> str:
    """Data in a tag whose marks stand on lines of their own."""
    inner = data(tag, text).removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
    return f"<{tag}>\n{inner}\n</{tag}>"


def listed(title: str, items: Sequence[str]) -> str:
    """Items that are already in tags, under a title, with the blank line that sets them off; empty where none is."""
    return f"{title}\n\n" + "\n".join(items) + "\n\n" if items else ""
