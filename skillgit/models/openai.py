"""`openai/<model>`: Chat Completions through OpenAI's SDK, for OpenAI itself and every server that speaks it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import openai

from skillgit.config import Limits, ModelSettings
from skillgit.errors import ModelError
from skillgit.models.base import Json, Reply, Request, Usage
from skillgit.models.endpoint import (
    CONNECT_S,
    MAX_RETRIES,
    Endpoint,
    Problem,
    deadline_s,
    hurry,
    missing_key,
    problem_of,
    read_endpoint,
    well_formed,
    whole,
)

_DEFAULT_URL = "https://api.openai.com/v1"


class OpenAIModel:
    """A model behind Chat Completions.

    Parameters that a model refuses are learned from its 400 and then sent as it takes them: `max_tokens` becomes
    `max_completion_tokens`, `temperature` and `response_format` are left out.

    Raises:
        ConfigError: OPENAI_BASE_URL is none.
        ModelRefusedError: no key.
    """

    def __init__(self, settings: ModelSettings, limits: Limits, *, max_retries: int = MAX_RETRIES) -> None:
        self._settings = settings
        self._limits = limits
        self._model = settings.model.partition("/")[2]
        self._endpoint = read_endpoint(settings.model, "OPENAI_BASE_URL", "OPENAI_API_KEY", _DEFAULT_URL)
        if not self._endpoint.key:
            raise missing_key(self._endpoint)
        timeout = openai.Timeout(limits.timeout_s, connect=min(CONNECT_S, limits.timeout_s))
        self._http = openai.DefaultAsyncHttpxClient(timeout=timeout, event_hooks={"response": [hurry]})
        self._client = openai.AsyncOpenAI(timeout=timeout, max_retries=max_retries, http_client=self._http)
        self._create = self._client.chat.completions.with_raw_response.create
        self._refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """`openai/<model>`."""
        return self._settings.model

    @property
    def settings(self) -> Mapping[str, Json]:
        """What changes replies."""
        return {
            "endpoint": self._endpoint.place,
            "max_tokens": self._settings.max_tokens,
            "temperature": self._settings.temperature,
        }

    @property
    def in_flight(self) -> int:
        """As configured under `limits`."""
        return self._limits.in_flight

    async def complete(self, request: Request) -> Reply:
        """Answer; see `skillgit.models.base.Model`."""
        refused = self._refused
        while True:
            body = self._body(request, refused)
            try:
                content = await self._send(body)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                problem = problem_of(error.body)
                parameter = _refused_parameter(problem, body)
                if parameter is None:
                    raise self._endpoint.status(error.status_code, problem) from None
                refused |= {parameter}
            else:
                # Remembered only now: a 400 that stays without the parameter was about something else.
                self._refused |= refused
                return _reply(self._endpoint, self._endpoint.parse(content))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _body(self, request: Request, refused: frozenset[str]) -> dict[str, Any]:
        messages = [{"role": "system", "content": well_formed(request.system)}] if request.system else []
        messages += [{"role": turn.role, "content": well_formed(turn.text)} for turn in request.turns]
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        most = request.max_tokens or self._settings.max_tokens
        if most is not None:
            body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = most
        if self._settings.temperature is not None and "temperature" not in refused:
            body["temperature"] = self._settings.temperature
        if request.schema is not None and "response_format" not in refused:
            named = {"name": "reply", "schema": dict(request.schema), "strict": _is_strict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    async def _send(self, body: dict[str, Any]) -> bytes:
        """The body of a reply with status 200.

        Raises:
            openai.BadRequestError, openai.UnprocessableEntityError: the caller may mend these.
            OverloadedError: the same call may succeed later; nothing was retried.
            ModelError: all other failures.
        """
        longest = deadline_s(self._limits.timeout_s)
        try:
            async with asyncio.timeout(longest):
                raw = await self._create(**body)
        except (openai.BadRequestError, openai.UnprocessableEntityError):
            raise
        except openai.APIStatusError as error:
            raise self._endpoint.failed(error.status_code, error.body, error.response.headers) from None
        except openai.APITimeoutError:
            raise self._endpoint.timeout(self._limits.timeout_s) from None
        except openai.APIConnectionError as error:
            raise self._endpoint.unreachable(error.__cause__) from None
        except openai.OpenAIError as error:
            raise self._endpoint.unreachable(error) from None
        except TimeoutError:
            raise self._endpoint.timeout(longest) from None
        content: bytes = raw.http_response.content
        return content


def _refused_parameter(problem: Problem, body: Mapping[str, Any]) -> str | None:
    """Which parameter of the body a 400 is about, by the server's own words; None: it cannot be mended here."""
    said = f"{problem.parameter} {problem.message}"
    if "max_tokens" in body and ("max_completion_tokens" in said or ("max_tokens" in said and problem.unsupported)):
        return "max_tokens"
    if "temperature" in body and "temperature" in said and problem.unsupported:
        return "temperature"
    # Servers that cannot constrain replies say so in many ways, so this one is tried without being named.
    return "response_format" if "response_format" in body else None


def _is_strict(schema: Json) -> bool:
    """OpenAI's rule for `strict`: every object names all its properties as required and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        closed = schema.get("additionalProperties") is False
        return (
            closed and set(schema.get("required", ())) == set(properties) and all(map(_is_strict, properties.values()))
        )
    return all(_is_strict(value) for value in schema.values())


def _reply(endpoint: Endpoint, data: Mapping[str, Json]) -> Reply:
    """Read a chat completion (API reference: chat completion object).

    Raises:
        ModelError: there is no choice, or its text is empty and the server did not say that it is complete.
    """
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise _no_choice(endpoint, data)
    reason = choice.get("finish_reason")
    declined = message.get("refusal")
    refused = reason == "content_filter" or bool(declined)
    text = _text(message.get("content")) or (declined if isinstance(declined, str) else "")
    if not text and reason == "length":
        raise endpoint.cut_off()
    if not text and reason != "stop" and not refused:
        raise endpoint.unusable(f"an empty reply that it does not call complete (finish_reason {reason!r})")
    return Reply(well_formed(text), _usage(data.get("usage")), complete=reason != "length", refused=refused)


def _no_choice(endpoint: Endpoint, data: Mapping[str, Json]) -> ModelError:
    # Some gateways answer 200 and put the error into the body.
    if data.get("error"):
        return endpoint.status(200, problem_of(data))
    return endpoint.unusable("a reply without choices")


def _text(content: Json) -> str:
    """A message's text; some servers send it as a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(data: Json) -> Usage:
    if not isinstance(data, Mapping):
        return Usage(calls=1)
    details = data.get("prompt_tokens_details")
    cached = whole(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    return Usage(1, whole(data.get("prompt_tokens")), cached, whole(data.get("completion_tokens")))
