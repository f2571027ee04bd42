"""The git side of a merge: trees, one document's text, and the work tree where the base branch is checked out.

A checkout is updated before its branch moves. A crash in between leaves the merge staged against the old tip, which
the next `skillgit merge` completes; the other order would leave a staged *revert* of the merge.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillgit.errors import RefMovedError, RefusedError, SkillgitError
from skillgit.store import worktrees
from skillgit.store.process import Git, failure, first_line
from skillgit.store.repository import Repository
from skillgit.store.transactions import HeldLock, RefUpdate, commit_refs

BEST_FILE = "best_skill.md"

_IN_THE_WAY = (
    re.compile(r"Entry '(.+)' (?:not uptodate|would be overwritten)"),
    re.compile(r"Untracked working tree file '(.+)' would be"),
    re.compile(r"Updating the following directories would lose untracked files in them:\s+(.+)"),
    re.compile(r"Updating '(.+)' would lose untracked files"),
)


@dataclass(frozen=True, slots=True)
class MergedTree:
    """A merge's tree; with conflicts, the files named have conflict markers in it."""

    tree: str
    conflicts: list[str]


def best_path(document_path: str) -> str:
    """Where the merge result lies: `best_skill.md` beside the document."""
    return str(PurePosixPath(document_path).with_name(BEST_FILE))


def merge_tree(repo: Repository, ours: str, theirs: str) -> MergedTree:
    """Merge two commits as `git merge` would, without touching index or work tree.

    Raises:
        RefusedError: they share no history. RepositoryError: git failed.
    """
    result = repo.git("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs, check=False)
    if result.code not in (0, 1) or not result.out:
        if "unrelated histories" in result.err:
            raise RefusedError(f"{ours[:12]} and {theirs[:12]} share no history", mend="merge them by hand first")
        raise failure(("merge-tree",), result)
    tree, *paths = result.text.split("\0")
    return MergedTree(tree, sorted({path for path in paths if path}))


LABELS = ("base branch", "before", "best document")


def merge_file(
    repo: Repository, ours: str, base: str, theirs: str, *, labels: tuple[str, str, str] = LABELS
) -> tuple[str, str]:
    """Merge one document's text three ways, by `git merge-file`.

    Args:
        labels: what the conflict markers call the three.

    Returns:
        the merged text and "", or "" and the text with both sides of each conflict marked.
    """
    with tempfile.TemporaryDirectory(prefix="skillgit-merge-") as folder:
        paths = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(text.encode())
        names = [part for label in labels for part in ("-L", label)]
        result = repo.git("merge-file", "-p", "-q", *names, *map(str, paths), check=False)
    if result.code < 0 or result.code > 127:
        raise failure(("merge-file",), result)
    text = result.out.decode("utf-8")
    return (text, "") if result.code == 0 else ("", text)


def check_checkout(repo: Repository, worktree: Path, old: str, new: str) -> None:
    """See that a work tree can go from one commit to another without losing anything. Changes nothing.

    Raises:
        RefusedError: a merge or rebase is half done there, a local change would be lost, or an untracked file (an
            ignored one, too) lies where a file has to go; names the path.
    """
    if worktree == repo.common_dir and not repo.bare:
        said = f"the branch is checked out in the work tree of {worktree}, which does not say where that is"
        raise RefusedError(said, mend="run it in that work tree")
    git = _at(repo, worktree)
    what = worktrees.unfinished(git)
    if what is not None:
        raise RefusedError(f"{worktree}: a {what} is not finished there", mend=f"finish it, or `git {what} --abort`")
    for path in _added(git, old, new):
        # git itself would overwrite an ignored file here.
        if _untracked(git, worktree, path):
            raise RefusedError(f"{path}: an untracked file would be overwritten", mend="move it, or commit it")
    _try_to_write(git, worktree, old, new)
    # Files that were only touched would otherwise look changed.
    git.run("update-index", "-q", "--refresh", check=False)
    result = git.run("read-tree", "-n", "-m", "-u", old, new, check=False)
    if result.code:
        raise _in_the_way(worktree, result.err) or failure(("read-tree",), result)


def update_checkout(repo: Repository, worktree: Path, old: str, new: str) -> None:
    """Bring index and work tree from one commit to another, as `git merge` would; unrelated local changes survive.

    Raises:
        RefusedError: something would be lost; nothing was changed.
    """
    check_checkout(repo, worktree, old, new)
    git = _at(repo, worktree)
    result = git.run("read-tree", "-m", "-u", old, new, check=False)
    if result.code:
        raise _in_the_way(worktree, result.err) or failure(("read-tree",), result)


def move_checked_out(
    repo: Repository,
    worktree: Path | None,
    branch: RefUpdate,
    message: str,
    *,
    others: Sequence[RefUpdate] = (),
    lock: HeldLock | None = None,
) -> None:
    """Move a branch, and the work tree that has it checked out (None: none has).

    Args:
        branch: an existing branch; both values are commits.
        others: refs that move with it.

    Raises:
        RefusedError: something would be lost, or the refs could not be moved; the work tree is as it was.
    """
    if worktree is None or branch.old is None or branch.new is None:
        commit_refs(repo, [branch, *others], message, lock=lock)
        return
    found = repo.read_ref(branch.ref)
    if found != branch.old:
        now = f"is {found}" if found else "is gone"
        raise RefMovedError(f"{branch.ref} was expected at {branch.old} and {now}", mend="run it again from there")
    update_checkout(repo, worktree, branch.old, branch.new)
    try:
        commit_refs(repo, [branch, *others], message, lock=lock)
    except SkillgitError:
        # Back to where the branch is, which may have moved in this very moment.
        now_at = repo.read_ref(branch.ref)
        if now_at is not None and now_at != branch.new:
            update_checkout(repo, worktree, branch.new, now_at)
        raise


def _at(repo: Repository, worktree: Path) -> Git:
    return Repository.open(worktree).runner if worktree != repo.work_tree else repo.runner


def _added(git: Git, old: str, new: str) -> list[str]:
    listed = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=A", old, new).text
    return [path for path in listed.split("\0") if path]


def _try_to_write(git: Git, worktree: Path, old: str, new: str) -> None:
    """Write the files that would change into an empty folder first: where a filter fails, git has removed the old file
    by then, and cannot write it again either.

    Raises:
        RefusedError: a filter fails; names the path.
    """
    listed = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=d", old, new).out
    if not listed:
        return
    with tempfile.TemporaryDirectory(prefix="skillgit-checkout-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        git.run("read-tree", new, env=index)
        into = f"--prefix={Path(folder, 'files')}/"
        done = git.run("checkout-index", into, "-z", "--stdin", input=listed, check=False, env=index)
    if done.code:
        mend = "let `git checkout` work there, or take the filter out of .gitattributes"
        raise RefusedError(f"{worktree}: git cannot write a file: {first_line(done.err)}", mend=mend)


def _untracked(git: Git, worktree: Path, path: str) -> bool:
    place = worktree / path
    if not (place.is_symlink() or place.exists()):
        return False
    return not git.run("--literal-pathspecs", "ls-files", "-z", "--", path).out


def _in_the_way(worktree: Path, err: str) -> RefusedError | None:
    """git's refusal, with the path that it names."""
    for pattern in _IN_THE_WAY:
        if match := pattern.search(err):
            kind = "an untracked file" if "ntracked" in match[0] else "a local change"
            return RefusedError(f"{match[1]}: {kind} would be overwritten", mend="commit it, or `git stash`")
    if "index.lock" in err:
        mend = "wait for it; if no git runs there, remove the file"
        return RefusedError(f"{worktree}: another git process works there: {first_line(err)}", mend=mend)
    if "unmerged" in err or "resolve your current index" in err:
        return RefusedError(f"{worktree}: files with conflicts are in the index", mend="resolve them first")
    return None
