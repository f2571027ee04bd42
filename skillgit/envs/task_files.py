"""The three splits of an environment, from the files that `tasks:` names."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillgit import strictyaml
from skillgit.envs import evals_json, rows, splits, templates
from skillgit.envs.contract import SPLITS, Split, Task
from skillgit.envs.digests import canonical_json
from skillgit.envs.settings import FILE_NAME, EnvironmentSettings
from skillgit.errors import ConfigError

Tasks = Mapping[Split, tuple[Task, ...]]

_DEFAULT_FILES: dict[Split, str] = {"train": "train.jsonl", "val": "val.jsonl", "test": "test.jsonl"}


@dataclass(frozen=True, slots=True)
class TaskReader:
    """Reads the task files of one environment.

    Args:
        folder: the environment's folder; no file outside it is read.
        label: how messages name the folder.
    """

    folder: Path
    label: str
    settings: EnvironmentSettings

    def read(self) -> Tasks:
        """All splits; `test` may be empty.

        Raises:
            ConfigError: names file, line and key.
        """
        files = self.settings.tasks
        if files is not None and files.all is not None:
            tasks = self._file("all", files.all)
            ratio = splits.DEFAULT_RATIO if files.ratio is None else files.ratio
            seed = splits.DEFAULT_SEED if files.seed is None else files.seed
            return deal(tasks, ratio, seed)
        names: dict[Split, str | None] = dict(_DEFAULT_FILES)
        if files is not None:
            names = {"train": files.train, "val": files.val, "test": files.test}
        elif not (self.folder / _DEFAULT_FILES["test"]).exists():
            names["test"] = None
        taken = [name for name in names.values() if name]
        return {split: self._file(split, name, taken) if name else () for split, name in names.items()}

    def _file(self, key: str, name: str, taken: Collection[str] = ()) -> tuple[Task, ...]:
        path = inside(self.folder, name, f"{self.label}/{FILE_NAME}: tasks.{key}", taken)
        where, scorer = f"{self.label}/{name}", self.settings.scorer
        if name.endswith(".json"):
            return evals_json.read(path, where, with_checks=scorer == "checks").tasks
        return rows.read_tasks(path, where, compared=scorer in ("exact", "f1", "numeric"), numbers=scorer == "numeric")


def inside(folder: Path, name: str, where: str, taken: Collection[str] = ()) -> Path:
    """A regular file of a folder, by its relative path; links that lead out are refused.

    Args:
        taken: files that are named for something else, which a missing one cannot be meant to be.

    Raises:
        ConfigError: begins with `where`.
    """
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ConfigError(f"{where}: {name} leads out of the folder", mend="copy the file into the folder")
    if path.is_file():
        return path
    if path.exists():
        raise ConfigError(f"{where}: {name} is not a file", mend="name a file")
    parent = path.parent
    others = {(folder / other).resolve() for other in taken}
    there = [entry.name for entry in parent.iterdir() if entry.resolve() not in others] if parent.is_dir() else []
    near = strictyaml.nearest(path.name, there)
    mend = f"did you mean {near!r}?" if near else "write it, or change the path"
    raise ConfigError(f"{where}: there is no file {name}", mend=mend)


def deal(tasks: Sequence[Task], ratio: Sequence[int | float], seed: int) -> Tasks:
    """Tasks by the split that their ids say."""
    dealt: dict[Split, list[Task]] = {split: [] for split in SPLITS}
    for task in tasks:
        dealt[splits.split_of(task.id, ratio, seed)].append(task)
    return {split: tuple(some) for split, some in dealt.items()}


def check_splits(tasks: Tasks, where: str, fields: Sequence[str] | None) -> None:
    """Train and val have tasks, ids are unique over all splits, and no split has a task of another.

    Args:
        where: how messages name the environment.
        fields: the row's fields that make up what the target sees of a task; None: all but the truth.

    Raises:
        ConfigError: names both places.
    """
    for split in ("train", "val"):
        if not tasks.get(split):
            mend = "add tasks, or change tasks: in env.yaml"
            raise ConfigError(f"{where}: the split {split} has no tasks", mend=mend)
    ids: dict[str, Task] = {}
    seen: dict[bytes, tuple[Split, Task]] = {}
    for split in SPLITS:
        for task in tasks.get(split, ()):
            if first := ids.get(task.id):
                message = f"{task.source}: id: {task.id!r} is also the id of {first.source}"
                raise ConfigError(message, mend="an id may stand in one split only, once")
            ids[task.id] = task
            key = _sight(task, fields)
            other, twin = seen.setdefault(key, (split, task))
            if other != split:
                message = f"{task.source}: input: the split {split} has the task of {twin.source} ({other})"
                raise ConfigError(message, mend="remove it from one of them: a score on it would prove nothing")


def _sight(task: Task, fields: Sequence[str] | None) -> bytes:
    """What two copies of one task have in common; spaces and Unicode's two ways to write a letter do not count."""
    names = sorted(set(task.fields) - {"id", "answer", "checks"}) if fields is None else fields
    values = [task.fields.get(name) for name in names]
    plain = [" ".join(unicodedata.normalize("NFC", v).split()) if isinstance(v, str) else v for v in values]
    return canonical_json([list(names), plain])


def check_prompt(tasks: Tasks, prompt: str, where: str) -> None:
    """Every row has a text or a number for each placeholder of the prompt.

    Raises:
        ConfigError: names the placeholder or the row.
    """
    every = [task for split in SPLITS for task in tasks.get(split, ())]
    known = sorted({name for task in every for name in task.fields} - {"answer", "checks"})
    for name in templates.placeholders(prompt):
        if name == templates.SKILL or not every:
            continue
        if name not in known:
            near = strictyaml.nearest(name, known)
            mend = f"did you mean {{{near}}}?" if near else f"write {{{{{name}}}}} for the text itself"
            raise ConfigError(f"{where}: prompt: {{{name}}} is no field of the tasks", mend=mend)
        for task in every:
            value = task.fields.get(name)
            if not isinstance(value, str | int | float) or isinstance(value, bool):
                problem = f"{task.source}: {name}: the prompt needs a text or a number here"
                raise ConfigError(problem, mend="add it to the row")
