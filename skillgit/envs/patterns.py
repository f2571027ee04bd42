"""Regular expressions of an environment's author on a model's reply, with a bound on their time.

A pattern such as `(a+)+$` can take years on forty characters. Every search runs in one helper process, which ends
itself when a search takes too long and is started again for the next one.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from skillgit.errors import EnvironmentFailedError

SECONDS = 2.0
"""The longest that one search may take."""

_WORKER = Path(__file__).with_name("regex_worker.py")


class _Searcher:
    """Owns the helper process. Calls from several threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def search(self, pattern: str, text: str, seconds: float) -> bool | None:
        """Whether the pattern is found; None where the helper ended before it could tell."""
        request = json.dumps([pattern, text, seconds]).encode() + b"\n"
        with self._lock:
            self._disown_after_fork()
            process = self._process or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(request)
                process.stdin.flush()
                answer = process.stdout.readline()
            except OSError:  # it ended between two searches
                answer = b""
            if not answer:
                self._stop()
                return None
            return bool(json.loads(answer))

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", "-W", "ignore", str(_WORKER)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def close(self) -> None:
        """End the helper."""
        with self._lock:
            self._disown_after_fork()
            self._stop()

    def _disown_after_fork(self) -> None:
        if self._owner != os.getpid():
            self._process, self._owner = None, os.getpid()


_searcher = _Searcher()
atexit.register(_searcher.close)


def found(pattern: str, text: str, seconds: float = SECONDS) -> bool:
    """Whether `re.search(pattern, text)` finds something. The pattern compiles.

    Raises:
        EnvironmentFailedError: not done after `seconds`, or the helper process died.
    """
    result = _searcher.search(pattern, text, seconds)
    if result is None:
        mend = "write it without nested repetition"
        raise EnvironmentFailedError(f"the pattern {pattern!r} did not end within {seconds:g} s on a reply", mend=mend)
    return result
