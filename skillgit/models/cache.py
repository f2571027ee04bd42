"""The call cache: answers that were paid for, kept per repository (DESIGN, section 3, Caches).

One SQLite file, shared by threads, processes and worktrees. What goes in is the callers' business: never a failure,
never an empty reply.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from skillgit.errors import RefusedError
from skillgit.models.base import Json

_VERSION = 1
_BUSY_S = 30.0
_TABLE = """CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    created REAL NOT NULL
) WITHOUT ROWID"""


def call_key(**parts: Json) -> str:
    """The key of a call: sha256 hex of the canonical JSON of all that its answer depends on."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class CallCache:
    """Answers by `call_key`. A key's first answer stays: two processes that asked at once agree from then on."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> CallCache:
        """Open the file, or make it, readable by its owner alone.

        Raises:
            RefusedError: it cannot be read or written, is damaged, or is of another version.
        """
        with _refusing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # SQLite gives its -wal and -shm files the mode of this one.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            # Transactions are begun by hand, so a single statement is committed at once.
            connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                _prepare(connection, path)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    def get(self, key: str) -> Json | None:
        """The answer, or None.

        Raises:
            RefusedError: the file cannot be read.
        """
        with _refusing(self._path), self._lock:
            row = self._connection.execute("SELECT value FROM calls WHERE key = ?", (key,)).fetchone()
            return None if row is None else json.loads(row[0])

    def put(self, key: str, value: Json, kind: str) -> None:
        """Keep an answer. It survives the death of this process from here on.

        Args:
            kind: `rollout` or the optimizer's stage, for people who look into the file.

        Raises:
            RefusedError: the file cannot be written, or the disk is full.
        """
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
        with _refusing(self._path), self._lock:
            self._connection.execute(
                "INSERT INTO calls (key, kind, value, created) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
                (key, kind, text, time.time()),
            )

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        with _refusing(self._path), self._lock:
            self._connection.close()

    def __enter__(self) -> CallCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    # In WAL mode a commit without fsync is safe from a kill of the process; only a power cut can lose the last ones.
    _patiently(connection, "PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version={_VERSION}")
        connection.execute("COMMIT")
    elif version != _VERSION:
        message = f"{path}: a call cache of version {version}, this skillgit reads {_VERSION}"
        raise RefusedError(message, mend="delete the file, or use the skillgit that wrote it")


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Changing the journal mode does not wait for others by itself (SQLite calls no busy handler there)."""
    end = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute(statement).fetchone()
        except sqlite3.OperationalError as error:
            if not _busy(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Failures of the file in one line. The file is never moved aside: another process may be using it."""
    try:
        yield
    except OSError as error:
        mend = "mend its permissions, or the disk"
        raise RefusedError(f"{path}: the call cache cannot be used: {error.strerror or error}", mend=mend) from None
    except ValueError:
        raise _damaged(path) from None
    except sqlite3.OperationalError as error:
        mend = "make room on the disk, or mend the file's permissions"
        if _busy(error):
            mend = "end the process that holds it"
        raise RefusedError(f"{path}: the call cache cannot be used: {error}", mend=mend) from None
    except sqlite3.ProgrammingError:
        raise  # a use after `close` is a bug of ours, not a damaged file
    except sqlite3.DatabaseError:
        raise _damaged(path) from None


def _busy(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _damaged(path: Path) -> RefusedError:
    return RefusedError(f"{path}: the call cache is damaged", mend="delete the file; its answers are asked for again")
