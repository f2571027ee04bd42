"""Moving refs: all of them or none, in one `git update-ref --stdin` (DESIGN, "A step ends in one transaction")."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from skillgit.errors import RefMovedError, RefusedError, SkillgitError
from skillgit.store.process import GitResult, failure, first_line
from skillgit.store.refs import HEADS
from skillgit.store.repository import Repository

# Waiting this long for a lock of another git process is better than refusing: `git pack-refs` takes each for a moment.
_LOCK_TIMEOUT_MS = 1000
_STALE_AFTER_S = 0.3
_LOCK_FILE = re.compile(r"Unable to create '(.+?\.lock)'")
_IN_THE_WAY = re.compile(r"'(refs/[^']+)' exists; cannot create '(refs/[^']+)'")
_HOOK_NO = "ref updates aborted by hook"


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One ref to move.

    Args:
        ref: the whole name.
        old: what it has to be now; None: it must not exist.
        new: what it becomes; None: it is deleted.
    """

    ref: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class MovedRef:
    """A ref that is neither where an update expected it nor where it leads."""

    update: RefUpdate
    found: str | None


@dataclass(frozen=True, slots=True)
class RollForward:
    """What `roll_forward` did: updates carried out now, and refs left alone because someone else moved them."""

    done: list[RefUpdate] = field(default_factory=list)
    moved: list[MovedRef] = field(default_factory=list)


class _HalfDoneError(RefusedError):
    """git failed after it had begun to move refs."""


class HeldLock(Protocol):
    """What a transaction needs of the skill's lock (`skillgit.store.locks.SkillLock`)."""

    @property
    def file_descriptors(self) -> tuple[int, ...]:
        """What the child inherits, so that the lock stays held while the child of a killed owner commits."""

    def expect(self, refs: Sequence[str]) -> None:
        """Note the refs that are about to move."""

    def settle(self) -> None:
        """Note that nothing is under way any more."""


def commit_refs(repo: Repository, updates: Sequence[RefUpdate], message: str, *, lock: HeldLock | None = None) -> None:
    """Move refs in the given order, each with its expected old value: all are prepared, or none moves.

    Args:
        updates: the journal first, since it is the record that a crash is rolled forward from.
        message: for the reflogs; one line.
        lock: the skill's lock; it names these refs while they move.

    Raises:
        RefMovedError: a ref was not where it was expected; names it with both values.
        RefusedError: a hook said no, another git holds a ref's lock, a ref's name is in the way, the disk is full.
        RepositoryError: git failed in another way.
    """
    if not updates:
        return
    refs = [update.ref for update in updates]
    if lock is not None:
        refs += _head(repo, refs)
        lock.expect(refs)
    result = repo.git(
        *("-c", "core.logAllRefUpdates=true", "-c", f"core.filesRefLockTimeout={_LOCK_TIMEOUT_MS}"),
        *("update-ref", "-z", "-m", " ".join(message.split()), "--stdin"),
        input=_commands(repo, updates),
        check=False,
        pass_fds=lock.file_descriptors if lock is not None else (),
    )
    if result.code < 0 and lock is not None:
        # The child was killed and left its lock files; ours is the skill's lock, so they are nobody else's.
        remove_stale_locks(repo, refs)
    error = _refusal(repo, updates, result) if result.code else None
    # What is half done stays written down for the next owner of the lock.
    if lock is not None and not isinstance(error, _HalfDoneError):
        lock.settle()
    if error is not None:
        raise error


def roll_forward(
    repo: Repository, updates: Sequence[RefUpdate], *, lock: HeldLock | None = None, message: str = "roll forward"
) -> RollForward:
    """Complete a transaction that a crash cut short: what is at its old value moves to the new one.

    Raises: as `commit_refs` does.
    """
    outcome = RollForward()
    for update in updates:
        found = repo.read_ref(update.ref)
        if found == update.new:
            continue
        if found == update.old:
            outcome.done.append(update)
        else:
            outcome.moved.append(MovedRef(update, found))
    commit_refs(repo, outcome.done, f"skillgit: {message}", lock=lock)
    return outcome


def remove_stale_locks(repo: Repository, refs: Sequence[str]) -> list[Path]:
    """Remove leftover `.lock` files of exactly these refs, and say which.

    Only for the holder of the skill's lock, after the owner who had listed these refs has died. A lock that
    appeared or changed a moment ago is someone else's and stays.

    Raises:
        RefusedError: one cannot be removed.
    """
    seen = {path: state for path in (repo.common_dir / f"{ref}.lock" for ref in refs) if (state := _state(path))}
    if not seen:
        return []
    time.sleep(_STALE_AFTER_S)
    removed = []
    for path, state in seen.items():
        if _state(path) == state:
            try:
                path.unlink()
            except OSError as error:
                raise RefusedError(f"{path}: {error.strerror}", mend="remove it by hand") from None
            removed.append(path)
    return removed


def _state(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_ino, stat.st_mtime_ns


def _head(repo: Repository, refs: Sequence[str]) -> list[str]:
    """HEAD of this work tree, below the common directory, where it is one of the branches: git locks it too."""
    if not any(ref.startswith(HEADS) for ref in refs) or repo.head_branch() not in refs:
        return []
    return [(repo.git_dir / "HEAD").relative_to(repo.common_dir).as_posix()]


def _commands(repo: Repository, updates: Sequence[RefUpdate]) -> bytes:
    zero = "0" * (64 if repo.object_format == "sha256" else 40)
    lines = ["start"]
    for update in updates:
        ref, old, new = update.ref, update.old, update.new
        if old == new:
            lines.append(f"verify {ref}\0{old or zero}")
        elif new is None:
            lines.append(f"delete {ref}\0{old}")
        elif old is None:
            lines.append(f"create {ref}\0{new}")
        else:
            lines.append(f"update {ref}\0{new}\0{old}")
    return "".join(f"{line}\0" for line in [*lines, "prepare", "commit"]).encode()


def _refusal(repo: Repository, updates: Sequence[RefUpdate], result: GitResult) -> SkillgitError:
    """Why nothing moved, in our words."""
    found = {update.ref: repo.read_ref(update.ref) for update in updates}
    half = result.code < 0 or "fatal: commit: " in result.err
    result = replace(result, err=re.sub(r"(?m)^fatal: (prepare|commit): ", "fatal: ", result.err))
    line = first_line(result.err)
    if half:
        begun = [u.ref for u in updates if u.old != u.new and found[u.ref] == u.new]
        if begun:
            return _HalfDoneError(
                f"{begun[-1]} moved, the refs after it did not: {line or 'git was killed'}",
                mend="mend that and run it again: the rest is completed from the journal",
            )
    moved = [u for u in updates if found[u.ref] != u.old]
    if moved:
        update = moved[0]
        expected, now = update.old or "not to exist", found[update.ref] or "gone"
        return RefMovedError(f"{update.ref} was expected {expected} and is {now}", mend="run it again from there")
    if _HOOK_NO in result.err:
        said = [text.strip() for text in result.err.splitlines() if text.strip() and not text.startswith("fatal: ")]
        return RefusedError(f"the reference-transaction hook refused {updates[0].ref}: {(said or [line])[0]}")
    if blocked := _IN_THE_WAY.search(result.err):
        return in_the_way(blocked[1], blocked[2])
    if locked := _LOCK_FILE.search(result.err):
        mend = f"wait for it; if no git runs, remove {locked[1]}"
        return RefusedError(f"another git process holds {Path(locked[1]).name}: {line}", mend=mend)
    return failure(("update-ref",), result)


def in_the_way(there: str, wanted: str) -> RefusedError:
    """Two refs of which one would have to be a folder of the other: git keeps no such pair."""
    mend = f"give it another name, then run: git update-ref -d {there}"
    if there.startswith("refs/heads/"):
        short = there.removeprefix("refs/heads/")
        mend = f"rename that branch: git branch -m {short} {short.replace('/', '-')}-old"
    elif there.startswith("refs/tags/"):
        short = there.removeprefix("refs/tags/")
        mend = f"rename that tag: git tag {short.replace('/', '-')}-old {short} && git tag -d {short}"
    return RefusedError(f"{there} is in the way of {wanted}", mend=mend)
