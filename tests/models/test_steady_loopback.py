"""A steady model by the real SDKs against a loopback server: what is sent, how often, and what is counted."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from support import server as say
from support.clients import ASK, PROTOCOLS, Protocol, opened
from support.server import Answer, Call, script, serve

from skillgit.models.base import Usage

both = pytest.mark.parametrize("protocol", PROTOCOLS)
pytestmark = pytest.mark.usefixtures("quick_retries")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes half a second hangs."""
    monkeypatch.setattr("skillgit.models.steady.patience_s", lambda latencies: 0.5)
    monkeypatch.setattr("skillgit.models.steady._LOOK_S", 0.02)


@both
@pytest.mark.usefixtures("impatient")
async def test_a_hanging_call_is_sent_once_more_and_counted_once(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    answer = Answer("4", input_tokens=10, output_tokens=2)
    start = time.monotonic()
    with serve(script(answer, answer, say.hang(), answer)) as server:
        async with opened(monkeypatch, server, protocol, timeout_s=60) as model:
            replies = [await model.complete(ASK) for _ in range(4)]
        assert server.count == 5
        assert server.calls[2].body == server.calls[3].body
    assert time.monotonic() - start < 30
    assert [reply.usage for reply in replies] == [Usage(1, 10, 0, 2)] * 4
    assert (model.hedges, model.limiter.held) == (1, 0)


@both
async def test_a_random_fifth_of_429_fails_no_call(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    draw = random.Random(5)
    refused = {number for number in range(1000) if draw.random() < 0.2}

    def responder(call: Call) -> Answer:
        return say.error(429, "slow down") if call.index in refused else Answer("4")

    with serve(responder) as server:
        async with opened(monkeypatch, server, protocol) as model:
            replies = await asyncio.gather(*(model.complete(ASK) for _ in range(200)))
        tries = server.count
    assert {reply.text for reply in replies} == {"4"}
    assert model.overloads == tries - 200 == len([number for number in refused if number < tries]) > 20
    assert sum((reply.usage for reply in replies), Usage()).calls == 200


@both
async def test_a_date_is_waited_for(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    # A date has whole seconds.
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    busy = say.error(529, "overloaded", retry_after=format_datetime(until, usegmt=True))
    with serve(script(busy, Answer("4"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            assert (await model.complete(ASK)).text == "4"
        assert server.count == 2
    assert datetime.now(UTC) >= until - timedelta(milliseconds=10)


@both
async def test_the_limit_falls_and_comes_back(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    def responder(call: Call) -> Answer:
        return say.error(503, "overloaded") if call.index < 40 else Answer("4")

    with serve(responder) as server:
        async with opened(monkeypatch, server, protocol, in_flight=8) as model:
            await asyncio.gather(*(model.complete(ASK) for _ in range(8)))
            fell = model.limiter.limit
            for _ in range(80):
                await model.complete(ASK)
    assert fell < 8
    assert model.limiter.limit == 8
    assert model.in_flight == 8
