"""Models of both hosted protocols, opened against a loopback server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from support.server import Server

from skillgit.config import Limits, ModelSettings
from skillgit.models.base import Request, Turn
from skillgit.models.steady import SteadyModel

Protocol = Literal["openai", "anthropic"]
PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")
KEY_VARIABLE = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
URL_VARIABLE = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
ASK = Request(system="You add numbers.", turns=(Turn("user", "2 + 2?"),))


def model_of(
    protocol: Protocol,
    *,
    timeout_s: float = 10.0,
    in_flight: int = 16,
    max_retries: int | None = None,
    **settings: Any,
) -> SteadyModel:
    """A model that the environment's variables point at a server, as the registry opens it."""
    from skillgit.models.anthropic import AnthropicModel
    from skillgit.models.openai import OpenAIModel

    backend = OpenAIModel if protocol == "openai" else AnthropicModel
    chosen = ModelSettings(model=f"{protocol}/test-model", **settings)
    options = {} if max_retries is None else {"max_retries": max_retries}
    limits = Limits(timeout_s=timeout_s, in_flight=in_flight)
    return SteadyModel(backend(chosen, limits, **options), limits)


@contextlib.asynccontextmanager
async def opened(
    patch: pytest.MonkeyPatch, server: Server, protocol: Protocol, **options: Any
) -> AsyncIterator[SteadyModel]:
    """A model of the protocol against the server, closed at the end."""
    for name, value in server.env().items():
        patch.setenv(name, value)
    model = model_of(protocol, **options)
    try:
        yield model
    finally:
        await model.close()
