"""The embedded model: a GGUF file run in this process by xllamacpp, one call at a time, temperature 0.

Replies repeat for one order of calls, one thread count and one version of the runtime; all three but the order are
in `settings`. They may differ between orders, since the prompt's cached prefix changes how the rest is computed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from skillgit.config import ModelSettings
from skillgit.errors import ConfigError, ModelError, ModelUnavailableError
from skillgit.models import local_runtime, weights
from skillgit.models.base import Json, Reply, Request
from skillgit.models.digests import remember, remembered, sha256_of

THREADS, CONTEXT = 2, 8192
MAX_TOKENS = 512
"""The most tokens of a reply where neither the request nor the configuration says."""


class LocalModel:
    """A model on a loaded runtime, which it may share with others of the same weights. Made by `open_local`."""

    in_flight = 1

    def __init__(self, name: str, settings: ModelSettings, digest: str, server: local_runtime.Server) -> None:
        self.name = name
        self._server = server
        self._max_tokens = settings.max_tokens or MAX_TOKENS
        self._temperature = settings.temperature or 0.0
        self._digest = digest
        self._calls = 0
        self._closed = False

    @property
    def settings(self) -> Mapping[str, Json]:
        """All that changes replies."""
        return {
            "weights": f"sha256:{self._digest}",
            "runtime": f"xllamacpp {local_runtime.version()}",
            "threads": self._server.threads,
            "context": self._server.context,
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
        }

    async def complete(self, request: Request) -> Reply:
        """Answer, after the calls that came before.

        Raises:
            ModelError: the prompt is longer than the context, or the runtime refused it.
        """
        if self._closed:
            raise ModelError(f"{self.name}: already closed")
        stop = threading.Event()
        body = self._body(request)
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._server.executor, self._server.answer, body, stop)
        except asyncio.CancelledError:
            # The thread sees it at the next token, or at the next 256 tokens of the prompt.
            stop.set()
            raise
        return local_runtime.reply_of(answer, self.name)

    async def close(self) -> None:
        """Give the memory back, once nobody else uses the same weights."""
        if not self._closed:
            self._closed = True
            local_runtime.release(self._server)

    def _body(self, request: Request) -> dict[str, Json]:
        system = [{"role": "system", "content": _sendable(request.system)}] if request.system else []
        turns = [{"role": turn.role, "content": _sendable(turn.text)} for turn in request.turns]
        body: dict[str, Json] = {
            "messages": system + turns,
            "max_tokens": request.max_tokens or self._max_tokens,
            "temperature": self._temperature,
            "cache_prompt": True,
        }
        if self._temperature:
            # Trials of one task differ from each other, and a run in one order repeats.
            body["seed"] = self._calls
            self._calls += 1
        if request.schema is not None:
            form = {"name": "reply", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body


def open_local(
    spec: str,
    settings: ModelSettings,
    *,
    yes: bool = False,
    say: Callable[[str], None] | None = None,
    ask: weights.Ask = weights.ask_person,
    root: Path | None = None,
) -> LocalModel:
    """Load a model; weights that skillgit knows are fetched on first use.

    Args:
        spec: `local/<known name>` or `local/<path to a .gguf>`.
        yes: fetch without asking.
        root: what a relative path starts from; the working directory where it is None.

    Raises:
        ConfigError: neither a known name nor a .gguf.
        ModelUnavailableError: the extra is missing, no source has the weights, or the file cannot be loaded.
        RefusedError: the person said no, or the disk is full.
    """
    local_runtime.require()
    name = spec.removeprefix("local/")
    if name.lower().endswith(".gguf"):
        path = (root or Path()).joinpath(Path(name).expanduser()).absolute()
        digest = _digest(spec, path)
    else:
        path = weights.pull(name, yes=yes, say=say or _silent, ask=ask)
        digest = weights.known(name).sha256
    threads = _number("SKILLGIT_LOCAL_THREADS", min(THREADS, _cores()))
    context = _number("SKILLGIT_LOCAL_CONTEXT", CONTEXT)
    return LocalModel(spec, settings, digest, local_runtime.acquire(path, threads, context, spec))


def _silent(text: str) -> None:
    """Nobody asked to be told."""


def _sendable(text: str) -> str:
    """Text as UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _cores() -> int:
    """Cores this process may use: more threads than that would wait for each other."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _number(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not text.isdecimal() or not int(text):
        raise ConfigError(f"{variable}={text} is no whole number above 0", mend="correct it, or unset it")
    return int(text)


def _digest(spec: str, path: Path) -> str:
    """The digest of somebody's own file; its stamp lies in our cache, not beside the file."""
    if not path.is_file():
        raise ModelUnavailableError(f"{spec}: {path} is no file", mend="correct the path")
    key = hashlib.sha256(os.fsencode(path)).hexdigest()
    stamp = weights.cache_folder() / "digests" / f"{key[:32]}.ok"
    try:
        digest = remembered(path, stamp)
        if digest is None:
            digest = sha256_of(path)
            # Only a shortcut: where it cannot be written, the file is hashed each time.
            with suppress(OSError):
                remember(path, stamp, digest)
    except OSError as error:
        where = error.filename or path
        raise ModelUnavailableError(f"{spec}: {where}: {error.strerror}", mend="check who owns the file") from None
    return digest
