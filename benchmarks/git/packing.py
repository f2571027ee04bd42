"""An object store that writes one pack: objects of the product's own making, a hundred thousand of them in a minute."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import zlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from skillgit.store.commits import commit_bytes, tag_bytes
from skillgit.store.objects import ObjectStore, RawObject
from skillgit.store.repository import Repository

_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
PERSON = "bench <bench@example.invalid>"


class PackWriter(ObjectStore):
    """Objects go into a pack file, and are there for git once `finish` has been called.

    Args:
        start: seconds since 1970 of the first commit; each commit or tag is a second later.
    """

    def __init__(self, repo: Repository, file: Path, start: int) -> None:
        super().__init__(repo.runner, repo.common_dir, "sha1")
        self._repo, self._below, self._path = repo, repo.objects, file
        self._file = file.open("w+b")
        self._file.write(b"PACK" + struct.pack(">II", 2, 0))
        self._seen: set[str] = set()
        self._kept: dict[str, RawObject] = {}
        self._now = start

    def write(self, kind: str, data: bytes) -> str:
        oid = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()
        if oid not in self._seen:
            self._seen.add(oid)
            size, head = len(data), bytearray()
            byte, size = _KINDS[kind] << 4 | size & 15, size >> 4
            while size:
                head.append(byte | 0x80)
                byte, size = size & 0x7F, size >> 7
            head.append(byte)
            self._file.write(bytes(head) + zlib.compress(data, 1))
            if kind != "blob":
                self._kept[oid] = RawObject(kind, data)
        return oid

    def write_commit(self, tree: str, parents: Sequence[str], message: str, *, when: datetime | None = None) -> str:
        who = self._who()
        return self.write("commit", commit_bytes(tree, parents, who, who, message))

    def write_tag(self, name: str, target: str, message: str, *, when: datetime | None = None) -> str:
        return self.write("tag", tag_bytes(name.removeprefix("refs/tags/"), target, "commit", self._who(), message))

    def finish(self) -> int:
        """Hand the pack to git.

        Returns: how many objects it has.
        """
        self._file.seek(8)
        self._file.write(struct.pack(">I", len(self._seen)))
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha1").digest()
        self._file.seek(0, 2)
        self._file.write(digest)
        self._file.close()
        with self._path.open("rb") as made:
            command = ["git", "index-pack", "--stdin"]
            subprocess.run(command, cwd=self._repo.common_dir, stdin=made, check=True, stdout=subprocess.DEVNULL)
        self._path.unlink()
        return len(self._seen)

    def is_ancestor(self, a: str, b: str) -> bool:
        return self._below.is_ancestor(a, b)

    def merge_base(self, a: str, b: str) -> str | None:
        return self._below.merge_base(a, b)

    def close(self) -> None:
        self._below.close()

    def _read(self, oid: str) -> RawObject:
        return self._kept.get(oid) or self._below.read(oid)

    def _who(self) -> str:
        self._now += 1
        return f"{PERSON} {self._now} +0000"
