"""Chat Completions by OpenAI's own SDK: what is sent, what is read, and parameters that a model refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support import server as say
from support.clients import ASK, opened
from support.server import Answer, Call, script, serve

from skillgit.errors import ModelError, ModelRefusedError
from skillgit.models.base import Request, Turn, Usage

pytestmark = pytest.mark.usefixtures("quick_retries")

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
NO_MAX_TOKENS = say.error(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    code="unsupported_parameter",
    param="max_tokens",
)
NO_TEMPERATURE = say.error(
    400,
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    code="unsupported_value",
    param="temperature",
)


def reasoning(call: Call) -> Answer:
    """A server whose model takes neither `max_tokens` nor `temperature`."""
    if "max_tokens" in call.body:
        return NO_MAX_TOKENS
    return NO_TEMPERATURE if "temperature" in call.body else Answer("4")


async def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("Add.", (Turn("user", "1 + 1?"), Turn("assistant", "2"), Turn("user", "2 + 2?")))
    with serve(lambda call: Answer("4")) as server:
        async with opened(monkeypatch, server, "openai") as model:
            await model.complete(request)
            await model.complete(replace(request, system=""))
        first, second = server.calls
    assert first.body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Add."},
            {"role": "user", "content": "1 + 1?"},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "2 + 2?"},
        ],
    }
    assert second.body["messages"] == first.body["messages"][1:]
    assert first.headers["authorization"] == "Bearer loopback-openai-key"


async def test_a_requests_own_max_tokens_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: Answer("4")) as server:
        async with opened(monkeypatch, server, "openai", temperature=0.0, max_tokens=100) as model:
            await model.complete(ASK)
            await model.complete(replace(ASK, max_tokens=7))
        sent = [(call.body["max_tokens"], call.body["temperature"]) for call in server.calls]
    assert sent == [(100, 0.0), (7, 0.0)]


async def test_reply_and_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lambda call: Answer("four", input_tokens=120, cached_tokens=100, output_tokens=3)) as server:
        async with opened(monkeypatch, server, "openai") as model:
            reply = await model.complete(ASK)
    assert (reply.text, reply.complete, reply.refused) == ("four", True, False)
    assert reply.usage == Usage(calls=1, input_tokens=120, cached_tokens=100, output_tokens=3)


async def test_refused_parameters_are_learned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(reasoning) as server:
        async with opened(monkeypatch, server, "openai", temperature=0.2, max_tokens=50) as model:
            assert (await model.complete(ASK)).text == "4"
            assert server.count == 3
            await model.complete(replace(ASK, max_tokens=9))
        assert server.count == 4
        last = server.calls[-1].body
    assert "temperature" not in last
    assert "max_tokens" not in last
    assert last["max_completion_tokens"] == 9


async def test_a_temperature_out_of_range_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = say.error(400, "temperature: must be between 0 and 1", param="temperature", code="invalid_value")
    with serve(lambda call: answer) as server:
        async with opened(monkeypatch, server, "openai", temperature=1.9) as model:
            with pytest.raises(ModelError, match="between 0 and 1"):
                await model.complete(ASK)
        assert server.count == 1


async def test_schema_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    open_schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with serve(lambda call: Answer('{"n": 4}')) as server:
        async with opened(monkeypatch, server, "openai") as model:
            await model.complete(replace(ASK, schema=SCHEMA))
            await model.complete(replace(ASK, schema=open_schema))
            await model.complete(replace(ASK, schema={"type": "array", "items": open_schema}))
            await model.complete(replace(ASK, schema={"type": "array", "items": SCHEMA}))
        formats = [call.body["response_format"] for call in server.calls]
    assert formats[0] == {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
    assert [form["json_schema"]["strict"] for form in formats] == [True, False, False, True]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_without_schemas_is_asked_without(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    def responder(call: Call) -> Answer:
        return say.error(status, "extra keys") if "response_format" in call.body else Answer("{}")

    with serve(responder) as server:
        async with opened(monkeypatch, server, "openai") as model:
            for _ in range(2):
                assert (await model.complete(replace(ASK, schema=SCHEMA))).text == "{}"
        assert server.count == 3


async def test_another_400_does_not_cost_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    def responder(call: Call) -> Answer:
        return say.error(400, "context length exceeded") if call.index < 2 else Answer("{}")

    with serve(responder) as server:
        async with opened(monkeypatch, server, "openai") as model:
            with pytest.raises(ModelError, match="context length"):
                await model.complete(replace(ASK, schema=SCHEMA))
            await model.complete(replace(ASK, schema=SCHEMA))
        assert "response_format" in server.calls[-1].body


def completion(**choice: Any) -> Answer:
    """A completion with one choice that is given whole."""
    return Answer(body=json.dumps({"choices": [choice]}).encode())


@pytest.mark.parametrize(
    ("answer", "text", "complete", "refused"),
    [
        (completion(message={"content": "x"}), "x", True, False),
        (completion(message={"content": "x"}, finish_reason=None), "x", True, False),
        (completion(message={"content": [{"type": "text", "text": "a"}, {"text": "b"}, 7]}), "ab", True, False),
        (completion(message={"content": ""}, finish_reason="content_filter"), "", True, True),
        (completion(message={"content": "part"}, finish_reason="content_filter"), "part", True, True),
        (completion(message={"content": None, "refusal": "no"}, finish_reason="stop"), "no", True, True),
        (completion(message={"content": None}, finish_reason="stop"), "", True, False),
    ],
)
async def test_replies_of_compatible_servers(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, text: str, complete: bool, refused: bool
) -> None:
    with serve(script(answer)) as server:
        async with opened(monkeypatch, server, "openai") as model:
            reply = await model.complete(ASK)
    assert (reply.text, reply.complete, reply.refused) == (text, complete, refused)
    assert reply.usage == Usage(calls=1)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (completion(message={"content": ""}), "finish_reason None"),
        (completion(message={"content": None}, finish_reason="tool_calls"), "finish_reason 'tool_calls'"),
        (completion(finish_reason="stop"), "without choices"),
        (Answer(body=b'{"error": {"message": "upstream is gone"}}'), "upstream is gone"),
    ],
)
async def test_replies_that_are_none(monkeypatch: pytest.MonkeyPatch, answer: Answer, said: str) -> None:
    with serve(script(answer)) as server:
        async with opened(monkeypatch, server, "openai") as model:
            with pytest.raises(ModelError, match=said):
                await model.complete(ASK)


async def test_unknown_model_by_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(script(say.error(400, "no model of that name", code="model_not_found"))) as server:
        async with opened(monkeypatch, server, "openai") as model:
            with pytest.raises(ModelRefusedError, match="the model's name"):
                await model.complete(ASK)
