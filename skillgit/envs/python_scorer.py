"""`scorer: python:score.py`: a user's scorer, in processes that cannot take the run down with them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from skillgit.envs.contract import Score, Task, exact
from skillgit.envs.score_process import ScoreProcess, ScoreProcessError
from skillgit.errors import ConfigError, EnvironmentFailedError, MeasurementError
from skillgit.models.base import Json

TIME_LIMIT_S = 30.0
MEMORY_LIMIT = 4 * 2**30  # bytes of address space; numerical libraries reserve far more than they use
_WORKERS = max(1, min(4, os.cpu_count() or 1))


class PythonScorer:
    """Scores with `score(reply: str, task: dict)` of a file beside `env.yaml`.

    `reply` is what extraction took, `task` the whole row. The function returns a number from 0 to 1 (`hard` is then
    1 only where it is 1) or an object with `hard`, `soft` or both, and `reason`; its result must depend on its
    arguments alone. It runs in a process of its own: own process group, a temporary working folder that is emptied
    after every score, no environment variables of ours but PATH and the like, limits on time, memory, file sizes and
    what is kept of its output. Worker processes are started when first needed and again after a hang or a crash.

    Args:
        path: the file.
        where: how messages name it.
    """

    def __init__(
        self, path: Path, where: str, *, time_limit_s: float = TIME_LIMIT_S, memory_limit: int = MEMORY_LIMIT
    ) -> None:
        self._path = path
        self._where = where
        self._time_limit_s = time_limit_s
        self._memory_limit = memory_limit
        self._idle: list[ScoreProcess] = []
        self._threads: ThreadPoolExecutor | None = None

    @property
    def name(self) -> str:
        return f"python:{self._path.name}"

    def check(self) -> None:
        """Load the user's code once, in a worker that is ended again.

        Raises:
            ConfigError: it cannot be loaded, or has no `score`.
        """
        try:
            ScoreProcess(self._path, self._memory_limit).stop()
        except ScoreProcessError as error:
            raise ConfigError(f"{self._where}: {error}", mend="mend the scorer's code") from None

    def prepare(self, task: Task) -> None:
        """Any task will do: what it needs is the user's own business."""

    async def score(self, answer: str, task: Task, calls: Sequence[str] = ()) -> Score:
        """See the class.

        Raises:
            EnvironmentFailedError: the user's code hung, crashed, raised, or returned no score from 0 to 1.
        """
        # Threads of our own: a slow scorer must not use up those that others share.
        self._threads = self._threads or ThreadPoolExecutor(_WORKERS, thread_name_prefix="skillgit-score")
        request = {"reply": answer, "task": dict(task.fields)}
        running = _Running()
        try:
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(self._threads, self._score, request, task.source, running)
        except asyncio.CancelledError:
            running.cancel()
            raise
        try:
            return Score(exact(result["hard"]), exact(result["soft"]), _text(result["reason"]))
        except MeasurementError as error:
            raise EnvironmentFailedError(f"{self._where}: {task.source}: {error.message}", mend=error.mend) from None

    async def close(self) -> None:
        if self._threads:
            self._threads.shutdown()
            self._threads = None
        while self._idle:
            self._idle.pop().stop()

    def _score(self, request: Json, source: str, running: _Running) -> dict[str, str]:
        """Blocking; runs in one of our threads."""
        worker = None
        try:
            worker = self._idle.pop() if self._idle else ScoreProcess(self._path, self._memory_limit)
            running.begin(worker)
            result = worker.ask(request, self._time_limit_s)
        except ScoreProcessError as error:
            if worker:
                worker.stop()
            raise EnvironmentFailedError(f"{self._where}: {source}: {error}", mend="mend the scorer") from None
        running.end()
        self._idle.append(worker)
        return result


class _Running:
    """The worker of one score, so that a cancelled attempt does not leave it working."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: ScoreProcess | None = None
        self._cancelled = False

    def begin(self, worker: ScoreProcess) -> None:
        with self._lock:
            self._worker = worker
            if self._cancelled:
                worker.kill("it was cancelled")

    def end(self) -> None:
        with self._lock:
            self._worker = None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._worker:
                self._worker.kill("it was cancelled")


def _text(value: object) -> str:
    """Text that can be written as UTF-8, whatever it was."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
