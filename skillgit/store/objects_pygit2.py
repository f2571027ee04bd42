"""Objects through libgit2: fast, in process. Only SHA-1 repositories that libgit2 can open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pygit2
from pygit2.enums import ObjectType

from skillgit.errors import RepositoryError
from skillgit.store.objects import ObjectStore, RawObject
from skillgit.store.process import Git

_KINDS = {
    "blob": ObjectType.BLOB,
    "tree": ObjectType.TREE,
    "commit": ObjectType.COMMIT,
    "tag": ObjectType.TAG,
}
_NAMES = {int(number): name for name, number in _KINDS.items()}

Found = TypeVar("Found")


class Pygit2Objects(ObjectStore):
    """The libgit2 implementation. See ObjectStore.

    Raises:
        pygit2.GitError: libgit2 cannot open the repository.
    """

    def __init__(self, git: Git, common_dir: Path) -> None:
        super().__init__(git, common_dir, "sha1")
        self._open()

    def _open(self) -> None:
        self._repo = pygit2.Repository(str(self._common_dir))
        self._odb = self._repo.odb

    def _again(self, ask: Callable[[], Found], what: str) -> Found:
        """Ask, and once more with the repository opened anew: `git gc` may have replaced the packs that were open."""
        try:
            return ask()
        except (KeyError, ValueError, OSError, pygit2.GitError):
            self.close()
        try:
            return ask()
        except KeyError:
            raise RepositoryError(f"{what} is not in the repository", mend="run `git fsck`, or fetch it") from None
        except (ValueError, OSError, pygit2.GitError) as error:
            raise RepositoryError(f"{what} cannot be read: {error}", mend="run `git fsck`") from None

    def _read(self, oid: str) -> RawObject:
        kind, data = self._again(lambda: self._odb.read(oid), f"object {oid}")
        return RawObject(_NAMES[kind], data)

    def write(self, kind: str, data: bytes) -> str:
        try:
            return str(self._odb.write(_KINDS[kind], data))
        except (OSError, pygit2.GitError):
            # git says better than libgit2 what is wrong (a full disk, no write access), or writes it after all.
            from skillgit.store.objects_git import hash_object

            return hash_object(self._git, kind, data)

    def is_ancestor(self, a: str, b: str) -> bool:
        asked = f"history of {b}"
        return a == b or self._again(lambda: self._repo.descendant_of(b, a), asked)

    def merge_base(self, a: str, b: str) -> str | None:
        found = self._again(lambda: self._repo.merge_base(a, b), f"history of {a} and {b}")
        return None if found is None else str(found)

    def close(self) -> None:
        self._repo.free()
        self._open()


def try_open(git: Git, common_dir: Path) -> Pygit2Objects | None:
    """The store, or None where libgit2 does not understand the repository."""
    try:
        return Pygit2Objects(git, common_dir)
    except pygit2.GitError:
        return None
