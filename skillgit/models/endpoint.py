"""What the hosted protocols share: where calls go, how long they may take, and how a failure is said in one line."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from skillgit.errors import ConfigError, ModelError, ModelRefusedError, OverloadedError
from skillgit.models.base import Json
from skillgit.redact import redact

MAX_RETRIES = 4
"""Retries of the SDK after 5xx, timeouts and cut connections, 0.5 s to 8 s apart: about 7 s in all."""

OVERLOADED = (429, 503, 529)
"""Too much to do: not retried by the SDK but by `skillgit.models.steady`, which asks for less meanwhile."""

LONGEST_WAIT_S = 60.0
"""A server that asks for a longer wait than this (`retry-after`) is not waited for."""

CONNECT_S = 10.0
_QUOTE = 200
_LATER = "x-skillgit-later"

AGAIN = "run the same command again, nothing is lost"
# Words by which servers say that they do not take a parameter at all, as against a value out of range.
_UNSUPPORTED = re.compile(
    r"support|deprecat|only the default|only be set|not allowed|not permitted|unrecogni|unexpected"
)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error reply's body, whatever shape the server gave it. All parts may be empty."""

    message: str = ""
    code: str = ""
    parameter: str = ""

    @property
    def unsupported(self) -> bool:
        """It is a parameter or its value that the model does not take."""
        return bool(_UNSUPPORTED.search(f"{self.code} {self.message}".lower()))


def problem_of(body: object) -> Problem:
    """Read an error body: `{"error": {"message", "code" | "type", "param"}}`, its inner part, or plain text."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, str):
        return Problem(message=inner)
    if not isinstance(inner, Mapping):
        return Problem()
    message = inner.get("message", inner.get("detail", ""))
    code, parameter = inner.get("code") or inner.get("type"), inner.get("param")
    return Problem(
        message if isinstance(message, str) else json.dumps(message),
        code if isinstance(code, str) else "",
        parameter if isinstance(parameter, str) else "",
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model's calls go.

    Args:
        model: `provider/model`, as configured.
        url: the base URL, shown without user name, password and query.
        url_variable, key_variable: the environment variables that a person would mend.
        key: never shown; cut out of everything that a server says.
    """

    model: str
    url: str
    url_variable: str
    key_variable: str
    key: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        """Host and path: what tells one server from another in settings and cache keys."""
        return redact(self.url.partition("://")[2].rstrip("/"))

    def failed(self, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
        """The error for a reply with a status other than 200, after the SDK's retries.

        Args:
            body: as the SDK read it.
        """
        wait_s = asked_wait_s(headers)
        error = self.status(status, problem_of(body), wait_s)
        if type(error) is not ModelError or _LATER not in headers:
            return error
        return OverloadedError(error.message, mend=error.mend, wait_s=wait_s)

    def status(self, status: int, problem: Problem, wait_s: float | None = None) -> ModelError:
        """The same from what was read already.

        Args:
            wait_s: the wait that the server asked for.
        """
        quote = self.quote(problem.message)
        message = f"{self.model}: {status} from {self.url}" + (f": {quote}" if quote else "")
        if status == 401:
            return ModelRefusedError(message, mend=f"check {self.key_variable}")
        if status == 403:
            return ModelRefusedError(message, mend=f"give the key of {self.key_variable} access to this model")
        if status == 404 or problem.code == "model_not_found":
            return ModelRefusedError(message, mend=f"check the model's name and {self.url_variable}")
        if status == 402 or problem.code == "insufficient_quota":
            return ModelRefusedError(message, mend="check the account's credit, then " + AGAIN)
        if status == 429:
            wait = f"wait {wait_s:.0f} s" if wait_s and wait_s > LONGEST_WAIT_S else "wait, or lower limits.in_flight"
            return ModelError(message, mend=f"{wait}, then {AGAIN}")
        if status >= 500 or status in (408, 409):
            return ModelError(message, mend=f"wait, then {AGAIN}")
        return ModelError(message, mend="check the model's settings (temperature, max_tokens) and the prompt's length")

    def timeout(self, seconds: float) -> ModelError:
        """The error for a call that had no answer in time."""
        message = f"{self.model}: no answer from {self.url} within {seconds:g} s"
        return ModelError(message, mend=f"check the server, or raise limits.timeout_s, then {AGAIN}")

    def unreachable(self, cause: BaseException | None) -> ModelError:
        """The error for a connection that was refused or cut, after the retries."""
        why = self.quote(str(cause) if cause is not None else "")
        message = f"{self.model}: the connection to {self.url} failed" + (f": {why}" if why else "")
        return ModelError(message, mend=f"check {self.url_variable} and the network, then {AGAIN}")

    def unusable(self, what: str) -> ModelError:
        """The error for a reply with status 200 that is not what the protocol says."""
        return ModelError(f"{self.model}: {self.url} sent {what}", mend=f"check {self.url_variable}, then {AGAIN}")

    def cut_off(self) -> ModelError:
        """The error for a reply that reached the token limit before its first word."""
        message = f"{self.model}: {self.url} used up max_tokens before the reply began"
        return ModelError(message, mend="raise the model's max_tokens in skillgit.yaml")

    def parse(self, content: bytes) -> Mapping[str, Json]:
        """Parse a reply's body.

        Raises:
            ModelError: it is not a JSON object.
        """
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            raise self.unusable("a reply that is not valid JSON") from None
        if not isinstance(value, dict):
            raise self.unusable("a reply that is not a JSON object")
        return value

    def quote(self, text: str) -> str:
        """What a server said, on one line, without secrets."""
        # A stand-in key ("any", "none") may be part of ordinary words.
        if len(self.key) >= 8:
            text = text.replace(self.key, "[key]")
        return redact(" ".join(text.split()), limit=_QUOTE)


def read_endpoint(model: str, url_variable: str, key_variable: str, default_url: str) -> Endpoint:
    """The endpoint that the environment names, checked before the first call.

    Raises:
        ConfigError: the base URL is none.
        ModelRefusedError: the key has characters that cannot be sent.
    """
    raw = os.environ.get(url_variable, default_url)
    try:
        parts = urlsplit(raw)
        host = parts.hostname
        port = parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not raw.isprintable() or " " in raw:
        raise ConfigError(f"{url_variable} is not a URL", mend=f"set it to one like {default_url}, or unset it")
    shown_host = f"[{host}]" if ":" in host else host
    netloc = shown_host if port is None else f"{shown_host}:{port}"
    url = redact(urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", "")))
    key = os.environ.get(key_variable, "")
    if not key.isascii() or not key.isprintable() or key != key.strip():
        message = f"{model}: {key_variable} has spaces or characters that no key has"
        raise ModelRefusedError(message, mend="set it again, without quotes or line ends")
    return Endpoint(model, url, url_variable, key_variable, key)


def missing_key(endpoint: Endpoint, why: str = "") -> ModelRefusedError:
    """The error for an endpoint without a key.

    Args:
        why: what the SDK says about other credentials that it found.
    """
    said = f": {endpoint.quote(why)}" if why else ""
    mend = f"set {endpoint.key_variable} (to any word where the server at {endpoint.url_variable} asks for no key)"
    return ModelRefusedError(f"{endpoint.model}: {endpoint.key_variable} is not set{said}", mend=mend)


def deadline_s(timeout_s: float) -> float:
    """The most seconds that a call may take, its retries and waits included."""
    return 3 * timeout_s + LONGEST_WAIT_S


def asked_wait_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait: a number or a date (RFC 9110, 10.2.3), not below 0; None if it asks for none.

    Args:
        now: what a date is compared with; the time of day by default.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        when = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


async def hurry(response: Any) -> None:
    """A hook of the HTTP client: keeps the SDK from retrying what is not its own to retry.

    That is an overload, marked for `Endpoint.failed` unless the server says itself that a retry is of no use, and
    whatever asks for a `retry-after` beyond LONGEST_WAIT_S.
    """
    wait = asked_wait_s(response.headers)
    overloaded = response.status_code in OVERLOADED
    if overloaded and response.headers.get("x-should-retry") != "false":
        response.headers[_LATER] = "true"
    if overloaded or (wait is not None and wait > LONGEST_WAIT_S):
        response.headers["x-should-retry"] = "false"


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: JSON escapes can bring in half a surrogate pair, which becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole(value: object) -> int:
    """A token count as the server gave it; 0 where it gave none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
