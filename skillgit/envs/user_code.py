"""`env.py`: an environment's own class, loaded by path, and the border between its code and ours.

It runs in our process, like a plugin: it is code of the repository's owner. A scorer that runs generated code belongs
into a `python:` scorer, which has a process of its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, TracebackType

from skillgit.envs.contract import SPLITS, Ask, Attempt, Environment, Explanation, Score, Split, Task, exact
from skillgit.envs.declarative import EnvironmentSpec
from skillgit.errors import ConfigError, EnvironmentFailedError, MeasurementError, SkillgitError
from skillgit.models.endpoint import well_formed

FILE_NAME = "env.py"
CLASS_NAME = "Environment"
_INTERFACE = ("description", "digest", "scorer", "tasks", "attempt", "explain", "close")


class Border:
    """Turns whatever somebody's code raises into one error of ours that names it.

    Our own errors pass as they are, and so do cancellation and interrupts.
    """

    def __init__(self, where: str, error: type[SkillgitError], *, mend: str = "mend the environment's code") -> None:
        self._where = where
        self._error = error
        self._mend = mend

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(raised, SkillgitError) or not isinstance(raised, Exception | SystemExit):
            return
        said = _text(" ".join(str(raised).split())[:300])
        line = _line_in(raised, self._where)
        message = f"{self._where}{line}: {type(raised).__name__}" + (f": {said}" if said else "")
        raise self._error(message, mend=self._mend) from raised


def _line_in(raised: BaseException, where: str) -> str:
    """`:line` of the innermost frame that is in the named file."""
    name, found, step = where.rsplit("/", 1)[-1], "", raised.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename).name == name:
            found = f":{step.tb_lineno}"
        step = step.tb_next
    if isinstance(raised, SyntaxError) and raised.lineno and Path(raised.filename or "").name == name:
        return f":{raised.lineno}"
    return found


def _text(value: object) -> str:
    """Text that can be written as UTF-8, whatever it was."""
    return well_formed(str(value))


def load_own(spec: EnvironmentSpec) -> Environment:
    """The environment of an `env.py`: its class `Environment`, constructed with the loaded `EnvironmentSpec`.

    Raises:
        ConfigError: it cannot be loaded or constructed, has no such class, or the class lacks part of the contract.
    """
    path, where = spec.folder / FILE_NAME, f"{spec.label}/{FILE_NAME}"
    with Border(where, ConfigError):
        module = _load(path)
    made = getattr(module, CLASS_NAME, None)
    if not isinstance(made, type):
        raise ConfigError(f"{where}: there is no class {CLASS_NAME}", mend=f"define class {CLASS_NAME}")
    with Border(where, ConfigError):
        inner = made(spec)
    if lacking := [name for name in _INTERFACE if not hasattr(inner, name)]:
        mend = "subclass skillgit.envs.DeclarativeEnvironment"
        raise ConfigError(f"{where}: {CLASS_NAME} has no {lacking[0]}", mend=mend)
    with Border(where, ConfigError):
        return GuardedEnvironment(inner, where)


def _load(path: Path) -> ModuleType:
    """Import a file under a private name, as a package of its folder: it may say `from . import helper`."""
    name = "_skillgit_env_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]
    found = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(path.parent)])
    if found is None or found.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    wrote, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no __pycache__ in somebody's repository
    try:
        found.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = wrote
    return module


class GuardedEnvironment:
    """Somebody's environment, held to the contract: what it raises and returns is checked at the border."""

    def __init__(self, inner: Environment, where: str) -> None:
        self._inner = inner
        self._where = where
        self._tasks = {split: tuple(inner.tasks(split)) for split in SPLITS}
        if not all(isinstance(task, Task) for split in SPLITS for task in self._tasks[split]):
            raise TypeError("tasks returned something else than Task objects")
        self._facts = (_text(inner.description), str(inner.digest), _text(inner.scorer))

    @property
    def description(self) -> str:
        return self._facts[0]

    @property
    def digest(self) -> str:
        return self._facts[1]

    @property
    def scorer(self) -> str:
        return self._facts[2]

    def tasks(self, split: Split) -> tuple[Task, ...]:
        return self._tasks[split]

    async def attempt(self, skill: str, task: Task, target: Ask) -> Attempt:
        """The inner attempt, with scores that are exact, finite and in 0..1.

        Raises:
            ModelError: the target failed. EnvironmentFailedError: their code raised or returned something else.
        """
        try:
            with Border(self._where, EnvironmentFailedError):
                attempt = await self._inner.attempt(skill, task, target)
                if not isinstance(attempt, Attempt):
                    raise TypeError(f"attempt returned {type(attempt).__name__}, not an Attempt")
                score = Score(exact(attempt.score.hard), exact(attempt.score.soft), _text(attempt.score.reason))
                return dataclasses.replace(
                    attempt,
                    reply=_text(attempt.reply),
                    answer=_text(attempt.answer),
                    score=score,
                    calls=tuple(_text(name) for name in attempt.calls),
                    transcript=tuple(dataclasses.replace(turn, text=_text(turn.text)) for turn in attempt.transcript),
                )
        except MeasurementError as error:
            raise EnvironmentFailedError(f"{self._where}: {error.message}", mend=error.mend) from None

    def explain(self, task: Task, attempt: Attempt) -> Explanation:
        with Border(self._where, EnvironmentFailedError):
            found = self._inner.explain(task, attempt)
            return dataclasses.replace(found, text=_text(found.text))

    async def close(self) -> None:
        with Border(self._where, EnvironmentFailedError):
            await self._inner.close()
