"""Which work tree uses what: git's list, and the states that it does not list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from skillgit.errors import RepositoryError
from skillgit.store.process import Git

# Files in a work tree's git directory that name a branch while a rebase or a bisection has it in its hands.
_STATES = ("rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs", "BISECT_START")
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def of_git_dir(git: Git, git_dir: Path) -> Path:
    """The work tree that a git directory (not a bare one) belongs to.

    Raises:
        RepositoryError: there is none.
    """
    configured = git.run("config", "--get", "core.worktree", check=False).text
    pointer = git_dir / "gitdir"
    if configured:
        found = (git_dir / configured).resolve()
    elif pointer.is_file():
        found = (git_dir / pointer.read_text("utf-8").strip()).parent
    else:
        found = git_dir.parent
    if not found.is_dir():
        raise RepositoryError(f"{git_dir}: its work tree {found} is gone", mend="run it in the work tree")
    return found


def using(git: Git, common_dir: Path, branch_ref: str) -> Path | None:
    """The work tree in which a branch is checked out, rebased or bisected; one whose folder is gone does not count.

    Where the branch is checked out in the main work tree, whose git directory lies elsewhere and does not say where
    its work tree is, that git directory stands for it, unless `git` runs in it.
    """
    for path, branch in _listed(git):
        if branch == branch_ref:
            return path if path.resolve() != common_dir.resolve() else _main(git, common_dir)
    for git_dir in [common_dir, *sorted((common_dir / "worktrees").glob("*"))]:
        if any(branch_ref in _named(git_dir / state) for state in _STATES):
            return of_git_dir(Git(git_dir), git_dir)
    return None


def unfinished(git: Git) -> str | None:
    """What is half done in the work tree that `git` runs in: a merge, a rebase …; None when nothing is."""
    for name, what in _UNFINISHED.items():
        if Path(git.run("rev-parse", "--path-format=absolute", "--git-path", name).text).exists():
            return what
    return None


def left_out(git: Git, path: str) -> str | None:
    """A file at a path (from the work tree's root), or below it, that is in the index and that a sparse checkout keeps
    out of the work tree; None where there is none."""
    if git.run("config", "--type=bool", "--get", "core.sparseCheckout", check=False).text != "true":
        return None
    listed = git.run("--literal-pathspecs", "ls-files", "-t", "-z", "--", path, check=False).text.split("\0")
    return next((entry[2:] for entry in listed if entry.startswith("S ")), None)


def _listed(git: Git) -> Iterator[tuple[Path, str]]:
    """Work trees that exist, and the branch of each that has one."""
    for block in git.run("worktree", "list", "--porcelain", "-z").text.split("\0\0"):
        facts = {key: value for key, _, value in (line.partition(" ") for line in block.split("\0"))}
        if "branch" in facts and "prunable" not in facts:
            yield Path(facts["worktree"]), facts["branch"]


def _main(git: Git, common_dir: Path) -> Path:
    """The main work tree where git lists its git directory in its place: a submodule's, or a separate one."""
    asked = ("rev-parse", "--path-format=absolute", "--git-dir", "--show-toplevel")
    here = git.run(*asked, check=False)
    lines = here.text.split("\n")
    if here.code == 0 and len(lines) == 2 and Path(lines[0]).resolve() == common_dir.resolve():
        return Path(lines[1])
    if git.run("config", "--get", "core.worktree", check=False).text:
        return of_git_dir(Git(common_dir), common_dir)
    return common_dir


def _named(state: Path) -> list[str]:
    """The branches that a state file names."""
    if not state.is_file():
        return []
    names = state.read_text("utf-8", "replace").split("\n")
    return names + [f"refs/heads/{name}" for name in names] if state.name == "BISECT_START" else names
