"""Tasks from JSON lines: each fault is named with its file, line and key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillgit import strictyaml
from skillgit.document.structure import LFS_POINTER
from skillgit.envs.contract import Task
from skillgit.envs.digests import digest_of
from skillgit.errors import ConfigError
from skillgit.models.base import Json

_LONGEST_ID = 200  # characters
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _FaultError(Exception):
    """What is wrong with one JSON text, in words."""


def read_tasks(path: Path, where: str, *, compared: bool, numbers: bool) -> tuple[Task, ...]:
    """The tasks of one file, in order.

    One JSON object a line, in UTF-8; blank lines, CRLF and a byte order mark at the start are fine. A row has `id`
    (one line of text), `input` (text), and what its scorer and the prompt need; other keys are kept.

    Args:
        where: how messages name the file.
        compared: answers are compared, so `answer` must be a text, a whole number, or a list of these.
        numbers: `answer` may also be a number with a fraction (`scorer: numeric`).

    Raises:
        ConfigError: `file:line: key: …`.
    """
    tasks: list[Task] = []
    places: dict[str, str] = {}
    for number, line in enumerate(_lines(path, where), 1):
        if not line.strip():
            continue
        source = f"{where}:{number}"
        task = task_of(_object(line, source), source, compared=compared, numbers=numbers)
        if task.id in places:
            raise ConfigError(f"{source}: id: {task.id!r} is also the id of {places[task.id]}", mend="rename one")
        places[task.id] = source
        tasks.append(task)
    return tuple(tasks)


def read_text(path: Path, where: str) -> str:
    """A text file in UTF-8, without its byte order mark.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8 (names the line).
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {error.strerror}", mend="check the file") from None
    if data.startswith(LFS_POINTER):
        raise ConfigError(f"{where}:1: a Git LFS pointer", mend="run `git lfs pull`, or keep the file out of LFS")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{where}:{line}: not UTF-8", mend="save the file as UTF-8") from None


def parse_json(text: str) -> Json:
    """JSON as it should be: no duplicate keys, no NaN or infinity, no lone surrogates.

    Raises:
        ValueError: with the fault in words; a JSONDecodeError knows the line.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\u" in text and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("it has half of a surrogate pair")
    return value


def task_of(row: dict[str, Json], source: str, *, compared: bool, numbers: bool) -> Task:
    """A task from its row.

    Raises:
        ConfigError: names `source` and the key.
    """
    try:
        identity = _identity(row)
        text = _input(row)
        answers = _answers(row, compared=compared, numbers=numbers)
    except _FaultError as fault:
        raise ConfigError(f"{source}: {fault}", mend="correct the row") from None
    return Task(identity, text, answers, row, digest_of(row), source)


def _lines(path: Path, where: str) -> Iterator[str]:
    # Not splitlines: JSON may hold U+2028 and its kin, which end no line of the file.
    return (line.removesuffix("\r") for line in read_text(path, where).split("\n"))


def _object(line: str, source: str) -> dict[str, Json]:
    try:
        value = parse_json(line)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{source}: not JSON: {error.msg}, at column {error.colno}", mend="mend the line") from None
    except ValueError as error:
        raise ConfigError(f"{source}: not usable JSON: {error}", mend="mend the line") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{source}: not a JSON object", mend='write {"id": …, "input": …, "answer": …}')
    return value


def _missing(row: dict[str, Json], key: str) -> _FaultError:
    near = strictyaml.nearest(key, [name for name in row if name not in {"id", "input", "answer", "checks"}])
    return _FaultError(f"{key}: missing" + (f" (is {near!r} meant to be {key!r}?)" if near else ""))


def _identity(row: dict[str, Json]) -> str:
    if "id" not in row:
        raise _missing(row, "id")
    value = row["id"]
    if not isinstance(value, str):
        raise _FaultError(f"id: {repr(value)[:40]} is not a text; put it in quotes")
    if not value.strip():
        raise _FaultError("id: empty")
    if value != value.strip() or _UNPRINTABLE.search(value) or len(value) > _LONGEST_ID:
        raise _FaultError(f"id: not one line of at most {_LONGEST_ID} characters without space around it")
    return value


def _input(row: dict[str, Json]) -> str:
    if "input" not in row:
        raise _missing(row, "input")
    value = row["input"]
    if not isinstance(value, str):
        raise _FaultError("input: not a text")
    if not value.strip():
        raise _FaultError("input: empty")
    return value


def _answers(row: dict[str, Json], *, compared: bool, numbers: bool) -> tuple[str, ...]:
    """Accepted answers; where nothing is compared, those that are texts, for people and the optimizer."""
    compared = compared and "checks" not in row
    if "answer" not in row:
        if compared:
            raise _missing(row, "answer")
        return ()
    value = row["answer"]
    if isinstance(value, list) and not value and compared:
        raise _FaultError("answer: an empty list")
    answers = [_answer(item, numbers=numbers) for item in (value if isinstance(value, list) else [value])]
    if compared and None in answers:
        kinds = "a text, a number" if numbers else "a text, a whole number"
        raise _FaultError(f"answer: neither {kinds} nor a list of these, or empty")
    return tuple(answer for answer in answers if answer is not None)


def _answer(value: Json, *, numbers: bool) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    # How a fraction is written matters to every comparison but that of numbers.
    return repr(value) if isinstance(value, float) and numbers else None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, value in pairs:
        if key in row:
            raise ValueError(f"the key {key!r} stands twice")
        row[key] = value
    return row


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large a number")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse, parse_float=_float)
