"""What every model backend is: a request in, a reply with its usage out.

Nothing here imports a provider's SDK, so that the command line starts fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = Any
"""A value that `json` can write: typed as Any, since recursive JSON types hinder more than they help."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counts them. `input_tokens` includes `cached_tokens`."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
        )

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One call.

    Args:
        system: the system prompt; stable bytes first, so that prefix caches help. May be empty.
        turns: the conversation so far; the last one is the user's.
        max_tokens: the most the reply may have; None leaves it to the model's own settings.
        schema: a JSON schema that the reply has to satisfy, for backends that can constrain it;
            others ignore it, so the prompt has to ask for the form in words as well.
    """

    system: str
    turns: tuple[Turn, ...]
    max_tokens: int | None = None
    schema: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    `complete` is False where the provider says that the reply was cut off by the token limit.
    `refused` is True where the provider says that the model declined.
    An empty text is only ever returned when the server said that the reply is complete.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    complete: bool = True
    refused: bool = False


class Model(Protocol):
    """A backend bound to one model and its settings. Safe for concurrent calls within one event loop."""

    @property
    def name(self) -> str:
        """`provider/model`, as written in the configuration."""

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that changes replies (temperature, max_tokens, weights' digest, …), as plain JSON; no secrets."""

    @property
    def in_flight(self) -> int:
        """The most calls that make sense at once."""

    async def complete(self, request: Request) -> Reply:
        """Answer.

        Raises:
            ModelRefusedError: a wrong key, no permission, an unknown model: stop.
            ModelError: failed after the retries.
        """

    async def close(self) -> None:
        """Give connections and memory back."""
