"""Open what a command works on: the repository, its configuration, a skill with its environment and models.

What only some commands need (environments, models, sessions) is loaded when it is asked for.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgit import strictyaml
from skillgit.config import FILE_NAME, Config, ModelSettings, parse
from skillgit.errors import ConfigError
from skillgit.store import worktrees
from skillgit.store.refs import HEADS
from skillgit.store.repository import Repository

if TYPE_CHECKING:
    from skillgit.envs.contract import Environment
    from skillgit.models.base import Model
    from skillgit.models.limiter import Limiter
    from skillgit.train.events import Event
    from skillgit.train.session import Session

CACHE_FILE = "calls.sqlite3"


@dataclass(slots=True)
class Project:
    """A repository with its configuration.

    Args:
        root: where configuration and environments are read from: the work tree, or, for a bare repository, a
            temporary copy of what HEAD's tree holds.
        temporary: the copies of trees that a bare repository needs, by revision.
        limiters: the slots of each endpoint, which all roles share.
        explicit: `section.key` of what the command line set.
    """

    repo: Repository
    config: Config
    root: Path
    temporary: dict[str, tempfile.TemporaryDirectory[str]] = field(default_factory=dict)
    limiters: dict[str, Limiter] = field(default_factory=dict)
    explicit: frozenset[str] = frozenset()

    @classmethod
    def open(cls, start: Path, overrides: Iterable[tuple[str, str, str]] = ()) -> Project:
        """Find the repository around `start` and read its skillgit.yaml.

        Raises:
            RepositoryError: no repository. ConfigError: no or a wrong configuration.
        """
        repo, overrides = Repository.open(start), list(overrides)
        explicit = frozenset(key for _, key, _ in overrides)
        if repo.work_tree is not None:
            try:
                return cls(repo, _read(repo.work_tree, overrides), repo.work_tree, explicit=explicit)
            except ConfigError:
                _refuse_left_out(repo, FILE_NAME)
                raise
        temporary = _export(repo, "HEAD")
        root = Path(temporary.name)
        try:
            return cls(repo, _read(root, overrides), root, {"HEAD": temporary}, explicit=explicit)
        except ConfigError:
            temporary.cleanup()
            raise

    def environment(self, name: str) -> Environment:
        """The environment of a skill.

        Raises:
            ConfigError: names file, line and key.
        """
        from skillgit.envs.builtin import resolve_env
        from skillgit.envs.loading import load_environment

        settings = self.config.skill(name)
        spec, root, into = settings.env, self.root, settings.merge.into
        if self.repo.work_tree is None and into is not None:
            if into not in self.temporary:
                self.temporary[into] = _export(self.repo, f"{HEADS}{into}")
            root = Path(self.temporary[into].name)
        try:
            return load_environment(resolve_env(spec, root), label=spec)
        except ConfigError:
            _refuse_left_out(self.repo, spec)
            raise

    def model(
        self, name: str, role: str, *, override: str | None = None, yes: bool = False, say: Callable[[str], None]
    ) -> Model:
        """The model of a role; `override` is a `provider/model` from the command line."""
        from skillgit.models.registry import open_model

        if override is not None:
            chosen = strictyaml.validate(ModelSettings, override, "--target", None)
        else:
            chosen = self.config.model(name, "target" if role == "target" else "optimizer")
        return open_model(chosen, self.config.limits, yes=yes, say=say, root=self.root, limiters=self.limiters)

    def session(
        self,
        name: str,
        listener: Callable[[Event], None],
        *,
        optimizer: bool,
        target: str | None = None,
        yes: bool = False,
        say: Callable[[str], None],
    ) -> Session:
        """A skill, opened. The caller closes it."""
        from skillgit.models.cache import CallCache
        from skillgit.train.session import Session

        settings = self.config.skill(name)
        environment = self.environment(name)
        target_model = self.model(name, "target", override=target, yes=yes, say=say)
        optimizer_model = self.model(name, "optimizer", yes=yes, say=say) if optimizer else None
        cache = CallCache.open(self.repo.state_dir / CACHE_FILE)
        return Session(
            name,
            settings,
            self.repo,
            environment,
            target_model,
            optimizer_model,
            cache,
            listener,
            explicit=self.explicit,
        )

    def has_uncommitted(self, path: str) -> bool:
        """Whether the work tree's copy of a file differs from HEAD's: training reads commits only."""
        if self.repo.work_tree is None or self.repo.is_unborn():
            return False
        return self.repo.git("diff", "--quiet", "HEAD", "--", f":(top,literal){path}", check=False).code == 1

    def close(self) -> None:
        """Remove the temporary copies of a bare repository's trees."""
        for temporary in self.temporary.values():
            temporary.cleanup()


def _refuse_left_out(repo: Repository, path: str) -> None:
    """Say that something is missing because a sparse checkout leaves it out, where that is so.

    Raises:
        ConfigError: so it is.
    """
    found = worktrees.left_out(repo.runner, path) if repo.work_tree is not None else None
    if found is not None:
        mend = f"run: git sparse-checkout add {shlex.quote(path)}"
        raise ConfigError(f"{found}: a sparse checkout leaves it out of the work tree", mend=mend)


def _read(root: Path, overrides: Iterable[tuple[str, str, str]]) -> Config:
    path = root / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{FILE_NAME}: there is none at the repository's root", mend="run `skillgit init`") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{FILE_NAME}: not UTF-8", mend="save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{FILE_NAME}: {error.strerror}", mend="make it readable") from None
    try:
        return parse(text, FILE_NAME, overrides)
    except ConfigError:
        _refuse_pointer(text)
        raise


def _refuse_pointer(text: str) -> None:
    """Say that the configuration is a pointer of Git LFS, where it is one.

    Raises:
        ConfigError: so it is.
    """
    from skillgit.document.structure import LFS_POINTER

    if text.startswith(LFS_POINTER.decode()):
        mend = "run `git lfs pull`, or keep the file out of LFS"
        raise ConfigError(f"{FILE_NAME}:1: a Git LFS pointer", mend=mend) from None


def _export(repo: Repository, rev: str) -> tempfile.TemporaryDirectory[str]:
    """A revision's files, links and submodules left out, in a temporary folder, for a bare repository."""
    commit = repo.resolve(rev)
    if commit is None:
        raise ConfigError(f"{FILE_NAME}: {rev} has no commit", mend=f"push a commit with {FILE_NAME} first")
    temporary = tempfile.TemporaryDirectory(prefix="skillgit-")
    for path, entry in repo.objects.list_files(commit).items():
        # Who can push can write any name into a tree.
        if entry.mode not in (0o100644, 0o100755) or ".." in PurePosixPath(path).parts:
            continue
        target = Path(temporary.name) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(repo.objects.read_blob(entry.oid))
    return temporary
