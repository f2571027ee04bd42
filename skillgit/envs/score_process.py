"""The child process that runs a user's `score.py`: started, asked, limited and ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from skillgit.envs import score_worker
from skillgit.models.base import Json

START_LIMIT_S = 60.0
_KEPT_OUTPUT = 8192  # bytes of what user code printed
_LONGEST_MESSAGE = 2**20  # bytes of one line of the protocol


class ScoreProcessError(Exception):
    """A worker ended, or was ended, without an answer; the message says why."""


class ScoreProcess:
    """One child process. Used by one thread at a time; `kill` may come from any.

    Raises:
        ScoreProcessError: the user's code could not be loaded.
    """

    def __init__(self, path: Path, memory_limit: int) -> None:
        command = [sys.executable, "-I", "-B", "-X", "utf8", str(Path(score_worker.__file__).resolve())]
        self._home = tempfile.TemporaryDirectory(prefix="skillgit-score-", ignore_cleanup_errors=True)
        try:
            self._process = subprocess.Popen(
                [*command, str(path.resolve()), str(memory_limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._home.name,
                env=_environment(self._home.name),
                start_new_session=True,
            )
        except OSError as error:
            self._home.cleanup()
            raise ScoreProcessError(f"its process cannot be started: {error.strerror}") from None
        self._lock = threading.Lock()
        self._ended = False
        self._killed_because = ""
        self._output = bytearray()
        self._drain = threading.Thread(target=self._keep_output, daemon=True)
        self._drain.start()
        try:
            with self._time_limit(START_LIMIT_S, "loading"):
                self._receive("loading", {"ready"})
        except ScoreProcessError:
            self.stop()
            raise

    def ask(self, request: Json, time_limit_s: float) -> dict[str, str]:
        """Send a request and wait for the answer.

        Raises:
            ScoreProcessError: the worker ended without one; call `stop`.
        """
        with self._time_limit(time_limit_s, "scoring"):
            # A process that has ended has left its last words in the other pipe.
            with contextlib.suppress(OSError):
                _pipe(self._process.stdin).write(json.dumps(request).encode() + b"\n")
                _pipe(self._process.stdin).flush()
            return self._receive("scoring", {"hard", "soft", "reason"})

    def kill(self, why: str) -> None:
        """End the process and all that it started in its group."""
        with self._lock:
            # Before the process was waited for, its id cannot belong to another one.
            if self._ended:
                return
            self._killed_because = self._killed_because or why
            if hasattr(os, "killpg"):
                try:
                    os.killpg(self._process.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
                    self._process.kill()
            else:
                self._process.kill()

    def stop(self) -> None:
        """End the process if it runs, and remove its folder."""
        self.kill("it was stopped")
        with self._lock:
            self._process.wait()
            self._ended = True
        self._drain.join(timeout=1)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # unsent bytes for a process that is gone
                _pipe(pipe).close()
        self._home.cleanup()

    @contextlib.contextmanager
    def _time_limit(self, limit_s: float, doing: str) -> Iterator[None]:
        timer = threading.Timer(limit_s, self.kill, (f"{doing} took more than {limit_s:g} s",))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _receive(self, doing: str, keys: set[str]) -> dict[str, str]:
        line = _pipe(self._process.stdout).readline(_LONGEST_MESSAGE)
        if not line.endswith(b"\n"):
            raise ScoreProcessError(self._last_words(doing))
        try:
            result = json.loads(line)
        except ValueError:
            result = None
        if not isinstance(result, dict) or set(result) != keys:
            raise ScoreProcessError(f"{doing} wrote into the pipe of its answers")
        return result

    def _last_words(self, doing: str) -> str:
        """Why the worker is gone: our doing, its traceback's last line, or its exit status."""
        if not self._killed_because:
            self._drain.join(timeout=1)  # the pipe ends with the process
            printed = bytes(self._output).decode("utf-8", "replace").split("\n")
            last = next((line.strip() for line in reversed(printed) if line.strip()), "")
            return f"{doing} failed: {last[:500]}" if last else f"{doing} ended without an answer"
        return self._killed_because

    def _keep_output(self) -> None:
        with _pipe(self._process.stderr) as pipe:
            while chunk := os.read(pipe.fileno(), _KEPT_OUTPUT):
                self._output += chunk
                del self._output[:-_KEPT_OUTPUT]


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # every one was asked for
    return pipe


def _environment(home: str) -> dict[str, str]:
    """What the child sees of our environment: no keys, no tokens."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": home, "TMPDIR": home, "TEMP": home, "LANG": os.environ.get("LANG", "C.UTF-8")}
