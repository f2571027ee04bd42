"""One writer per skill and repository, and what a writer that died had under way.

The lock is a file that its owner keeps locked (`flock`): the kernel lets it go when the last process that holds it
ends, however it ends. git inherits it while it moves refs, so a child of a killed owner finishes first. There is no
heartbeat (docs/adr/0007-the-lock-is-the-kernel-s.md).
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from skillgit.errors import LockedError, RefusedError
from skillgit.store import holding
from skillgit.store.process import disk_failure
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository

_FINISHING_S = 5.0
"""How long a git that a dead owner had started may take to end."""
_PATIENCE_S = 60.0
"""How long a writer of notes waits for others."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""How a file system says that it has no locks."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lock, as written in its file.

    Args:
        started: when, as ISO 8601 in UTC.
        refs: refs of the transaction that is under way.
    """

    pid: int
    host: str
    started: str
    command: str
    refs: list[str] = field(default_factory=list)


class SkillLock:
    """The lock of one skill, held. Made by `acquire`; a context manager that lets it go.

    Args:
        inherited: refs that a dead owner was moving; the caller cleans up after it (`remove_stale_locks`,
            `roll_forward`) and then calls `settle`.
        took_over: a sentence to say when the last owner died; None otherwise.
    """

    def __init__(self, path: Path, held: holding.Held, owner: Owner, left: Owner | None) -> None:
        self._path = path
        self._held = held
        self.owner = owner
        self.inherited: list[str] = list(left.refs) if left else []
        self.took_over = _sentence(path.stem, left) if left else None
        # Until it is settled, what was inherited stays written down: we may die before we have cleaned up.
        self._pending = list(self.inherited)
        self._write()

    @classmethod
    def acquire(cls, repo: Repository, name: str, command: str = "") -> SkillLock:
        """Take the lock, from a dead owner too.

        Args:
            name: the skill.
            command: what it is taken for; shown to those who wait.

        Raises:
            LockedError: a living process has it; names process, host and since when.
            RefusedError: the lock file cannot be written. ValueError: no skill's name.
        """
        path = _folder(repo) / f"{SkillRefs(name).name}.lock"
        held = _take(path, f"skill {name}", patient=False)
        return cls(path, held, _ourselves(command), _parsed(held.read()))

    @classmethod
    def for_notes(cls, repo: Repository) -> SkillLock:
        """Take the lock of the notes, which all skills of a repository share; waits for its owner.

        Raises: as `acquire` does.
        """
        path = _folder(repo) / "_notes.lock"
        held = _take(path, "the notes", patient=True)
        return cls(path, held, _ourselves("notes"), _parsed(held.read()))

    @property
    def file_descriptors(self) -> tuple[int, ...]:
        """What a child inherits so that the lock stays held until it has ended."""
        return self._held.file_descriptors

    def expect(self, refs: Sequence[str]) -> None:
        """Write down the refs that are about to move."""
        self._pending = list(dict.fromkeys([*self._pending, *refs]))
        self._write()

    def settle(self) -> None:
        """Write down that no transaction is under way."""
        self._pending = []
        self._write()

    def release(self) -> None:
        """Let the lock go. Refs that were not settled stay written down for the next owner. Twice is fine."""
        if self._held.released:
            return
        settled = not self._pending
        if settled:
            self._held.write(b"")
        # While something is under way, a git that moves refs keeps the lock until it has ended.
        self._held.release(everywhere=settled)

    def __enter__(self) -> SkillLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _write(self) -> None:
        content = json.dumps(asdict(self.owner) | {"refs": self._pending}) + "\n"
        try:
            self._held.write(content.encode())
        except OSError as error:
            raise disk_failure(error, str(self._path)) from None


def read_owner(repo: Repository, name: str) -> Owner | None:
    """Who holds (or held, and died with) a skill's lock; None when no one does."""
    path = repo.common_dir / "skillgit" / "locks" / f"{SkillRefs(name).name}.lock"
    try:
        return _parsed(path.read_bytes())
    except FileNotFoundError:
        return None


def _folder(repo: Repository) -> Path:
    path = repo.state_dir / "locks"
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise disk_failure(error, str(path)) from None
    return path


def _ourselves(command: str) -> Owner:
    return Owner(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"), command)


def _take(path: Path, what: str, *, patient: bool) -> holding.Held:
    """Take a lock: at once or not at all, but wait for the git of a dead owner, and, when patient, for a living one."""
    started = time.monotonic()
    while True:
        try:
            held = holding.take(path)
            content = b"" if held else path.read_bytes()
        except OSError as error:
            raise _unlockable(error, path) from None
        if held is not None:
            return held
        owner = _parsed(content)
        here = owner is not None and owner.host == socket.gethostname()
        dead = owner is not None and here and not holding.alive(owner.pid)
        waited = time.monotonic() - started
        if waited > (_PATIENCE_S if patient else _FINISHING_S if dead else 0):
            raise _locked(what, owner, here=here, dead=dead)
        time.sleep(0.02)


def _parsed(content: bytes) -> Owner | None:
    """The owner in a lock file. Only its first line counts: a shorter text may have been written over a longer one."""
    try:
        value: Any = json.loads(content.split(b"\n", 1)[0])
        refs = [ref for ref in value["refs"] if isinstance(ref, str)]
        return Owner(int(value["pid"]), str(value["host"]), str(value["started"]), str(value["command"]), refs)
    except (ValueError, KeyError, TypeError):
        return None


def _described(owner: Owner) -> str:
    command = f" ({owner.command})" if owner.command else ""
    return f"process {owner.pid}{command} on {owner.host} since {owner.started}"


def _locked(what: str, owner: Owner | None, *, here: bool, dead: bool) -> LockedError:
    if owner is None:
        return LockedError(f"{what} is in use by another process", mend="wait for it, or end it")
    who = _described(owner)
    if dead:
        # A hook that git ran has left something in the background, say.
        return LockedError(f"{what} is in use by what is left of {who}, which has ended", mend="end its children")
    if here and holding.suspended(owner.pid):
        mend = f"let it go on (`fg`, or kill -CONT {owner.pid}), or end it"
        return LockedError(f"{what} is in use by {who}, which is suspended", mend=mend)
    return LockedError(f"{what} is in use by {who}", mend="wait for it, or end it")


def _unlockable(error: OSError, path: Path) -> RefusedError:
    if error.errno in _NO_LOCKS:
        said = f"{path}: files cannot be locked there: {error.strerror}"
        return RefusedError(said, mend="keep the repository on a file system on which `flock` works")
    return disk_failure(error, str(path))


def _sentence(name: str, left: Owner) -> str:
    cut = f", while it moved {len(left.refs)} refs" if left.refs else ""
    return f"took over the lock of skill {name} from {_described(left)}, which ended without letting it go{cut}"
