"""Environments on disk and targets that answer from a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skillgit.envs.contract import Environment, Task
from skillgit.envs.loading import load_environment
from skillgit.models.base import Reply, Request, Usage

Row = Mapping[str, Any]


def rows(prefix: str, count: int, **more: Any) -> list[dict[str, Any]]:
    """Rows whose answer is their number."""
    return [{"id": f"{prefix}-{n}", "input": f"{prefix} {n}?", "answer": f"word {n}", **more} for n in range(count)]


def write_rows(path: Path, some: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")


def write_env(
    folder: Path,
    settings: str = "",
    *,
    train: Sequence[Row] | None = None,
    val: Sequence[Row] | None = None,
    test: Sequence[Row] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """An environment's folder; `settings` follows `version: 1`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "env.yaml").write_text("version: 1\n" + settings, encoding="utf-8")
    write_rows(folder / "train.jsonl", rows("train", 3) if train is None else train)
    write_rows(folder / "val.jsonl", rows("val", 3) if val is None else val)
    if test is not None:
        write_rows(folder / "test.jsonl", test)
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def load(folder: Path) -> Environment:
    return load_environment(folder, label="envs/x")


def task(answer: Any = "right", *, id: str = "t", input: str = "what?", **more: Any) -> Task:
    """A task as loading makes it."""
    from skillgit.envs.rows import task_of

    row = {"id": id, "input": input, **({"answer": answer} if answer is not None else {}), **more}
    return task_of(row, "tasks.jsonl:1", compared=False, numbers=True)


class Target:
    """Answers every request with a reply, or with what a function makes of the request; remembers the requests."""

    def __init__(self, reply: str | Reply | Callable[[Request], str] = "") -> None:
        self._reply = reply
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self._reply(request) if callable(self._reply) else self._reply
        return reply if isinstance(reply, Reply) else Reply(reply, Usage(1, 10, 0, 2))
