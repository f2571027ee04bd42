"""A git repository: found and read through git, moved only by `skillgit.store.transactions`."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from pathlib import Path

from skillgit.errors import RefusedError, RepositoryError, SkillgitError
from skillgit.store import identity, objects, worktrees
from skillgit.store.process import Git, GitResult, disk_failure, failure, first_line

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Repository:
    """One repository, seen from one work tree (or from none).

    Args:
        git_dir: this work tree's git directory.
        common_dir: the git directory that all work trees share.
        work_tree: the work tree's root; None in a bare repository.
        object_format: `sha1` or `sha256`.
        runner: runs git in the work tree's root (in a bare repository: in the git directory).
    """

    def __init__(self, git_dir: Path, common_dir: Path, work_tree: Path | None, object_format: str) -> None:
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.work_tree = work_tree
        self.bare = work_tree is None
        self.object_format = object_format
        self.runner = Git(work_tree or git_dir)

    @classmethod
    def open(cls, start: Path) -> Repository:
        """Find the repository that a folder lies in, as git does, whatever a calling hook says about another one.

        Raises:
            RepositoryError: no repository, one that git does not trust or cannot read; git missing or too old.
        """
        start = Path(os.path.abspath(start))
        if not start.is_dir():
            raise RepositoryError(f"{start} is no folder", mend="run it inside a git repository")
        asked = ("--is-bare-repository", "--is-inside-git-dir", "--show-object-format")
        found = Git(start).run(
            "rev-parse", *asked, "--path-format=absolute", "--git-dir", "--git-common-dir", check=False
        )
        if found.code:
            raise _unopened(start, found)
        lines = found.text.split("\n")
        if len(lines) != 5:
            raise RepositoryError(f"{start}: a line end in the repository's path", mend="move the repository")
        bare, inside, object_format = lines[0] == "true", lines[1] == "true", lines[2]
        git_dir, common_dir = Path(lines[3]), Path(lines[4])
        if bare:
            return cls(git_dir, common_dir, None, object_format)
        if inside:  # A hook that runs in the git directory of a work tree.
            work_tree = worktrees.of_git_dir(Git(start), git_dir)
        else:
            work_tree = Path(Git(start).run("rev-parse", "--show-toplevel").text)
        return cls(git_dir, common_dir, work_tree, object_format)

    @functools.cached_property
    def objects(self) -> objects.ObjectStore:
        """The repository's objects; opened on first use, since it loads libgit2."""
        return objects.open_objects(self.runner, self.common_dir, self.object_format)

    @property
    def state_dir(self) -> Path:
        """Our own folder in the common git directory (cache, locks, logs); made when it is missing.

        Raises:
            RefusedError: it cannot be made.
        """
        path = self.common_dir / "skillgit"
        try:
            path.mkdir(exist_ok=True)
        except OSError as error:
            raise disk_failure(error, str(path)) from None
        return path

    def git(
        self,
        *args: str,
        input: bytes | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> GitResult:
        """Run git. See `process.Git.run`.

        Raises:
            RepositoryError, RefusedError: git failed (only with `check`), with git's own first line.
        """
        return self.runner.run(*args, input=input, check=check, env=env, pass_fds=pass_fds)

    def identity(self) -> str:
        """Who would commit: `Name <email>`.

        Raises:
            RepositoryError: git has no identity; says the two commands that give it one.
        """
        identity.person(self.runner, "GIT_AUTHOR_IDENT")
        return identity.person(self.runner).rsplit(" ", 2)[0]

    def head_branch(self) -> str | None:
        """The checked out branch as a whole ref (`refs/heads/main`), born or not; None when HEAD is detached."""
        result = self.git("symbolic-ref", "--quiet", "HEAD", check=False)
        if result.code not in (0, 1):
            raise failure(("symbolic-ref",), result)
        return result.text or None

    def is_unborn(self) -> bool:
        """Whether HEAD has no commit yet."""
        return self.resolve("HEAD") is None

    def resolve(self, rev: str) -> str | None:
        """The commit that a revision means (`main`, `v1~2`, an id, `:/text`); None where there is none.

        Raises:
            RefusedError: it begins with "-" and would be an option.
        """
        if rev.startswith("-"):
            raise RefusedError(f"{rev!r} is no revision", mend="name a branch, a tag or a commit")
        if not rev or "\0" in rev:
            return None
        if rev.startswith(":/"):  # Such a search would look for what we add, too.
            rev = self.git("rev-parse", "--verify", "--quiet", rev, check=False).text
        result = self.git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", check=False)
        return result.text if result.code == 0 and _OID.fullmatch(result.text) else None

    def read_ref(self, ref: str) -> str | None:
        """What a ref, given by its whole name, points to (a tag's own id); None where there is no such ref."""
        result = self.git("show-ref", "--verify", "--hash", "--", ref, check=False)
        if result.code == 0:
            return result.text
        if "not a valid ref" in result.err:
            return None
        raise failure(("show-ref",), result)

    def list_refs(self, prefix: str) -> dict[str, str]:
        """Whole ref names and what they point to, sorted, of the ref `prefix` itself and of all below it."""
        result = self.git("for-each-ref", "--format=%(refname) %(objectname)", prefix)
        return {ref: oid for ref, _, oid in (line.partition(" ") for line in result.text.split("\n") if line)}

    def checked_out_at(self, branch_ref: str) -> Path | None:
        """The work tree that has a branch (a whole ref) checked out, or is rebasing or bisecting it; None: no one."""
        return worktrees.using(self.runner, self.common_dir, branch_ref)

    def config(self, key: str) -> str | None:
        """A setting's value as git sees it; None where it is not set."""
        result = self.git("config", "--null", "--get", key, check=False)
        if result.code == 0:
            return result.text.removesuffix("\0")
        if result.code == 1:
            return None
        raise failure(("config",), result)

    def close(self) -> None:
        """End helper processes."""
        if "objects" in self.__dict__:
            self.objects.close()


def _unopened(start: Path, result: GitResult) -> SkillgitError:
    """Why git found no repository."""
    line = first_line(result.err)
    if "dubious ownership" in line:
        mend = re.search(r"git config --global --add safe\.directory .*", result.err)
        advice = f"if you trust it, run: {mend[0]}" if mend else "see `git help config`, safe.directory"
        return RepositoryError(f"{start}: the repository belongs to someone else", mend=advice)
    if "safe.bareRepository" in line:
        return RepositoryError(f"{start}: git does not use bare repositories here", mend="see safe.bareRepository")
    if line.startswith("not a git repository (or any"):
        return RepositoryError(f"{start} is not in a git repository", mend="run `git init` there, or use -C DIR")
    return RepositoryError(f"{start}: git cannot open the repository: {line}", mend="make `git status` work there")
