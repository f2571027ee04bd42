"""Messages by Anthropic's own SDK: what is sent and what is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import server as say
from support.clients import ASK, model_of, opened
from support.server import Answer, Call, script, serve

from skillgit.errors import ModelError, ModelRefusedError
from skillgit.models.base import Request, Turn, Usage

pytestmark = pytest.mark.usefixtures("quick_retries")


async def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (Turn("user", "1 + 1?"), Turn("assistant", "2"), Turn("user", "2 + 2?"))
    with serve(lambda call: Answer("4")) as server:
        async with opened(monkeypatch, server, "anthropic") as model:
            await model.complete(Request("Add.", turns, schema={"type": "object"}))
            await model.complete(Request(" \n", turns))
        first, second = server.calls
    assert first.body == {
        "model": "test-model",
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "Add.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "1 + 1?"},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "2 + 2?"},
        ],
    }
    # The protocol takes no blank text.
    assert "system" not in second.body
    assert "loopback-anthropic-key" in first.headers.get("authorization", "") + first.headers.get("x-api-key", "")


async def test_a_requests_own_max_tokens_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: Answer("4")) as server:
        async with opened(monkeypatch, server, "anthropic", max_tokens=100_000) as model:
            await model.complete(ASK)
            await model.complete(replace(ASK, max_tokens=7))
        assert [call.body["max_tokens"] for call in server.calls] == [100_000, 7]


async def test_reply_and_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer("four", input_tokens=1120, cached_tokens=1000, written_tokens=100, output_tokens=3)
    with serve(lambda call: answer) as server:
        async with opened(monkeypatch, server, "anthropic") as model:
            reply = await model.complete(ASK)
    assert (reply.text, reply.complete, reply.refused) == ("four", True, False)
    # 20 fresh + 100 written + 1000 read
    assert reply.usage == Usage(calls=1, input_tokens=1120, cached_tokens=1000, output_tokens=3)


@pytest.mark.parametrize(
    "message",
    [
        "temperature: Extra inputs are not permitted",
        "`temperature` may only be set to 1 when thinking is enabled.",
        "`temperature` is deprecated for this model.",
    ],
)
async def test_a_refused_temperature_is_learned_once(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    def responder(call: Call) -> Answer:
        return say.error(400, message) if "temperature" in call.body else Answer("4")

    with serve(responder) as server:
        async with opened(monkeypatch, server, "anthropic", temperature=0.2) as model:
            assert (await model.complete(ASK)).text == "4"
            assert server.calls[0].body["temperature"] == 0.2
            await model.complete(ASK)
        assert server.count == 3


async def test_a_temperature_out_of_range_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(script(say.error(400, "temperature: range: 0..1"))) as server:
        async with opened(monkeypatch, server, "anthropic", temperature=1.9) as model:
            with pytest.raises(ModelError, match=r"range: 0\.\.1"):
                await model.complete(ASK)
        assert server.count == 1


def message(*content: Any, **rest: Any) -> Answer:
    """A message with the given blocks."""
    return Answer(body=json.dumps({"content": list(content), **rest}).encode())


async def test_only_text_blocks_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = ({"type": "thinking", "thinking": "2 + 2", "text": "no"}, {"type": "text", "text": "fo"}, 7)
    answer = message(*blocks, {"type": "text", "text": "ur"}, stop_reason="end_turn")
    with serve(script(answer)) as server:
        async with opened(monkeypatch, server, "anthropic") as model:
            reply = await model.complete(ASK)
    assert reply.text == "four"
    assert reply.usage == Usage(calls=1)


async def test_context_window_counts_as_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(script(message({"type": "text", "text": "4"}, stop_reason="model_context_window_exceeded"))) as server:
        async with opened(monkeypatch, server, "anthropic") as model:
            assert not (await model.complete(ASK)).complete


@pytest.mark.parametrize("reason", ["pause_turn", "tool_use", None])
async def test_empty_without_being_complete(monkeypatch: pytest.MonkeyPatch, reason: str | None) -> None:
    with serve(script(message(stop_reason=reason))) as server:
        async with opened(monkeypatch, server, "anthropic") as model:
            with pytest.raises(ModelError, match="does not call complete"):
                await model.complete(ASK)


def test_a_profile_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    with pytest.raises(ModelRefusedError, match="ANTHROPIC_API_KEY is not set: ") as caught:
        model_of("anthropic")
    assert "\n" not in str(caught.value)


async def test_a_token_instead_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(script(Answer("4"))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")
        model = model_of("anthropic")
        assert (await model.complete(ASK)).text == "4"
        await model.close()
        assert server.calls[0].headers["authorization"] == "Bearer a-token"
