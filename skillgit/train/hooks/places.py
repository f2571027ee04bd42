"""Where a repository's hooks lie, and what lies there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skillgit.errors import RefusedError
from skillgit.store.process import disk_failure
from skillgit.store.repository import Repository
from skillgit.train.hooks.scripts import Kind, kind_of


@dataclass(frozen=True, slots=True)
class HooksFolder:
    """The folder that git takes hooks from.

    Args:
        path: absolute; it need not exist.
        scope: where `core.hooksPath` is set (`local`, `global`, `system`, `worktree`, `command`); None: it is not.
        in_work_tree: whether it lies among the files of the project.
    """

    path: Path
    scope: str | None
    in_work_tree: bool

    @property
    def note(self) -> str | None:
        """What a person has to know about it; None where it is the repository's own."""
        if self.scope in ("global", "system"):
            return f"core.hooksPath is set for all repositories ({self.scope}): each one uses the hooks in {self.path}"
        if self.in_work_tree:
            return f"core.hooksPath is {self.path}, among the project's files: commit what is there, or ignore it"
        return None if self.scope is None else f"core.hooksPath is {self.path}"

    @property
    def husky(self) -> bool:
        """Whether husky writes the folder anew, so that nothing else stays in it."""
        return self.path.name == "_" and self.path.parent.name == ".husky"


@dataclass(frozen=True, slots=True)
class Seat:
    """One hook's places: git's own, pre-commit's for the hook that it found, and ours for that.

    Args:
        hook: what lies where git looks.
        legacy: what lies where pre-commit's script looks for an earlier hook.
        earlier: whether there is one that we found and run first.
    """

    name: str
    folder: Path
    hook: Kind
    legacy: Kind
    earlier: bool

    @property
    def hook_path(self) -> Path:
        """The file that git runs."""
        return self.folder / self.name

    @property
    def legacy_path(self) -> Path:
        """The file that pre-commit's script runs before its own hooks."""
        return self.folder / f"{self.name}.legacy"

    @property
    def earlier_path(self) -> Path:
        """The file that our script runs first."""
        return self.folder / f"{self.name}.before-skillgit"

    @property
    def behind(self) -> bool:
        """Whether our script's place is behind pre-commit's, which moves others there and runs them first."""
        return self.hook == "pre-commit"

    @property
    def kind(self) -> Kind:
        """What lies in the place that is ours."""
        return self.legacy if self.behind else self.hook

    @property
    def path(self) -> Path:
        """The place that is ours."""
        return self.legacy_path if self.behind else self.hook_path


def hooks_folder(repo: Repository) -> HooksFolder:
    """Where git takes the hooks of a repository from: for all its work trees the same, unless configured.

    Raises:
        RefusedError: `core.hooksPath` is no folder: hooks are switched off.
    """
    path = Path(repo.git("rev-parse", "--path-format=absolute", "--git-path", "hooks").text)
    asked = repo.git("config", "--show-scope", "--get", "core.hooksPath", check=False)
    scope = asked.text.split("\t", 1)[0] if asked.code == 0 else None
    if path.exists() and not path.is_dir():
        raise RefusedError(f"core.hooksPath is {path}, no folder: hooks are off", mend="unset core.hooksPath")
    inside = repo.work_tree is not None and path.is_relative_to(repo.work_tree) and scope is not None
    return HooksFolder(path, scope, inside and not path.is_relative_to(repo.common_dir))


def seat(folder: Path, name: str) -> Seat:
    """What lies in the places of a hook.

    Raises:
        RefusedError: a file there cannot be read.
    """
    hook, legacy = (kind_of(content(folder / each)) for each in (name, f"{name}.legacy"))
    return Seat(name, folder, hook, legacy, os.path.lexists(folder / f"{name}.before-skillgit"))


def content(path: Path) -> bytes | None:
    """A hook's bytes; None where there is none. A link that leads nowhere is an empty hook: it is somebody's.

    Raises:
        RefusedError: it cannot be read.
    """
    if not os.path.lexists(path):
        return None
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise disk_failure(error, str(path)) from None


def on_disk(work: Callable[[], None], what: Path) -> None:
    """Do file work, with the disk's refusal as ours.

    Raises:
        RefusedError: it said no.
    """
    try:
        work()
    except OSError as error:
        raise disk_failure(error, str(what)) from None
