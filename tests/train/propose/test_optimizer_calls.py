"""Calls of the optimizer: a reply that cannot be used is asked for once more, firmer; only usable ones are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import optimizer
from support.training import MemoryCache, ScriptedModel

from skillgit.document import Edit
from skillgit.errors import ModelError, ReplyError
from skillgit.models.base import Reply, Request, Turn, Usage
from skillgit.train.propose.aggregate import aggregate
from skillgit.train.propose.optimizer_calls import CallLog, OptimizerCalls, StepOptimizer, no_doubt
from skillgit.train.propose.proposals import Proposal
from skillgit.train.propose.rate import StepEvidence, autonomous_rate
from skillgit.train.propose.reflect import Memory, Minibatch, reflect
from skillgit.train.propose.rewrite import suggest
from skillgit.train.propose.select import select

REQUEST = Request("You improve documents.", (Turn("user", "Here are attempts."),))


def read(text: str) -> int:
    """A number, or the complaint that there is none."""
    if not text.isdecimal():
        raise ReplyError(f"{text!r} is no number", mend="ask again")
    return int(text)


class Bench:
    """Calls with a script of replies."""

    def __init__(self, replies: Sequence[str | Reply | Exception], cache: MemoryCache | None = None) -> None:
        script = iter(replies)

        def answer(_: Request) -> str | Reply:
            reply = next(script)
            if isinstance(reply, Exception):
                raise reply
            return reply

        self.model = ScriptedModel(answer)
        self.cache = cache if cache is not None else MemoryCache()
        self.spent: list[Usage] = []
        self.log = CallLog()

    async def ask(
        self,
        *,
        run: str = "r1",
        step: int = 1,
        stage: str = "failure/1",
        request: Request = REQUEST,
        doubt: Callable[[int], str | None] = no_doubt,
    ) -> int | None:
        calls = OptimizerCalls(self.model, self.cache, run, on_usage=self.spent.append)
        return await calls.ask(step, stage, request, read, self.log, doubt)


async def test_a_usable_reply_is_kept() -> None:
    bench = Bench(["7"])
    assert await bench.ask() == 7
    assert bench.model.requests == [REQUEST]
    assert list(bench.cache.kinds.values()) == ["optimizer"]
    again = Bench([], bench.cache)
    assert await again.ask() == 7
    assert again.model.requests == []
    assert again.spent == []
    assert (again.log.usable, again.log.unusable) == (1, 0)
    assert [entry["reply"] for entry in again.log.entries] == ["7"]


async def test_an_unusable_reply_is_answered_firmer_once() -> None:
    bench = Bench(["seven", "7"])
    assert await bench.ask() == 7
    second = bench.model.requests[1]
    assert second.system == REQUEST.system
    assert second.turns[:2] == (REQUEST.turns[0], Turn("assistant", "seven"))
    assert second.turns[2].role == "user"
    assert "'seven' is no number" in second.turns[2].text
    assert (bench.log.usable, bench.log.unusable) == (1, 0)
    assert [(e["attempt"], e["reply"], "problem" in e) for e in bench.log.entries] == [
        (0, "seven", True),
        (1, "7", False),
    ]
    assert sum(usage.calls for usage in bench.spent) == 2


async def test_the_firmer_reply_is_kept_under_the_first_prompt() -> None:
    """A killed run that goes on asks neither call again, and its evidence tells of both."""
    bench = Bench(["seven", "7"])
    await bench.ask()
    again = Bench([], bench.cache)
    assert await again.ask() == 7
    assert again.log.entries == bench.log.entries
    assert len(again.log.entries) == 2


async def test_a_doubted_reply_that_comes_again_is_told_the_same_when_it_is_kept() -> None:
    bench = Bench(["7", "seven"])
    assert await bench.ask(doubt=lambda value: f"{value} is odd") == 7
    again = Bench([], bench.cache)
    assert await again.ask(doubt=lambda value: f"{value} is odd") == 7
    assert [entry["problem"] for entry in again.log.entries] == ["7 is odd", "'seven' is no number"]
    assert again.log.entries == bench.log.entries


async def test_two_unusable_replies_are_none_and_not_kept() -> None:
    bench = Bench(["seven", "eight"])
    assert await bench.ask() is None
    assert len(bench.model.requests) == 2
    assert bench.cache.entries == {}
    assert (bench.log.usable, bench.log.unusable) == (0, 1)
    assert "'eight' is no number" in bench.log.last_problem
    assert await Bench(["9"], bench.cache).ask() == 9


async def test_a_reply_that_was_cut_off_is_not_read() -> None:
    """Half a number may look like a whole one."""
    bench = Bench([Reply("71", Usage(1), complete=False), "711"])
    assert await bench.ask() == 711
    assert "cut off" in bench.model.requests[1].turns[-1].text


async def test_an_empty_reply_can_be_quoted_back() -> None:
    """Providers refuse an empty assistant turn."""
    bench = Bench(["", "7"])
    assert await bench.ask() == 7
    assert all(turn.text for turn in bench.model.requests[1].turns)


@pytest.mark.parametrize("replies", [[ModelError("down")], ["seven", ModelError("down")]])
async def test_a_call_that_failed_ends_it_and_nothing_is_kept(replies: list[str | Exception]) -> None:
    bench = Bench(replies)
    with pytest.raises(ModelError, match="down"):
        await bench.ask()
    assert bench.cache.entries == {}


async def test_run_step_stage_and_prompt_name_a_call() -> None:
    bench = Bench(["1", "2", "3", "4", "5", "6"])
    other = replace(REQUEST, turns=(Turn("user", "Other attempts."),))
    found = [
        await bench.ask(),
        await bench.ask(run="r2"),
        await bench.ask(step=2),
        await bench.ask(stage="failure/2"),
        await bench.ask(request=other),
        await bench.ask(request=replace(REQUEST, system="Else.")),
        await bench.ask(),
    ]
    assert found == [1, 2, 3, 4, 5, 6, 1]


async def test_what_is_kept_but_no_longer_readable_is_asked_again() -> None:
    """Another version may read replies more strictly."""
    bench = Bench(["7"])
    await bench.ask()
    (key,) = bench.cache.entries
    bench.cache.entries[key] = '{"text": "seven"}'
    again = Bench(["8"], bench.cache)
    assert await again.ask() == 8
    assert (again.log.usable, again.log.unusable) == (1, 0)


EDITS = [Proposal(Edit("replace", "- a", name), 1, "failure", 0) for name in "xyz"]
BATCHES = [Minibatch("failure", 1, (optimizer.rollout("a", 0), optimizer.rollout("b", 0)))]


async def reflecting(asked: StepOptimizer) -> int:
    found = await reflect(asked, "# Rules\n", BATCHES, 4, Memory(), lambda _: None)
    return sum(p.support for p in found.proposals)


async def suggesting(asked: StepOptimizer) -> int:
    found = await suggest(asked, "# Rules\n", BATCHES, 4, Memory())
    return sum(p.support for p in found.proposals)


async def rating(asked: StepOptimizer) -> int:
    return (await autonomous_rate(EDITS, "# Rules\n", StepEvidence(2, "0", "0"), 2, asked)).edits


async def selecting(asked: StepOptimizer) -> int:
    return len((await select(EDITS, 2, "# Rules\n", asked)).chosen)


async def merging(asked: StepOptimizer) -> int:
    return (await aggregate(EDITS, "# Rules\n\n- a\n", asked, 8)).kept[0].support


NUMBERS = [
    "9" * 5000, "-" + "9" * 5000, "\u0663" * 5000, "e" + "9" * 5000, "1" + "0" * 4400 + ".0", "\u00b2",
    10**399, -(10**399), 10**4000, 1e300, -1, 0, [10**399], ["9" * 5000, 10**4000],
]  # fmt: skip


@pytest.mark.parametrize("stage", [reflecting, suggesting, rating, selecting, merging])
@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
async def test_no_number_of_a_reply_breaks_a_stage(
    tmp_path: Path, stage: Callable[[StepOptimizer], Awaitable[int]], number: Any
) -> None:
    """What a reply counts with is a model's word: it is bounded by what there is, whatever its size and form."""
    edit = {"op": "replace", "target": "- a", "content": "x", "support": number}
    reply = {
        "edits": [edit],
        "suggestions": [{"type": "add", "title": "t", "instruction": "i", "support": number}],
        "learning_rate": number,
        "selected": [number, *(number if isinstance(number, list) else [])],
    }
    bench = optimizer.Bench(tmp_path, [reply, reply])
    assert 0 <= await stage(bench.optimizer) <= 3
    assert len(bench.requests) >= 1
    again = await stage(bench.optimizer) if bench.log.usable else 0
    assert 0 <= again <= 3, "the kept reply is read as it was"
