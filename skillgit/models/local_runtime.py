"""xllamacpp, loaded: one server per file of weights, shared by all who open it, closed with the last of them.

The runtime always brings an HTTP server with it. Nobody needs it: it gets a socket in a folder of our own that is
removed at once, or, where there are no such sockets, a loopback port with a key that nobody knows.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import secrets
import socket
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from skillgit.errors import ModelError, ModelUnavailableError
from skillgit.models.base import Json, Reply, Usage

_BATCH = 256
"""Tokens of a prompt computed in one go; a cancelled call ends after them."""
_PREFIXES_MIB = 256
"""Memory for prefixes of earlier prompts: training goes to and fro between a few documents."""
_SOCKET_MAX = 100
"""Bytes of a socket's path that every system takes."""
_SERVING_S = 30.0


@dataclass(slots=True)
class Answer:
    """What the runtime streamed for one call."""

    pieces: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None


class Server:
    """A loaded model. Calls run one at a time on its executor's only thread."""

    def __init__(self, path: Path, threads: int, context: int, spec: str) -> None:
        self.key = (path, threads, context)
        self.threads = threads
        self.context = context
        self.users = 0
        self._runtime = _load(path, threads, context, spec)
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="skillgit-local")

    def answer(self, body: dict[str, Json], stop: threading.Event) -> Answer:
        """Run one call in the calling thread, until it ends or `stop` is set."""
        answer = Answer()

        def on_chunk(chunk: dict[str, Any]) -> bool:
            # An exception here would be swallowed by the runtime, so this only stores.
            _store(chunk, answer)
            return stop.is_set()

        streamed = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
        try:
            if not stop.is_set():
                self._runtime.handle_chat_completions(body | streamed, on_chunk)
        except (RuntimeError, ValueError) as error:
            answer.error = {"message": str(error)}
        return answer

    def close(self) -> None:
        """Wait for the call that runs, then give the memory back."""
        self.executor.shutdown(cancel_futures=True)
        self._runtime = None


def _store(chunk: dict[str, Any], answer: Answer) -> None:
    if isinstance(chunk.get("error"), dict):
        answer.error = chunk["error"]
    for choice in chunk.get("choices") or ():
        answer.pieces.append((choice.get("delta") or {}).get("content") or "")
        answer.finish = choice.get("finish_reason") or answer.finish
    answer.usage = chunk.get("usage") or answer.usage


def reply_of(answer: Answer, name: str) -> Reply:
    """The reply in what was streamed.

    Raises:
        ModelError: the prompt is longer than the context, the runtime refused it, or it ended early.
    """
    if answer.error is not None:
        tokens, context = answer.error.get("n_prompt_tokens"), answer.error.get("n_ctx")
        if tokens and context:
            message = f"{name}: the prompt has {tokens} tokens, the context holds {context}"
            raise ModelError(message, mend="shorten the document or the task, or raise SKILLGIT_LOCAL_CONTEXT")
        raise ModelError(f"{name}: the runtime refused the call: {' '.join(str(answer.error.get('message')).split())}")
    if answer.finish is None:
        raise ModelError(f"{name}: the runtime ended the call without a reply")
    text = "".join(answer.pieces)
    if not text and answer.finish == "length":
        raise ModelError(f"{name}: max_tokens was used up before the reply began", mend="raise the model's max_tokens")
    details = answer.usage.get("prompt_tokens_details") or {}
    usage = Usage(
        calls=1,
        input_tokens=answer.usage.get("prompt_tokens", 0),
        cached_tokens=details.get("cached_tokens", 0),
        output_tokens=answer.usage.get("completion_tokens", 0),
    )
    return Reply(text, usage, complete=answer.finish == "stop")


_servers: dict[tuple[Path, int, int], Server] = {}
_guard = threading.Lock()


def acquire(path: Path, threads: int, context: int, spec: str) -> Server:
    """The server of a file; loads it for its first user. Give it back with `release`.

    Raises:
        ModelUnavailableError: it cannot be loaded.
    """
    with _guard:
        server = _servers.get((path, threads, context)) or Server(path, threads, context, spec)
        _servers[server.key] = server
        server.users += 1
        return server


def release(server: Server) -> None:
    """One user fewer; the last one closes it."""
    with _guard:
        server.users -= 1
        if server.users:
            return
        del _servers[server.key]
    server.close()


def require() -> None:
    """Check for the runtime before anything is fetched for it.

    Raises:
        ModelUnavailableError: the extra is not installed.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelUnavailableError(
            "local models need xllamacpp, which is missing", mend="pip install 'skillgit[local]'"
        )


def version() -> str:
    """The runtime's version: another one may compute other replies."""
    return importlib.metadata.version("xllamacpp")


def _import() -> Any:
    """Import the runtime with OpenMP threads that sleep while they wait.

    Threads that spin make everything beside them, and themselves on a busy machine, many times slower. The OpenMP
    library reads the variable once, when it is loaded; programs that we start later shall not inherit it.
    """
    chosen = os.environ.get("OMP_WAIT_POLICY")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        mend = "install the system library that it names (libgomp1 on Debian and Ubuntu)"
        raise ModelUnavailableError(f"xllamacpp cannot be imported: {error}", mend=mend) from None
    finally:
        if chosen is None:
            del os.environ["OMP_WAIT_POLICY"]


def _load(path: Path, threads: int, context: int, spec: str) -> Any:
    mend = "check that it is a whole GGUF file of a language model, and that memory is free"
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelUnavailableError(f"{spec}: {path}: {error.strerror}", mend="check the file") from None
    if magic != b"GGUF":
        raise ModelUnavailableError(f"{spec}: {path} is no GGUF file", mend=mend)
    runtime = _import()
    params = runtime.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = _PREFIXES_MIB
    params.fit_params = False  # never another context than the one that `settings` names
    params.warmup = False
    params.verbosity = 0
    params.ui = params.endpoint_slots = False
    params.api_keys = [secrets.token_hex(32)]
    with tempfile.TemporaryDirectory(prefix="skillgit-") as folder:
        path_of_socket = f"{folder}/s.sock"  # the runtime knows sockets by their ending
        if sys.platform != "win32" and len(os.fsencode(path_of_socket)) <= _SOCKET_MAX:
            params.hostnames = [path_of_socket]
        try:
            loaded = runtime.Server(params)
            _await_serving(loaded.listening_address)
        except (RuntimeError, ValueError, MemoryError) as error:
            why = " ".join(str(error).split())
            raise ModelUnavailableError(f"{spec}: {path} cannot be loaded: {why}", mend=mend) from None
    return loaded


def _await_serving(address: str) -> None:
    """Wait until the server's thread serves: one that is closed before would never end.

    Raises:
        RuntimeError: it does not come up.
    """
    where = urlsplit(address)
    unix = where.scheme == "unix"
    try:
        with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as probe:
            probe.settimeout(_SERVING_S)
            probe.connect(where.path if unix else (where.hostname, where.port))
            probe.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            served = probe.recv(1)
    except OSError as error:
        raise RuntimeError(f"its server does not come up: {error}") from None
    if not served:
        raise RuntimeError("its server does not come up")
