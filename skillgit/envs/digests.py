"""Digests: what a score was measured on, as bytes that do not depend on the machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from skillgit.envs.contract import Environment, Split, Task
from skillgit.models.base import Json


def canonical_json(value: Json) -> bytes:
    """The one JSON form of a value: UTF-8, keys sorted by code point, no spaces, no escapes that are not needed.

    Raises:
        ValueError: the value holds NaN, an infinity or a lone surrogate.
        TypeError: it holds something that JSON cannot.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def digest_of(value: Json) -> str:
    """sha256 hex of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def code_digests(folder: Path) -> dict[str, str]:
    """sha256 hex of every `*.py` file below a folder, by its POSIX path in it.

    Line ends are read as LF, since a checkout may change them and they change no score. Hidden folders and
    `__pycache__` are left out.
    """
    digests = {}
    for path in folder.rglob("*.py"):
        inner = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in inner.parts):
            digests[inner.as_posix()] = hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    return digests


def tasks_digest(environment: Environment, split: Split, *, repeats: int, tasks: Sequence[Task] | None = None) -> str:
    """What scores on a split were measured on: scores compare only where it is equal.

    It is `sha256:` and the hex digest of the canonical JSON of the tasks' digests (sorted, so that the order in
    the file does not count), the environment's digest (system, prompt, extraction, scorer and its code) and the
    number of trials per task.

    Args:
        tasks: those of the split that were measured; all of them where it is None.
    """
    found = sorted(task.digest for task in (environment.tasks(split) if tasks is None else tasks))
    return "sha256:" + digest_of({"environment": environment.digest, "repeats": repeats, "tasks": found})


def val_digest(environment: Environment, *, repeats: int, tasks: Sequence[Task] | None = None) -> str:
    """`Skill-Val` (DESIGN, section 2)."""
    return tasks_digest(environment, "val", repeats=repeats, tasks=tasks)
