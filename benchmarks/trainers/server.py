"""The simulated API in a process of its own: OpenAI's Chat Completions for the models `sim-target`, `sim-optimizer`.

    python -m benchmarks.trainers.server --seed 1 --world-seed 1

prints its URL on the first line and serves until it is ended. `GET /counts` tells what was asked of it. The latency of
both roles is lognormal; answers, faults and latencies follow from the seeds. Test tickets are answered at once and
counted apart: what comes from the first of them on is no part of a training.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.trainers.faults import Faults, add_options, chosen
from benchmarks.trainers.optimizer import Optimizer
from benchmarks.trainers.proposer import Prompt, UnknownPrompt
from benchmarks.trainers.world import World, body

MEAN_S, SIGMA = 0.3, 0.4
REFUSAL_S = 0.02
ROLES = {"sim-target": "target", "sim-optimizer": "optimizer"}


@dataclass(frozen=True, slots=True)
class Response:
    """What goes out, after how many seconds; `status` 0 for never."""

    status: int
    payload: bytes = b""
    after_s: float = 0.0
    retry_after: str = ""


class Api:
    """Answers and counts. Tokens are estimated at four characters each."""

    def __init__(self, world: World, seed: int, faults: Faults, speed: float) -> None:
        self._world = world
        self._seed = seed
        self._faults = faults
        self._speed = speed
        self._optimizer = Optimizer(world, seed)
        self._latency = random.Random(f"latency {seed}")
        self._arrivals = 0
        self._seen: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.spoilt = self.hung = self.given_up = self.test_calls = self.in_flight = self.peak = 0
        self.refused: Counter[str] = Counter()
        self.unknown: list[str] = []
        self.first_at: float | None = None
        self.last_at: float | None = None
        self.test_at: float | None = None

    def counts(self) -> dict[str, Any]:
        """Everything counted so far; times are of the system's monotonic clock.

        `given_up` are calls whose client had gone when the answer was ready: they are among the calls.
        """
        return {
            "target_calls": self.calls["target"],
            "optimizer_calls": self.calls["optimizer"],
            "kinds": dict(sorted(self.kinds.items())),
            "tokens_in": self.tokens["target in"] + self.tokens["optimizer in"],
            "tokens_out": self.tokens["target out"] + self.tokens["optimizer out"],
            "tokens": dict(sorted(self.tokens.items())),
            "sent_429": sum(self.refused.values()),
            "refused": dict(self.refused),
            "malformed": self.spoilt,
            "hung": self.hung,
            "given_up": self.given_up,
            "test_calls": self.test_calls,
            "peak_in_flight": self.peak,
            "unknown_prompts": self.unknown,
            "first_at": self.first_at,
            "last_at": self.last_at,
            "test_at": self.test_at,
        }

    def answer(self, request: dict[str, Any]) -> Response:
        """Decide on one request, and count it."""
        role = ROLES.get(str(request.get("model")))
        if role is None:
            return _error(404, f"no model {request.get('model')!r}")
        self._arrivals += 1
        turns = list(_texts(request["messages"]))
        system = "\n".join(text for kind, text in turns if kind in ("system", "developer"))
        asked = [text for kind, text in turns if kind == "user"]
        retry_after = self._faults.limited(self._seed, self._arrivals)
        if retry_after is not None:
            self.refused["with retry-after" if retry_after else "without"] += 1
            return _error(429, "too many requests", after_s=REFUSAL_S, retry_after=retry_after)
        read = sum(len(text) for _, text in turns) // 4 + 1
        if role == "target":
            return self._target(system, asked[-1], read)
        return self._ask_optimizer(Prompt(system, asked[0], "\0".join(text for _, text in turns)), read)

    def _target(self, system: str, user: str, read: int) -> Response:
        task = self._world.task_in(user)
        if task is None:
            return _error(400, "no ticket of this world")
        reply = f"<answer>{self._world.reply(body(system), task, self._seed)}</answer>"
        if self._world.split_of(task) == "test":
            self.test_calls += 1
            self.test_at = self.test_at or time.monotonic()
            return Response(200, _completion("sim-target", reply, read))
        return self._respond("target", reply, read)

    def _ask_optimizer(self, prompt: Prompt, read: int) -> Response:
        try:
            kind, reply = self._optimizer.reply(prompt)
        except UnknownPrompt as problem:
            self.unknown.append(str(problem))
            return _error(400, "the optimizer does not know this prompt")
        self.kinds[kind] += 1
        self._seen[prompt.whole] += 1
        broken = self._faults.spoilt(reply, self._seed, prompt.whole, self._seen[prompt.whole])
        self.spoilt += broken is not None
        return self._respond("optimizer", reply if broken is None else broken, read)

    def _respond(self, role: str, reply: str, read: int) -> Response:
        self.calls[role] += 1
        self.tokens[f"{role} in"] += read
        self.tokens[f"{role} out"] += len(reply) // 4 + 1
        latency = self._latency.lognormvariate(math.log(MEAN_S) - SIGMA**2 / 2, SIGMA) / self._speed
        if self._faults.hangs(role, self.calls[role]):
            self.hung += 1
            return Response(0)
        return Response(200, _completion(f"sim-{role}", reply, read), latency)


def _completion(model: str, reply: str, read: int) -> bytes:
    written = len(reply) // 4 + 1
    choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    found = {"id": "sim", "object": "chat.completion", "created": 0, "model": model}
    return json.dumps({**found, "choices": [choice], "usage": usage}).encode()


def _error(status: int, message: str, *, after_s: float = 0.0, retry_after: str = "") -> Response:
    payload = json.dumps({"error": {"message": message, "type": "simulated", "code": None}}).encode()
    return Response(status, payload, after_s, retry_after)


def _texts(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Role and text of each message of a request."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content)
        yield str(message.get("role")), content or ""


class Http:
    """HTTP/1.1 with kept connections, as much of it as model clients use."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, _ = head.split(" ", 2)
                length = next((line[15:] for line in head.lower().split("\r\n") if line[:15] == "content-length:"), "0")
                response = await self._response(method, path, await reader.readexactly(int(length)))
                if reader.at_eof():
                    self._api.given_up += 1
                    break
                more = f"retry-after: {response.retry_after}\r\n" if response.retry_after else ""
                writer.write(
                    f"HTTP/1.1 {response.status} X\r\ncontent-type: application/json\r\n{more}"
                    f"content-length: {len(response.payload)}\r\n\r\n".encode()
                    + response.payload
                )
                await writer.drain()
        writer.close()

    async def _response(self, method: str, path: str, sent: bytes) -> Response:
        api = self._api
        if method == "GET" and path == "/counts":
            return Response(200, json.dumps(api.counts()).encode())
        if method != "POST" or not path.endswith("/chat/completions"):
            return _error(404, f"no {method} {path}")
        api.first_at = api.first_at or time.monotonic()
        api.in_flight += 1
        api.peak = max(api.peak, api.in_flight)
        try:
            response = api.answer(json.loads(sent))
            if response.status == 0:
                await asyncio.Event().wait()
            await asyncio.sleep(response.after_s)
        finally:
            api.in_flight -= 1
            if api.test_at is None:
                api.last_at = time.monotonic()
        return response


def parser() -> argparse.ArgumentParser:
    """The options of the world and the server."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--seed", type=int, default=1, help="the server's seed: noise, proposals, latencies, faults")
    found.add_argument("--world-seed", type=int, default=1, help="topics, codes and tickets")
    found.add_argument("--topics", type=int, default=16)
    found.add_argument("--sizes", default="64,48,200", help="tickets in train, val and test")
    found.add_argument("--speed", type=float, default=1.0, help="latencies are divided by this")
    add_options(found)
    return found


async def serve(given: argparse.Namespace) -> None:
    """Run until cancelled."""
    train, val, test = map(int, given.sizes.split(","))
    world = World(given.world_seed, given.topics, (train, val, test))
    http = Http(Api(world, given.seed, chosen(given), given.speed))
    server = await asyncio.start_server(http.connection, "127.0.0.1", 0, limit=2**24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser().parse_args()))
