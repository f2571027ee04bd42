"""`anthropic/<model>`: Messages through Anthropic's SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import anthropic

from skillgit.config import Limits, ModelSettings
from skillgit.models.base import Json, Reply, Request, Usage
from skillgit.models.endpoint import (
    CONNECT_S,
    MAX_RETRIES,
    Endpoint,
    deadline_s,
    hurry,
    missing_key,
    problem_of,
    read_endpoint,
    well_formed,
    whole,
)

_DEFAULT_URL = "https://api.anthropic.com"
_DEFAULT_MAX_TOKENS = 4096
"""The protocol asks for a limit; this one holds any reply that training asks for."""

_CUT = ("max_tokens", "model_context_window_exceeded")
_COMPLETE = ("end_turn", "stop_sequence")


class AnthropicModel:
    """A model behind Messages. A request's `schema` is not sent: prompts ask for the form in words.

    Raises:
        ConfigError: ANTHROPIC_BASE_URL is none.
        ModelRefusedError: no key.
    """

    def __init__(self, settings: ModelSettings, limits: Limits, *, max_retries: int = MAX_RETRIES) -> None:
        self._settings = settings
        self._limits = limits
        self._model = settings.model.partition("/")[2]
        self._endpoint = read_endpoint(settings.model, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", _DEFAULT_URL)
        timeout = anthropic.Timeout(limits.timeout_s, connect=min(CONNECT_S, limits.timeout_s))
        self._http = anthropic.DefaultAsyncHttpxClient(timeout=timeout, event_hooks={"response": [hurry]})
        try:
            self._client = anthropic.AsyncAnthropic(timeout=timeout, max_retries=max_retries, http_client=self._http)
        except anthropic.AnthropicError as error:  # a profile on disk that cannot be used
            raise missing_key(self._endpoint, str(error)) from None
        if not _has_credentials(self._client):
            raise missing_key(self._endpoint)
        self._create = self._client.messages.with_raw_response.create
        self._without_temperature = False

    @property
    def name(self) -> str:
        """`anthropic/<model>`."""
        return self._settings.model

    @property
    def settings(self) -> Mapping[str, Json]:
        """What changes replies."""
        return {
            "endpoint": self._endpoint.place,
            "max_tokens": self._settings.max_tokens or _DEFAULT_MAX_TOKENS,
            "temperature": self._settings.temperature,
        }

    @property
    def in_flight(self) -> int:
        """As configured under `limits`."""
        return self._limits.in_flight

    async def complete(self, request: Request) -> Reply:
        """Answer; see `skillgit.models.base.Model`."""
        without = self._without_temperature
        while True:
            body = self._body(request, without)
            try:
                content = await self._send(body)
            except anthropic.BadRequestError as error:
                problem = problem_of(error.body)
                if not ("extra_body" in body and "temperature" in problem.message and problem.unsupported):
                    raise self._endpoint.status(error.status_code, problem) from None
                without = True
            else:
                self._without_temperature |= without
                return _reply(self._endpoint, self._endpoint.parse(content))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _body(self, request: Request, without_temperature: bool) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens or self._settings.max_tokens or _DEFAULT_MAX_TOKENS,
            "messages": [{"role": turn.role, "content": well_formed(turn.text)} for turn in request.turns],
        }
        # The document stands in the system prompt: the same bytes for every task, so the provider may keep them.
        if request.system.strip():
            body["system"] = [
                {"type": "text", "text": well_formed(request.system), "cache_control": {"type": "ephemeral"}}
            ]
        # No argument of the SDK: API version 2026-10-21 took it away, servers that speak the older one still know it.
        if self._settings.temperature is not None and not without_temperature:
            body["extra_body"] = {"temperature": self._settings.temperature}
        return body

    async def _send(self, body: dict[str, Any]) -> bytes:
        """The body of a reply with status 200.

        Raises:
            anthropic.BadRequestError: the caller may mend it.
            OverloadedError: the same call may succeed later; nothing was retried.
            ModelError: all other failures.
        """
        longest = deadline_s(self._limits.timeout_s)
        try:
            async with asyncio.timeout(longest):
                raw = await self._create(**body)
        except anthropic.BadRequestError:
            raise
        except anthropic.APIStatusError as error:
            raise self._endpoint.failed(error.status_code, error.body, error.response.headers) from None
        except anthropic.APITimeoutError:
            raise self._endpoint.timeout(self._limits.timeout_s) from None
        except anthropic.APIConnectionError as error:
            raise self._endpoint.unreachable(error.__cause__) from None
        except anthropic.AnthropicError as error:
            raise self._endpoint.unreachable(error) from None
        except TimeoutError:
            raise self._endpoint.timeout(longest) from None
        content: bytes = raw.http_response.content
        return content


def _has_credentials(client: anthropic.AsyncAnthropic) -> bool:
    """A key, a token, a profile on disk, or headers of the person's own: whatever the SDK takes."""
    headers = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").lower()
    own = "authorization" in headers or "x-api-key" in headers
    return bool(client.api_key or client.auth_token or client.credentials or own)


def _reply(endpoint: Endpoint, data: Mapping[str, Json]) -> Reply:
    """Read a message (API reference: Messages). Thinking blocks are left out.

    Raises:
        ModelError: there is no content, or its text is empty and the server did not say that it is complete.
    """
    blocks = data.get("content")
    if not isinstance(blocks, list):
        raise endpoint.unusable("a reply without content")
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping) and block.get("type") == "text"]
    text = "".join(part for part in texts if isinstance(part, str))
    reason = data.get("stop_reason")
    refused = reason == "refusal"
    if not text and reason in _CUT:
        raise endpoint.cut_off()
    if not text and reason not in _COMPLETE and not refused:
        raise endpoint.unusable(f"an empty reply that it does not call complete (stop_reason {reason!r})")
    return Reply(well_formed(text), _usage(data.get("usage")), complete=reason not in _CUT, refused=refused)


def _usage(data: Json) -> Usage:
    """Anthropic counts what was read from and written to its cache apart from `input_tokens`."""
    if not isinstance(data, Mapping):
        return Usage(calls=1)
    cached = whole(data.get("cache_read_input_tokens"))
    fresh = whole(data.get("input_tokens")) + whole(data.get("cache_creation_input_tokens"))
    return Usage(1, fresh + cached, cached, whole(data.get("output_tokens")))
