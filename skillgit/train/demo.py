"""`skillgit demo`: a fresh repository with the built-in opscli environment, trained for real."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skillgit.envs.builtin import builtin_root
from skillgit.errors import ConfigError, RefusedError, RepositoryError
from skillgit.store.process import Git
from skillgit.store.repository import Repository
from skillgit.train import scaffold

SKILL = "opscli"
BASE = "main"
IDENTITY = {"user.name": "skillgit demo", "user.email": "demo@example.invalid"}

# Measured on two cores (docs/benchmarks.md): small steps, since each new document costs a prefill.
SETTINGS = {
    "train": "{num_epochs: 2, batch_size: 8}",
    "optimizer": "{learning_rate: 4, lr_scheduler: constant}",
}


def check_folder(folder: Path) -> None:
    """Changes nothing.

    Raises:
        RefusedError: the folder is not empty, or no folder.
    """
    try:
        used = any(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise RefusedError(f"{folder}: {error.strerror}", mend="name another folder: `skillgit demo DIR`") from None
    if used:
        raise RefusedError(f"{folder}: the folder is not empty", mend="name another one: `skillgit demo DIR`")


def create(folder: Path, *, model: str, split_seed: int | None = None, skill: str = SKILL) -> Repository:
    """Make a repository whose first commit has a built-in environment, its seed document and a skillgit.yaml.

    Args:
        folder: a new or an empty folder.
        split_seed: write fresh splits with the environment's own generator, instead of the ones that come with it.
        skill: the built-in environment's name, and the skill's.

    Raises:
        RefusedError: the folder is not empty.
    """
    check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{folder}: {error.strerror}", mend="name another folder: `skillgit demo DIR`") from None
    git = Git(folder)
    git.run("init", "-q", "-b", BASE)
    repo = Repository.open(folder)
    files = _environment(skill, split_seed)
    env = f"envs/{skill}"
    scaffold.write(folder, files)
    plan = scaffold.plan(
        folder, name=skill, document=None, env=env, into=BASE, documents=[], settings=SETTINGS, model=model
    )
    seed = (builtin_root() / skill / "SKILL.md").read_text(encoding="utf-8")
    scaffold.write(folder, {**plan.files, f"skills/{skill}/SKILL.md": seed})
    _identify(repo)
    git.run("add", "--all")
    git.run("commit", "-q", "--no-verify", "-m", f"Add the {skill} skill, its environment and skillgit.yaml")
    return repo


def generated(skill: str, seed: int) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Fresh splits of a built-in environment, by the generator that lies beside it.

    Raises:
        ConfigError: the environment has no generator.
    """
    path = builtin_root() / skill / "generate.py"
    spec = importlib.util.spec_from_file_location(f"skillgit_generator_{skill}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ConfigError(f"builtin/{skill} has no generator", mend="leave --split-seed out")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Mapping[str, Sequence[Mapping[str, Any]]] = module.generate(seed)
    return found


def _environment(skill: str, split_seed: int | None) -> dict[str, str]:
    """The environment's files as they go into the fresh repository."""
    source = builtin_root() / skill
    names = sorted(path.name for path in source.iterdir() if path.suffix in (".yaml", ".jsonl"))
    files = {f"envs/{skill}/{name}": (source / name).read_text(encoding="utf-8") for name in names}
    if split_seed is not None:
        for split, rows in generated(skill, split_seed).items():
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            files[f"envs/{skill}/{split}.jsonl"] = "".join(lines)
    return files


def _identify(repo: Repository) -> None:
    """A fresh machine may have no git identity; the demo's own is set in its repository only."""
    try:
        repo.identity()
    except RepositoryError:
        for key, value in IDENTITY.items():
            repo.git("config", "--local", key, value)
