"""Objects through git's plumbing: every format that the installed git knows, and objects fetched when needed."""

from __future__ import annotations

import subprocess
import threading
import weakref
from pathlib import Path

from skillgit.errors import RepositoryError
from skillgit.store.objects import ObjectStore, RawObject
from skillgit.store.process import Git, failure, first_line

_REAL = {"GIT_NO_REPLACE_OBJECTS": "1"}


class PlumbingObjects(ObjectStore):
    """The plumbing implementation. See ObjectStore. Reads go through one `git cat-file --batch` that stays."""

    def __init__(self, git: Git, common_dir: Path, object_format: str) -> None:
        super().__init__(git, common_dir, object_format)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[[subprocess.Popen[bytes]], PlumbingObjects] | None = None

    def _read(self, oid: str) -> RawObject:
        with self._lock:
            found = self._ask(oid)
            if found is None:  # The helper was ended from outside: start another one.
                self._stop()
                found = self._ask(oid)
        if found is None:
            raise self._unread(oid)
        if found.kind == "missing":
            raise RepositoryError(f"object {oid} is not in the repository", mend="run `git fsck`, or fetch it")
        return found

    def _unread(self, oid: str) -> RepositoryError:
        """Why git gave up on an object: damaged, or to be fetched from a remote that does not answer."""
        err = self._git.run("cat-file", "-e", oid, check=False, env=_REAL).err
        said = first_line(err)
        mend = "let `git fetch` work" if "remote" in err else "run `git fsck`"
        return RepositoryError(f"object {oid} cannot be read{f': {said}' if said else ''}", mend=mend)

    def _ask(self, oid: str) -> RawObject | None:
        """The object, one of kind `missing`, or None when the helper has ended."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{oid}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            return None
        head = process.stdout.readline().split()
        if len(head) == 2 and head[1] == b"missing":
            return RawObject("missing", b"")
        if len(head) != 3:
            return None
        size = int(head[2])
        data = process.stdout.read(size + 1)
        return RawObject(head[1].decode("ascii"), data[:-1]) if len(data) == size + 1 else None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = self._git.batch("cat-file", "--batch", env=_REAL)
            self._end = weakref.finalize(self, _end, self._process)
        return self._process

    def _stop(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._end = None

    def write(self, kind: str, data: bytes) -> str:
        return hash_object(self._git, kind, data)

    def is_ancestor(self, a: str, b: str) -> bool:
        result = self._git.run("merge-base", "--is-ancestor", a, b, check=False, env=_REAL)
        if result.code not in (0, 1):
            raise failure(("merge-base",), result)
        return result.code == 0

    def merge_base(self, a: str, b: str) -> str | None:
        result = self._git.run("merge-base", a, b, check=False, env=_REAL)
        if result.code not in (0, 1):
            raise failure(("merge-base",), result)
        return result.text or None

    def close(self) -> None:
        with self._lock:
            self._stop()


def hash_object(git: Git, kind: str, data: bytes) -> str:
    """Write an object by `git hash-object`, as it is.

    Raises:
        RefusedError: the disk said no. RepositoryError: git would not write it.
    """
    return git.run("hash-object", "-t", kind, "-w", "--no-filters", "--stdin", input=data).text


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the helper's input, which ends it, and wait."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue
    process.wait()
