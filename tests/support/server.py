"""A model server on loopback that speaks OpenAI's Chat Completions and Anthropic's Messages, answered by a function.

    with serve(lambda call: Answer("four")) as server:
        ...server.openai_url, server.anthropic_url, server.env(), server.calls

It can also fail in all the ways that real servers do. Everything is deterministic.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

OPENAI_PATH = "/v1/chat/completions"
ANTHROPIC_PATH = "/v1/messages"


@dataclass(frozen=True)
class Call:
    """One request as it arrived. `index` counts from 0 in order of arrival, retries included."""

    index: int
    protocol: Literal["openai", "anthropic"]
    model: str
    system: str
    turns: tuple[tuple[str, str], ...]
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def user(self) -> str:
        """The last user turn."""
        return next((text for role, text in reversed(self.turns) if role == "user"), "")


@dataclass(frozen=True)
class Answer:
    """What to send back. Token counts that are None are made from the lengths of the texts.

    Args:
        stop: `stop`, `length` or `refusal`, in the protocol's own words on the wire.
        input_tokens: all input, cached included, as OpenAI counts.
        written_tokens: the part that Anthropic reports as written to its cache.
        body: sent as it is instead of the protocol's form.
        fault: `hang` sends nothing, `cut` closes in mid-body, `drop` closes before a byte.
    """

    text: str = ""
    stop: Literal["stop", "length", "refusal"] = "stop"
    input_tokens: int | None = None
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int | None = None
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    fault: Literal["none", "hang", "cut", "drop"] = "none"


def error(
    status: int, message: str = "", *, code: str | None = None, param: str | None = None, **headers: str
) -> Answer:
    """A status error with a body that both SDKs read. Header names take `_` for `-`: `retry_after_ms="5"`."""
    inner = {"message": message or f"status {status}", "type": code or "test_error", "code": code, "param": param}
    body = json.dumps({"type": "error", "error": inner}).encode()
    return Answer(status=status, body=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def malformed() -> Answer:
    """Status 200, called JSON, but cut off inside."""
    return Answer(body=b'{"choices": [{"message": {"content": "fo')


def hang() -> Answer:
    """Nothing, until the server ends."""
    return Answer(fault="hang")


def cut() -> Answer:
    """The connection ends in the middle of the body."""
    return Answer("cut off", fault="cut")


def drop() -> Answer:
    """The connection ends before the first byte."""
    return Answer(fault="drop")


Responder = Callable[[Call], Answer]


def script(*answers: Answer) -> Responder:
    """Answers in order of arrival, the last one for ever."""
    return lambda call: answers[min(call.index, len(answers) - 1)]


class Server:
    """A running server; see `serve`."""

    def __init__(self, responder: Responder, on_answered: Callable[[Call, Answer], None] | None, port: int) -> None:
        self._responder = responder
        self._on_answered = on_answered
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._sockets: set[socket.socket] = set()
        self._models: set[str] = set()
        self.closing = threading.Event()
        self.failures: list[BaseException] = []
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """For OPENAI_BASE_URL."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """For ANTHROPIC_BASE_URL."""
        return self.url

    def env(self) -> dict[str, str]:
        """Environment variables that point a process at this server, and past any proxy."""
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": "loopback-openai-key",
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "ANTHROPIC_API_KEY": "loopback-anthropic-key",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    @property
    def calls(self) -> list[Call]:
        """All calls so far, in order of arrival."""
        with self._lock:
            return list(self._calls)

    @property
    def count(self) -> int:
        with self._lock:
            return len(self._calls)

    def close(self) -> None:
        """End the server and its connections."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            open_now = list(self._sockets)
        for connection in open_now:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def answer(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Call, Answer] | None:
        """Record a call and ask the responder; None for an unknown path."""
        parse = {OPENAI_PATH: _openai_call, ANTHROPIC_PATH: _anthropic_call}.get(path)
        if parse is None:
            return None
        with self._lock:
            call = replace(parse(body), index=len(self._calls), headers=headers)
            self._calls.append(call)
            self._models.add(call.model)
        try:
            answer = self._responder(call)
        except Exception as problem:  # noqa: BLE001 - shown to the test, by `serve`
            self.failures.append(problem)
            answer = error(500, f"the responder failed: {problem!r}", x_should_retry="false")
        return call, answer

    def answered(self, call: Call, answer: Answer) -> None:
        if self._on_answered is not None:
            with self._lock:
                self._on_answered(call, answer)

    def models(self) -> dict[str, Any]:
        """The reply of `/v1/models`, in a form that both SDKs read."""
        with self._lock:
            names = sorted(self._models)
        rows = [{"id": n, "object": "model", "type": "model", "created": 0, "owned_by": "test"} for n in names]
        return {"object": "list", "data": rows, "has_more": False}

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)


@contextlib.contextmanager
def serve(
    responder: Responder, *, on_answered: Callable[[Call, Answer], None] | None = None, port: int = 0
) -> Iterator[Server]:
    """Run a server.

    Args:
        on_answered: called, one at a time, after the whole answer was handed to the connection.

    Raises: whatever the responder raised, at the end.
    """
    server = Server(responder, on_answered, port)
    try:
        yield server
    finally:
        server.close()
    if server.failures:
        raise server.failures[0]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.owner.opened(self.connection)

    def finish(self) -> None:
        self.server.owner.closed(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to standard error."""

    def do_GET(self) -> None:
        found = self.path.partition("?")[0] == "/v1/models"
        payload = self.server.owner.models() if found else {"error": {"message": "no such path"}}
        self._send(200 if found else 404, json.dumps(payload).encode(), {})

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        found = owner.answer(self.path.partition("?")[0], body, headers)
        if found is None:
            self._send(404, b'{"error": {"message": "no such path"}}', {})
            return
        call, answer = found
        if answer.fault == "hang":
            owner.closing.wait(60)
        if answer.fault in ("hang", "drop"):
            self.close_connection = True
            return
        if answer.delay_s:
            owner.closing.wait(answer.delay_s)
        payload = answer.body if answer.body is not None else json.dumps(_wire(call, answer)).encode()
        self._send(answer.status, payload, answer.headers, whole=answer.fault == "none")
        if answer.fault == "none":
            owner.answered(call, answer)

    def _send(self, status: int, payload: bytes, headers: Mapping[str, str], *, whole: bool = True) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload if whole else payload[: len(payload) // 2])
        self.wfile.flush()
        if not whole:
            self.close_connection = True


def _text(content: Any) -> str:
    """A message's text, whether it was sent as a string or as blocks."""
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content or ""


def _openai_call(body: Mapping[str, Any]) -> Call:
    pairs = [(message["role"], _text(message["content"])) for message in body["messages"]]
    system = "\n".join(text for role, text in pairs if role in ("system", "developer"))
    turns = tuple(pair for pair in pairs if pair[0] not in ("system", "developer"))
    return Call(0, "openai", body["model"], system, turns, body, {})


def _anthropic_call(body: Mapping[str, Any]) -> Call:
    turns = tuple((message["role"], _text(message["content"])) for message in body["messages"])
    return Call(0, "anthropic", body["model"], _text(body.get("system")), turns, body, {})


def _wire(call: Call, answer: Answer) -> dict[str, Any]:
    prompt = len(call.system) + sum(len(text) for _, text in call.turns)
    read = answer.input_tokens if answer.input_tokens is not None else prompt // 4 + 1
    written = answer.output_tokens if answer.output_tokens is not None else len(answer.text) // 4 + 1
    form = _openai_form if call.protocol == "openai" else _anthropic_form
    return form(call, answer, read, written)


def _openai_form(call: Call, answer: Answer, read: int, written: int) -> dict[str, Any]:
    refused = answer.stop == "refusal"
    message: dict[str, Any] = {"role": "assistant", "content": None if refused else answer.text, "refusal": None}
    if refused:
        message["refusal"] = answer.text
    return {
        "id": f"chatcmpl-{call.index}",
        "object": "chat.completion",
        "created": 0,
        "model": call.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if refused else answer.stop}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        },
    }


def _anthropic_form(call: Call, answer: Answer, read: int, written: int) -> dict[str, Any]:
    reasons = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}
    return {
        "id": f"msg_{call.index}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [{"type": "text", "text": answer.text}] if answer.text else [],
        "stop_reason": reasons[answer.stop],
        "stop_sequence": None,
        "usage": {
            "input_tokens": read - answer.cached_tokens - answer.written_tokens,
            "cache_read_input_tokens": answer.cached_tokens,
            "cache_creation_input_tokens": answer.written_tokens,
            "output_tokens": written,
        },
    }
