"""From a folder to an environment: `env.yaml`, `env.py`, or an Agent Skills `evals.json`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from skillgit import strictyaml
from skillgit.envs import evals_json, rows, splits, task_files, templates, user_code
from skillgit.envs.contract import SPLITS, Environment
from skillgit.envs.declarative import DeclarativeEnvironment, EnvironmentSpec
from skillgit.envs.digests import code_digests
from skillgit.envs.python_scorer import PythonScorer
from skillgit.envs.scorers import AnswerScorer, Comparison, Scorer, TaskChecks
from skillgit.envs.settings import FILE_NAME, PYTHON_PREFIX, EnvironmentSettings, parse
from skillgit.errors import ConfigError

_EVALS_RATIO = (4, 4, 2)  # such files are short: val needs as many tasks as train
_MOST_SEEDS = 1000
_COMPARISONS: Mapping[str, Comparison] = {"exact": "exact", "f1": "f1", "numeric": "numeric"}


def load_environment(folder: Path, *, label: str) -> Environment:
    """Load an environment.

    What `folder` may be, in this order:

    - a folder with `env.yaml` (or that file): see `skillgit.envs.settings.EnvironmentSettings` for its keys and
      `skillgit.envs.rows.read_tasks` for its tasks. An `env.py` beside it brings its own class, constructed with an
      `skillgit.envs.declarative.EnvironmentSpec`.
    - an Agent Skills folder, its `evals/`, or its `evals.json`: see `skillgit.envs.evals_json`. An `env.yaml` in
      `evals/` wins. Else each eval is scored by its checks on the whole reply, and a hash of its id puts it into train,
      val or test (4:4:2), by the first seed from 42 on that leaves neither train nor val empty.

    Args:
        label: how messages name `folder`, for example its path in the repository.

    Raises:
        ConfigError: names file, line and key.
    """
    where = label.rstrip("/")
    if folder.is_file():
        if folder.name == FILE_NAME:
            return _declared(folder.parent, _parent(where))
        if folder.suffix == ".json":
            return _from_evals(folder, where)
        mend = f"name a folder with {FILE_NAME}, or an {evals_json.FILE_NAME}"
        raise ConfigError(f"{where}: not an environment", mend=mend)
    inner, inner_where = folder / evals_json.FOLDER_NAME, f"{where}/{evals_json.FOLDER_NAME}"
    for place, named in ((folder, where), (inner, inner_where)):
        if (place / FILE_NAME).is_file():
            return _declared(place, named)
        if (place / evals_json.FILE_NAME).is_file():
            return _from_evals(place / evals_json.FILE_NAME, f"{named}/{evals_json.FILE_NAME}")
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = strictyaml.nearest(FILE_NAME, names)
    mend = f"is {near!r} meant to be {FILE_NAME}?" if near else f"write {FILE_NAME}, or change env: in skillgit.yaml"
    raise ConfigError(f"{where}: there is no {FILE_NAME} and no evals/{evals_json.FILE_NAME}", mend=mend)


def _parent(where: str) -> str:
    return where.rpartition("/")[0] or "."


def _declared(folder: Path, label: str) -> Environment:
    """An environment with `env.yaml`, and `env.py` where there is one."""
    where = f"{label}/{FILE_NAME}"
    settings = parse(rows.read_text(task_files.inside(folder, FILE_NAME, label), where), where)
    own = (folder / user_code.FILE_NAME).is_file()
    tasks = task_files.TaskReader(folder, label, settings).read()
    seen = None if own else [n for n in templates.placeholders(settings.prompt) if n != templates.SKILL]
    task_files.check_prompt(tasks, settings.prompt, where)
    task_files.check_splits(tasks, where, seen)
    scorer = _scorer(settings, folder, label, tools=own)
    code = code_digests(folder) if own or settings.scorer.startswith(PYTHON_PREFIX) else {}
    spec = EnvironmentSpec(folder, label, settings, tasks, scorer, code)
    for split in SPLITS:
        for task in tasks[split]:
            scorer.prepare(task)
    if not own:
        return DeclarativeEnvironment(spec)
    environment = user_code.load_own(spec)
    task_files.check_splits({split: environment.tasks(split) for split in SPLITS}, where, None)
    return environment


def _scorer(settings: EnvironmentSettings, folder: Path, label: str, *, tools: bool) -> Scorer:
    """The scorer that the settings name; a row's own checks come before all but a Python scorer."""
    normalize, where = settings.normalize == "text", f"{label}/{FILE_NAME}: scorer"
    if settings.scorer.startswith(PYTHON_PREFIX):
        name = settings.scorer.removeprefix(PYTHON_PREFIX)
        scorer = PythonScorer(task_files.inside(folder, name, where), f"{label}/{name}")
        scorer.check()
        return scorer
    if settings.scorer in _COMPARISONS:
        tolerance = Fraction(str(settings.tolerance or 0))
        inner = AnswerScorer(_COMPARISONS[settings.scorer], normalize=normalize, tolerance=tolerance)
        return TaskChecks(inner, normalize=normalize, tools=tools)
    return TaskChecks(None, defaults=settings.checks, normalize=normalize, tools=tools)


def _from_evals(path: Path, where: str) -> Environment:
    """An `evals.json` as it is."""
    evals = evals_json.read(path, where, with_checks=True)
    for seed in range(splits.DEFAULT_SEED, splits.DEFAULT_SEED + _MOST_SEEDS):
        tasks = task_files.deal(evals.tasks, _EVALS_RATIO, seed)
        if tasks["train"] and tasks["val"]:
            break
    else:
        raise ConfigError(f"{where}: evals: {len(evals.tasks)} are too few to train on", mend="write two or more")
    task_files.check_splits(tasks, where, ["input"])
    description = " ".join(f"{len(evals.tasks)} evals of the skill {evals.skill_name}".split())
    settings = EnvironmentSettings(version=1, description=description, scorer="checks")
    scorer = TaskChecks(None, tools=False)
    for task in evals.tasks:
        scorer.prepare(task)
    return DeclarativeEnvironment(EnvironmentSpec(path.parent, where, settings, tasks, scorer, {}))
