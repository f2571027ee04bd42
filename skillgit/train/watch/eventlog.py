"""The events of a run as a file: one JSON object per line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from skillgit.errors import UsageError
from skillgit.train.events import Event


def as_json(event: Event, now: datetime) -> dict[str, Any]:
    """An event with stable keys: `event` (`step_finished`), `time` (UTC, ISO 8601), then its fields.

    A score is `num/den` under its own name and a decimal under the name with `_value` behind it; money is a text.
    """
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    found: dict[str, Any] = {"event": kind, "time": now.astimezone(UTC).isoformat(timespec="milliseconds")}
    for key, value in asdict(event).items():
        if isinstance(value, Fraction):
            found[key] = f"{value.numerator}/{value.denominator}"
            found[f"{key}_value"] = round(float(value), 6)
        elif isinstance(value, Decimal):
            found[key] = str(value)
        else:
            found[key] = value
    return found


class EventLog:
    """A listener that appends every event to a file, readable by its owner alone where it makes the file.

    A line is written in one piece and at once, so that the log of a killed run lacks at most the last one.

    Raises:
        UsageError: the file cannot be written; said before the run begins.
    """

    name = "the event log"

    def __init__(self, path: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise UsageError(f"--events {path}: {error.strerror}", mend="name a file that can be written") from None
        self._end_cut_line()

    def __call__(self, event: Event) -> None:
        """Append an event.

        Raises:
            OSError: the disk is full or gone; `Listeners` keeps it from the run.
        """
        self._write(json.dumps(as_json(event, self._clock()), ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _end_cut_line(self) -> None:
        """A killed run may have left half a line: what follows must not be lost with it."""
        size = os.fstat(self._file).st_size
        if size:
            os.lseek(self._file, size - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                self._write("\n")

    def _write(self, text: str) -> None:
        left = text.encode()
        while left:
            left = left[os.write(self._file, left) :]


def read(path: Path) -> list[dict[str, Any]]:
    """The events of a log, oldest first. A line that a killed run left half written is passed over.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", mend="name an event log") from None
    found = []
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "event" in value:
            found.append(value)
    return found
