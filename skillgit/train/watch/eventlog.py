"""The events of a run as a file: one JSON object per line."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from skillgit.errors import UsageError
from skillgit.train.events import Event
from skillgit.train.watch.callbacks import Background

_BINARY = getattr(os, "O_BINARY", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


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

    Args:
        path: what is no plain file (a pipe, a terminal) may keep a write waiting: `open_log` takes care of it.

    Raises:
        UsageError: the file cannot be written, or is a pipe that nobody reads; said before the run begins.
    """

    name = "the event log"

    def __init__(self, path: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        try:
            # For writing alone: who reads a pipe as well is never told that its reader has left.
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY | _AT_ONCE, 0o600)
            self.plain = stat.S_ISREG(os.fstat(self._file).st_mode)
            cut = self.plain and _is_cut(path)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise UsageError(f"--events {path}: nobody reads it", mend="start its reader first") from None
            raise UsageError(f"--events {path}: {error.strerror}", mend="name a file that can be written") from None
        if _AT_ONCE and not self.plain:
            os.set_blocking(self._file, True)  # only the opening may not wait: a slow reader misses nothing
        if cut:
            self._write("\n")  # a killed run left half a line: what follows must not be lost with it

    def __call__(self, event: Event) -> None:
        """Append an event.

        Raises:
            OSError: the disk is full or gone, the reader has left; `Listeners` keeps it from the run.
        """
        self._write(json.dumps(as_json(event, self._clock()), ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write(self, text: str) -> None:
        left = text.encode()
        while left:
            left = left[os.write(self._file, left) :]


def open_log(path: Path, *, patience: float = 5.0) -> EventLog | Background:
    """The listener for `--events`: plain files are written at once, all else beside the run, which a reader that is
    slow, stuck or gone cannot hold up.

    Args:
        patience: seconds that the end of the run waits for such a reader.

    Raises:
        UsageError: as `EventLog`.
    """
    log = EventLog(path)
    return log if log.plain else Background(log, patience=patience)


def _is_cut(path: Path) -> bool:
    """Whether a file ends within a line."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) not in (b"", b"\n")


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
