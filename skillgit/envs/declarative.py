"""The environment that `env.yaml` describes: one prompt, one reply, one score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from skillgit.envs import templates
from skillgit.envs.contract import Ask, Attempt, Explanation, Score, Split, Task
from skillgit.envs.digests import digest_of
from skillgit.envs.extract import extract
from skillgit.envs.scorers import Scorer
from skillgit.envs.settings import EnvironmentSettings
from skillgit.models.base import Json, Reply, Request, Turn

_SCORING_VERSION = 1
"""Part of every digest; raised when extraction or a scorer gives another score for the same reply."""


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """All that was loaded for an environment; what the class of an `env.py` is constructed with.

    Args:
        folder: the environment's folder.
        label: how messages name it.
        tasks: the splits, checked.
        code: sha256 hex by path of the Python files that scores depend on.
    """

    folder: Path
    label: str
    settings: EnvironmentSettings
    tasks: Mapping[Split, tuple[Task, ...]]
    scorer: Scorer
    code: Mapping[str, str]


class DeclarativeEnvironment:
    """One call of the target per attempt. An `env.py` may subclass it and override `attempt`."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        self.spec = spec
        settings = spec.settings
        self._digest = digest_of(
            {
                "scoring": _SCORING_VERSION,
                "system": settings.system,
                "prompt": settings.prompt,
                "extract": settings.extract,
                "scorer": settings.scorer,
                "checks": settings.checks,
                "normalize": settings.normalize,
                "tolerance": settings.tolerance,
                "reply_tokens": settings.reply_tokens,
                "code": dict(spec.code),
            }
        )

    @property
    def description(self) -> str:
        """One line that a person understands."""
        return self.spec.settings.description.strip()

    @property
    def digest(self) -> str:
        """sha256 hex of all that turns a document and a task into a score: what `env.yaml` says of the call and the
        scoring, and the code. Not the tasks, the description, or what is revealed."""
        return self._digest

    @property
    def scorer(self) -> str:
        """The scorer's name."""
        return self.spec.scorer.name

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """The tasks of a split, in file order."""
        return self.spec.tasks.get(split, ())

    def request(self, skill: str, task: Task) -> Request:
        """The call of an attempt: the document first, in bytes that are the same for every task; the task last."""
        values = {**_texts(task), templates.SKILL: skill}
        settings = self.spec.settings
        turn = Turn("user", templates.fill(settings.prompt, values))
        return Request(templates.fill(settings.system, values), (turn,), max_tokens=settings.reply_tokens)

    async def attempt(self, skill: str, task: Task, target: Ask) -> Attempt:
        """Ask the target once, and score what extraction takes from its reply.

        A reply that was cut off at the token limit, or in which the model declined, is scored like any other; the
        reason says so. Where extraction finds no answer, both scores are 0.

        Raises:
            ModelError: the target failed. EnvironmentFailedError: scoring failed.
        """
        request = self.request(skill, task)
        reply = await target(request)
        answer, score = await self.judge(reply, task)
        transcript = (*request.turns, Turn("assistant", reply.text))
        return Attempt(reply.text, answer, score, reply.usage, transcript=transcript)

    async def judge(self, reply: Reply, task: Task, calls: tuple[str, ...] = ()) -> tuple[str, Score]:
        """The answer in a reply and its score; for an `env.py` whose attempt ends with a reply.

        Args:
            calls: names of the tools called, in order.

        Raises:
            EnvironmentFailedError: scoring failed.
        """
        found = extract(reply.text, self.spec.settings.extract)
        if found.problem:
            score = Score(Fraction(0), Fraction(0), found.problem)
        else:
            score = await self.spec.scorer.score(found.text, task, calls)
        notes = [] if reply.complete else ["the reply was cut off at the token limit"]
        notes += ["the model declined to answer"] if reply.refused else []
        reason = "; ".join(filter(None, [score.reason, *notes]))
        return found.text, Score(score.hard, score.soft, reason)

    def explain(self, task: Task, attempt: Attempt) -> Explanation:
        """`answer`: the first accepted answer, or the reason where the task has none; `reason`: the reason."""
        reveal = self.spec.settings.reveal
        if reveal == "answer" and task.answers:
            return Explanation("expected", task.answers[0])
        if reveal == "nothing" or not attempt.score.reason:
            return Explanation("nothing")
        return Explanation("reason", attempt.score.reason)

    async def close(self) -> None:
        """End the scorer's processes."""
        await self.spec.scorer.close()


def _texts(task: Task) -> dict[str, str]:
    """The row's fields as they go into a prompt."""
    return {name: text for name, value in task.fields.items() if (text := _text(value)) is not None}


def _text(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
