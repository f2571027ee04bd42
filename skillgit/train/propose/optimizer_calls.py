"""Calls of the optimizer: cached, counted, retried once and firmer when a reply cannot be used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from skillgit.envs.contract import Environment
from skillgit.errors import ReplyError, UnfitReplyError
from skillgit.models.base import Model, Request, Turn, Usage
from skillgit.models.cache import call_key
from skillgit.train.propose.prompts import data, fill, sections
from skillgit.train.scoring.rollout import Cache
from skillgit.train.spend.budget import Meter

T = TypeVar("T")


def no_doubt(_: object) -> None:
    """Every value that can be read is taken."""


SCORING = {
    "exact": "the answer has to be equal to an accepted answer",
    "f1": "by the words that the answer shares with an accepted answer",
    "numeric": "the answer has to be the right number",
    "checks": "by checks on the text of the reply",
}

MOST_UNUSABLE = 3
"""Calls in a row without a usable reply, the firmer retry included, after which a run stops (exit code 3)."""


@dataclass(slots=True)
class CallLog:
    """What one step's optimizer calls were, for the evidence ref and the record.

    Args:
        unfit: why replies that were as asked for were not taken (`UnfitReplyError`); they hold no text of the model's.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    usable: int = 0
    unusable: int = 0
    last_problem: str = ""
    unfit: list[str] = field(default_factory=list)

    def answered(self, unfit: str = "") -> None:
        """Count a call that brought what was asked for, and note why it was not taken all the same."""
        self.usable += 1
        if unfit:
            self.last_problem = unfit
            self.unfit.append(unfit)

    def sorted(self) -> list[dict[str, Any]]:
        """The entries, in an order that does not depend on when replies came."""
        return sorted(self.entries, key=lambda entry: (entry["stage"], entry["attempt"], entry["turns"]))


class OptimizerCalls:
    """The optimizer, within one run."""

    def __init__(
        self,
        model: Model,
        cache: Cache,
        run: str,
        *,
        on_usage: Callable[[Usage], None],
        meter: Meter | None = None,
    ) -> None:
        self._model = model
        self._meter = meter or Meter()
        self._cache = cache
        self._run = run
        self._on_usage = on_usage

    @property
    def model(self) -> Model:
        """The backend."""
        return self._model

    async def ask(
        self,
        step: int,
        stage: str,
        request: Request,
        read: Callable[[str], T],
        log: CallLog,
        doubt: Callable[[T], str | None] = no_doubt,
    ) -> T | None:
        """Ask, and read the reply.

        Args:
            stage: `failure/2`; together with the prompt it names the call.
            read: turns the reply's text into a value, raising ReplyError where it cannot be used.
            doubt: what is probably wrong with a value: said once, and then taken as it is, if it comes again.

        Returns: None where neither the first reply nor a firmer retry could be read; it is kept in the log.

        Raises:
            ModelError: the call itself failed.
        """
        key = self._key(step, stage, request)
        known = self._cache.get(key)
        if known is not None:
            value, unfit = None, ""
            # What another version kept and this one cannot read is asked again.
            with contextlib.suppress(ReplyError):
                try:
                    value = read(known["text"])
                except UnfitReplyError as error:
                    unfit = error.message
                log.entries.extend(known.get("entries") or [_entry(stage, 0, request, known["text"], None)])
                log.answered(unfit)
                return value
        async with self._meter.unit():
            return await self._asked(key, stage, request, read, log, doubt)

    async def _asked(
        self,
        key: str,
        stage: str,
        request: Request,
        read: Callable[[str], T],
        log: CallLog,
        doubt: Callable[[T], str | None],
    ) -> T | None:
        doubted: tuple[str, T] | None = None
        unfit = ""
        entries: list[dict[str, Any]] = []
        for attempt in range(2):
            reply = await self._model.complete(request)
            self._on_usage(reply.usage)
            try:
                if not reply.complete:
                    raise ReplyError("the reply was cut off by the token limit")
                value = read(reply.text)
                problem = doubt(value) if attempt == 0 else None
                if problem is not None:
                    doubted = reply.text, value
                    raise ReplyError(problem)
            except ReplyError as error:
                log.last_problem = error.message
                unfit = error.message if isinstance(error, UnfitReplyError) else ""
                entries.append(_entry(stage, attempt, request, reply.text, error.message))
                log.entries.append(entries[-1])
                retry = fill(sections("full/retry")["user"], {"problem": error.message})
                said = (Turn("assistant", reply.text or "(nothing)"), Turn("user", retry))
                request = replace(request, turns=(*request.turns, *said))
                continue
            # Only a usable reply is kept, under the first prompt: a run that goes on asks broken calls again. What
            # came before it is kept with it, so that the evidence of a resumed step is that of one never killed.
            entries.append(_entry(stage, attempt, request, reply.text, None))
            log.entries.append(entries[-1])
            more = {"entries": entries} if attempt else {}
            self._cache.put(key, {"text": reply.text, **more}, "optimizer")
            log.usable += 1
            return value
        if doubted is not None:
            self._cache.put(key, {"text": doubted[0], "entries": entries}, "optimizer")
            log.usable += 1
            return doubted[1]
        if unfit:  # no sign of a broken optimizer: it is kept, the step has no candidate, and the run goes on
            self._cache.put(key, {"text": reply.text, "entries": entries}, "optimizer")
            log.answered(unfit)
        else:
            log.unusable += 1
        return None

    def _key(self, step: int, stage: str, request: Request) -> str:
        return call_key(
            kind="optimizer",
            run=self._run,
            step=step,
            stage=stage,
            system=request.system,
            turns=[[turn.role, turn.text] for turn in request.turns],
            schema=request.schema,
            model=self._model.name,
            settings=dict(self._model.settings),
        )


def _entry(stage: str, attempt: int, request: Request, reply: str, problem: str | None) -> dict[str, Any]:
    turns = [[turn.role, turn.text] for turn in request.turns]
    found = {"stage": stage, "attempt": attempt, "system": request.system, "turns": turns, "reply": reply}
    return found if problem is None else {**found, "problem": problem}


@dataclass(frozen=True, slots=True)
class StepOptimizer:
    """The optimizer within one step: what every stage asks through.

    Args:
        step: its calls are kept by run, step, stage and prompt, so a resumed step repeats none.
        log: grows with each call.
        environment: its one line of description and how it scores are told in every prompt.
        meta: the meta memory, the optimizer's own notes from earlier epochs; may be empty.
    """

    calls: OptimizerCalls
    step: int
    log: CallLog
    environment: Environment
    meta: str = ""

    @property
    def in_flight(self) -> int:
        """The most calls that make sense at once."""
        return self.calls.model.in_flight

    async def ask(self, stage: str, prompt: str, values: Mapping[str, str], read: Callable[[str], T]) -> T | None:
        """Fill a prompt file and ask.

        Args:
            stage: names the call within its step, such as `merge/1/2`.
            prompt: `full/merge`: a file with the sections `system` and `user`.
            values: what fills its placeholders beside `description`, `scoring` and `meta`; already in tags.
            read: as `OptimizerCalls.ask` takes it.

        Returns: None where no usable reply came.

        Raises:
            ModelError: the call itself failed.
        """
        parts = sections(prompt)
        filled = {**self.common(), **values}
        request = Request(parts["system"], (Turn("user", fill(parts["user"], filled)),))
        return await self.calls.ask(self.step, stage, request, read, self.log)

    def common(self) -> dict[str, str]:
        """What every prompt may say: the environment's description, how it scores, and the meta memory."""
        scoring = SCORING.get(self.environment.scorer, "by a program that belongs to the environment")
        notes = f"Notes from earlier epochs on how to edit well here:\n\n{data('notes', self.meta)}\n\n"
        return {
            "description": self.environment.description,
            "scoring": scoring,
            "meta": notes if self.meta.strip() else "",
        }
