"""A file held by one process at a time, let go by the system when that process ends."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

HAS_FLOCK = find_spec("fcntl") is not None
"""Not on Windows: there, a file with the holder's process id is the lock."""


class Held:
    """A held lock file; `take` makes it.

    Args:
        descriptor: the open file.
        guard: the file whose existence is the lock, where the system has no `flock`.
    """

    def __init__(self, descriptor: int, guard: Path | None) -> None:
        self._descriptor = descriptor
        self._guard = guard
        self.released = False

    @property
    def file_descriptors(self) -> tuple[int, ...]:
        """What a child has to inherit to hold the lock too; nothing where a child cannot."""
        return () if self._guard else (self._descriptor,)

    def read(self) -> bytes:
        """The file's content."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.read(self._descriptor, 1 << 20)

    def write(self, content: bytes) -> None:
        """Replace the content. A process killed in between leaves the new first line or the old one, never half."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        if content:
            os.write(self._descriptor, content)
        os.ftruncate(self._descriptor, len(content))

    def release(self, *, everywhere: bool = False) -> None:
        """Let it go. The file stays: removing it would let two processes lock two files of one name.

        Args:
            everywhere: children that inherited it lose it as well, such as what a hook left in the background.
        """
        self.released = True
        if everywhere and not self._guard:
            _unlock(self._descriptor)
        os.close(self._descriptor)
        if self._guard:
            self._guard.unlink(missing_ok=True)


def take(path: Path) -> Held | None:
    """Hold a file, made when it is missing; None when another process (or another part of this one) holds it.

    Raises:
        OSError: it cannot be opened.
    """
    guard = None if HAS_FLOCK else path.with_suffix(".pid")
    if guard is not None and not _guarded(guard):
        return None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    if guard is None and not _flocked(descriptor):
        os.close(descriptor)
        return None
    return Held(descriptor, guard)


def alive(pid: int) -> bool:
    """Whether a process of this machine runs."""
    if sys.platform == "win32":
        import ctypes

        synchronize, still_running = 0x00100000, 0x102
        handle = ctypes.windll.kernel32.OpenProcess(synchronize, False, pid)
        running = bool(handle) and ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == still_running
        ctypes.windll.kernel32.CloseHandle(handle)
        return running
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def suspended(pid: int) -> bool:
    """Whether a process of this machine is stopped (Ctrl-Z), as far as the system tells: Linux does."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return False
    return state in (b"T", b"t")


def _unlock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def _flocked(descriptor: int) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _guarded(guard: Path) -> bool:
    """Make the guard file with our process id, in place of a dead process's."""
    for _ in range(2):
        try:
            descriptor = os.open(guard, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            text = guard.read_text("ascii", "replace") if guard.exists() else ""
            if not text.isdigit() or alive(int(text)):
                return False
            guard.unlink(missing_ok=True)
            continue
        os.write(descriptor, str(os.getpid()).encode())
        os.close(descriptor)
        return True
    return False
