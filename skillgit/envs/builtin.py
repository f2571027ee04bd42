"""Where environments and hooks are: in the user's repository, or among those that come with skillgit."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Literal

import skillgit
from skillgit import strictyaml
from skillgit.errors import ConfigError

PREFIX = "builtin/"


def builtin_folder(kind: Literal["envs", "hooks"]) -> Path:
    """The folder of built-in environments or hooks: inside the package in a wheel, beside it in a source checkout.

    Raises:
        ConfigError: this installation has neither.
    """
    package = Path(skillgit.__file__).resolve().parent
    packed, beside = package / "_builtin" / kind, package.parent / kind
    if packed.is_dir():
        return packed
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise ConfigError(f"skillgit: the built-in {kind} are not in this installation", mend="install skillgit again")


def builtin_root() -> Path:
    """The folder of the built-in environments."""
    return builtin_folder("envs")


def builtin_names() -> tuple[str, ...]:
    """Names of the built-in environments, sorted."""
    return tuple(sorted(entry.parent.name for entry in builtin_root().glob("*/env.yaml")))


def resolve_env(spec: str, root: Path) -> Path:
    """What an `env:` setting names: `builtin/<name>`, or a path in the repository.

    Args:
        root: the repository's top folder; a path that leaves it, through a link too, is refused.

    Returns: a folder, or an `evals.json`; see `skillgit.envs.loading`.

    Raises:
        ConfigError: there is no such environment; names the nearest.
    """
    if spec.startswith(PREFIX):
        return _builtin(spec.removeprefix(PREFIX))
    pure = PurePosixPath(spec.replace("\\", "/"))
    path = (root / pure).resolve()
    if not spec.strip() or pure.is_absolute() or not path.is_relative_to(root.resolve()):
        mend = f"write a path in the repository, or {PREFIX}<name>"
        raise ConfigError(f"env: {spec!r} does not lie inside the repository", mend=mend)
    if path.exists():
        return root / pure
    near = _near(pure, root)
    mend = f"did you mean {near!r}?" if near else f"built-in are {_listed()}"
    raise ConfigError(f"env: there is no {spec!r} in the repository", mend=mend)


def _builtin(name: str) -> Path:
    names = builtin_names()
    if name in names:
        return builtin_root() / name
    near = strictyaml.nearest(name, list(names))
    mend = f"did you mean {PREFIX + near!r}?" if near else f"built-in are {_listed()}"
    raise ConfigError(f"env: there is no built-in environment {name!r}", mend=mend)


def _listed() -> str:
    return ", ".join(PREFIX + name for name in builtin_names()) or "none"


def _near(pure: PurePosixPath, root: Path) -> str | None:
    """A path that exists and that was probably meant: a neighbour with a similar name, or a built-in one."""
    parent = root / pure.parent
    neighbours = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    if near := strictyaml.nearest(pure.name, neighbours):
        return str(pure.parent / near)
    return PREFIX + pure.name if pure.name in builtin_names() else None
