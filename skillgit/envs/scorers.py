"""Scorers: from an answer and a task's truth to a score, with a reason that does not give the truth away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, Protocol

from skillgit.envs import judges
from skillgit.envs.contract import Score, Task
from skillgit.envs.normalize import normalize_text, parse_number, token_f1
from skillgit.errors import ConfigError
from skillgit.models.base import Json

Comparison = Literal["exact", "f1", "numeric"]
CHECKS = "checks"

_ONE, _ZERO = Fraction(1), Fraction(0)


class Scorer(Protocol):
    """Scores the answers of one environment."""

    @property
    def name(self) -> str:
        """As in `env.yaml`, for reports and for what the optimizer is told."""

    def prepare(self, task: Task) -> None:
        """Make sure at loading time that a task can be scored.

        Raises:
            ConfigError: it cannot; names file, line and key.
        """

    async def score(self, answer: str, task: Task, calls: Sequence[str] = ()) -> Score:
        """Score what extraction took from a reply.

        Raises:
            EnvironmentFailedError: a scorer's own code failed.
        """

    async def close(self) -> None:
        """End what the scorer started."""


def score_exact(answer: str, accepted: Iterable[str], *, normalize: bool) -> Score:
    """1 where the answer is one of the accepted ones, else 0.

    Without normalisation only white space at both ends is ignored.
    """
    form = normalize_text if normalize else str.strip
    right = form(answer) in {form(expected) for expected in accepted}
    return Score(_ONE, _ONE, "the answer is right") if right else Score(_ZERO, _ZERO, "the answer is not the right one")


def score_f1(answer: str, accepted: Iterable[str], *, normalize: bool) -> Score:
    """`soft` is the best token F1 over the accepted answers, `hard` is 1 where that is 1.

    Without normalisation tokens are what white space separates, compared as they are.
    """
    measure = token_f1 if normalize else _plain_f1
    best = max(measure(answer, expected) for expected in accepted)
    if best == 1:
        return Score(_ONE, _ONE, "the answer is right")
    return Score(_ZERO, best, f"the answer shares {float(best):.0%} of its words with the right one (F1)")


def _plain_f1(answer: str, expected: str) -> Fraction:
    ours, theirs = answer.split(), expected.split()
    shared = (Counter(ours) & Counter(theirs)).total()
    return Fraction(2 * shared, len(ours) + len(theirs)) if shared else _ZERO


def score_numeric(answer: str, accepted: Iterable[str], *, tolerance: Fraction = _ZERO) -> Score:
    """1 where the answer is a number at most `tolerance` (absolute) away from an accepted one, else 0."""
    number = parse_number(answer)
    if number is None:
        return Score(_ZERO, _ZERO, "the answer is not a number and nothing else")
    expected = [parse_number(text) for text in accepted]
    if any(abs(number - value) <= tolerance for value in expected if value is not None):
        return Score(_ONE, _ONE, "the number is right")
    return Score(_ZERO, _ZERO, "the number is not the right one")


class AnswerScorer:
    """`exact`, `f1` and `numeric`: an answer is compared with the accepted ones."""

    def __init__(self, name: Comparison, *, normalize: bool = True, tolerance: Fraction = _ZERO) -> None:
        self._name = name
        self._normalize = normalize
        self._tolerance = tolerance

    @property
    def name(self) -> str:
        return self._name

    def prepare(self, task: Task) -> None:
        if not task.answers:
            mend = f"the scorer {self._name} needs one: a text or a list of accepted texts"
            raise ConfigError(f"{task.source}: answer: {task.id!r} has none", mend=mend)
        for expected in task.answers:
            if self._name == "numeric" and parse_number(expected) is None:
                raise ConfigError(f"{task.source}: answer: {expected!r} is not a number", mend="write the number alone")
            if self._name != "numeric" and self._normalize and not normalize_text(expected):
                mend = "change the answer, or set normalize: none"
                raise ConfigError(f"{task.source}: answer: nothing is left of {expected!r} to compare", mend=mend)

    async def score(self, answer: str, task: Task, calls: Sequence[str] = ()) -> Score:
        if self._name == "numeric":
            return score_numeric(answer, task.answers, tolerance=self._tolerance)
        compare = score_exact if self._name == "exact" else score_f1
        return compare(answer, task.answers, normalize=self._normalize)

    async def close(self) -> None:
        return None


class TaskChecks:
    """Checks, a task's own or the environment's; other tasks go to `otherwise`.

    Args:
        otherwise: scores tasks without checks; None where `scorer: checks` says that each task has some.
        defaults: the environment's checks, for tasks without their own.
        normalize: how `exact` checks compare that do not say so themselves.
        tools: whether attempts can call tools; else a `tool_called` check could never pass and is refused.
    """

    def __init__(self, otherwise: Scorer | None, *, defaults: Json = None, normalize: bool = True, tools: bool) -> None:
        self._otherwise = otherwise
        self._defaults = defaults
        self._normalize = normalize
        self._tools = tools
        self._loaded: dict[str, tuple[judges.Check, ...]] = {}

    @property
    def name(self) -> str:
        return self._otherwise.name if self._otherwise else CHECKS

    def prepare(self, task: Task) -> None:
        if not self._applies(task):
            if self._otherwise is None:
                mend = "give it some, or write checks: in env.yaml for all tasks"
                raise ConfigError(f"{task.source}: checks: {task.id!r} has none", mend=mend)
            self._otherwise.prepare(task)
            return
        self._checks(task)

    async def score(self, answer: str, task: Task, calls: Sequence[str] = ()) -> Score:
        if self._otherwise and not self._applies(task):
            return await self._otherwise.score(answer, task, calls)
        return judges.score(self._checks(task), answer, calls)

    async def close(self) -> None:
        if self._otherwise:
            await self._otherwise.close()

    def _applies(self, task: Task) -> bool:
        return "checks" in task.fields or (self._otherwise is None and self._defaults is not None)

    def _checks(self, task: Task) -> tuple[judges.Check, ...]:
        if task.digest not in self._loaded:
            raw, where = task.fields.get("checks", self._defaults), f"{task.source}: checks"
            self._loaded[task.digest] = load_task_checks(raw, where, normalize=self._normalize, tools=self._tools)
        return self._loaded[task.digest]


def load_task_checks(raw: Json, where: str, *, normalize: bool, tools: bool) -> tuple[judges.Check, ...]:
    """Checks of a task or an environment, with the environment's settings applied.

    Raises:
        ConfigError: a check is malformed, or can never pass here.
    """
    items = raw if isinstance(raw, list) else []
    if not tools and any(isinstance(item, Mapping) and item.get("op") == "tool_called" for item in items):
        mend = "give the environment an env.py whose attempt calls tools, or drop the check"
        raise ConfigError(f"{where}: tool_called can never pass where no tool is called", mend=mend)
    if not normalize:
        items = [_verbatim(item) for item in items]
    return judges.load_checks(items if isinstance(raw, list) else raw, where)


def _verbatim(item: Json) -> Json:
    if isinstance(item, Mapping) and item.get("op") == "exact":
        return {"normalize": "none", **item}
    return item
