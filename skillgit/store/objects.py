"""Reading and writing git objects: one small interface over two implementations (DESIGN, "Objects and refs").

An implementation reads and writes whole objects and answers two questions about ancestry; the rest is built on
that here, so both write the same bytes. Blobs are raw: no filter, no end-of-line conversion. Replacement refs are not
followed, since a score belongs to the document that its id names.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from skillgit.errors import RepositoryError
from skillgit.store import identity, trees
from skillgit.store.commits import CommitInfo, commit_bytes, parse_commit, peeled, tag_bytes
from skillgit.store.process import Git
from skillgit.store.trees import Entry

__all__ = ["CommitInfo", "Entry", "ObjectStore", "RawObject", "open_objects"]


@dataclass(frozen=True, slots=True)
class RawObject:
    """An object as git stores it: its kind (`blob`, `tree`, `commit`, `tag`) and its bytes."""

    kind: str
    data: bytes


class ObjectStore(ABC):
    """The objects of one repository. An id is the full lower-case hex digest.

    Every method that takes an id raises RepositoryError where that object is missing, damaged or of another kind.

    Args:
        git: runs git in the repository.
        common_dir: the repository's common git directory.
        object_format: `sha1` or `sha256`.
    """

    def __init__(self, git: Git, common_dir: Path, object_format: str) -> None:
        self.object_format = object_format
        self._git = git
        self._common_dir = common_dir
        self._oid_bytes = 32 if object_format == "sha256" else 20
        self._oid = re.compile(rf"[0-9a-f]{{{2 * self._oid_bytes}}}")

    @abstractmethod
    def _read(self, oid: str) -> RawObject:
        """An object by its checked id. Sees at once what git or another process wrote."""

    @abstractmethod
    def write(self, kind: str, data: bytes) -> str:
        """Write an object and give its id. Writing what is there is no change."""

    @abstractmethod
    def is_ancestor(self, a: str, b: str) -> bool:
        """Whether commit `a` is `b` or reachable from it."""

    @abstractmethod
    def merge_base(self, a: str, b: str) -> str | None:
        """A best common ancestor of two commits; None where they share no history."""

    @abstractmethod
    def close(self) -> None:
        """Give processes and files back; the store can still be used afterwards."""

    def read(self, oid: str) -> RawObject:
        """An object, whole."""
        if not self._oid.fullmatch(oid):
            raise RepositoryError(f"{oid!r} is no object id of a {self.object_format} repository")
        return self._read(oid)

    def read_blob(self, oid: str) -> bytes:
        """A file's content."""
        return self._read_kind(oid, "blob")

    def write_blob(self, data: bytes) -> str:
        """Write a file's content as it is."""
        return self.write("blob", data)

    def tree_of(self, treeish: str) -> str:
        """The tree of a commit, of a tag on one, or the tree itself."""
        found = self.read(treeish)
        while found.kind in ("tag", "commit"):
            treeish = peeled(found.data)
            found = self.read(treeish)
        if found.kind != "tree":
            raise RepositoryError(f"object {treeish} is a {found.kind}, not a commit or a tree")
        return treeish

    def entry(self, treeish: str, path: str) -> Entry | None:
        """What lies at a path ("/" between folders); None where nothing does. A folder is an entry too."""
        found: Entry | None = Entry(trees.FOLDER, self.tree_of(treeish))
        for part in path.split("/"):
            if found is None or found.mode != trees.FOLDER:
                return None
            found = self._folder(found.oid).get(part)
        return found

    def list_files(self, treeish: str, prefix: str = "") -> dict[str, Entry]:
        """All files (also links and submodules) in a folder and below it, by their whole path, in git's order.

        Args:
            prefix: the folder's path; "" is the whole tree. A folder that is not there has no files.
        """
        prefix = prefix.strip("/")
        top = self.entry(treeish, prefix) if prefix else Entry(trees.FOLDER, self.tree_of(treeish))
        if top is None or top.mode != trees.FOLDER:
            return {}
        return dict(self._walk(top.oid, f"{prefix}/" if prefix else ""))

    def write_tree(self, changes: Mapping[str, Entry | None], base: str | None) -> str:
        """Write a tree: `base` (a treeish; None is the empty tree) with some paths changed.

        Args:
            changes: the new entry by path; None removes. A file in place of a folder replaces it, and the other way
                round. Folders that become empty vanish.

        Raises:
            ValueError: a path that git would not check out (`..`, `.git`, empty parts).
        """
        return trees.write_tree(self._folder, self._write_folder, changes, self.tree_of(base) if base else None)

    def read_commit(self, oid: str) -> CommitInfo:
        """A commit, parsed."""
        return parse_commit(oid, self._read_kind(oid, "commit"))

    def write_commit(self, tree: str, parents: Sequence[str], message: str, *, when: datetime | None = None) -> str:
        """Write a commit with git's identity and dates, signed where `commit.gpgsign` says so. Moves no ref.

        Args:
            when: with its time zone: of author and committer, in place of git's own time.

        Raises:
            RepositoryError: git has no identity. RefusedError: signing failed.
        """
        if identity.signs(self._git, "commit.gpgsign"):
            return identity.signed_commit(self._git, tree, parents, message, when=when)
        author, committer = (
            identity.dated(identity.person(self._git, f"GIT_{role}_IDENT"), when) for role in ("AUTHOR", "COMMITTER")
        )
        return self.write("commit", commit_bytes(tree, parents, author, committer, message))

    def write_tag(self, name: str, target: str, message: str, *, when: datetime | None = None) -> str:
        """Write an annotated tag object, signed where `tag.gpgsign` says so, and give its id. Moves no ref.

        Args:
            name: the ref's name, with or without `refs/tags/`.
            when: with its time zone: in place of git's own time.

        Raises:
            RepositoryError: git has no identity. RefusedError: signing failed.
        """
        short = name.removeprefix("refs/tags/")
        kind = self.read(target).kind
        if identity.signs(self._git, "tag.gpgsign"):
            place = (self._git, self._common_dir, self.object_format)
            return identity.signed_tag(*place, short, target, message, when=when)
        tagger = identity.dated(identity.person(self._git), when)
        return self.write("tag", tag_bytes(short, target, kind, tagger, message))

    def first_parents(self, tip: str, stop: str | None = None) -> Iterator[CommitInfo]:
        """Commits from `tip` along first parents, newest first, until `stop` (not given) or the history's end.

        The end of a shallow clone is the end of the history.
        """
        oid: str | None = tip
        while oid is not None and oid != stop:
            commit = self.read_commit(oid)
            yield commit
            oid = commit.parents[0] if commit.parents and oid not in self._shallow() else None

    def _read_kind(self, oid: str, kind: str) -> bytes:
        found = self.read(oid)
        if found.kind != kind:
            raise RepositoryError(f"object {oid} is a {found.kind}, not a {kind}")
        return found.data

    def _folder(self, oid: str) -> dict[str, Entry]:
        return trees.parse(self._read_kind(oid, "tree"), self._oid_bytes)

    def _write_folder(self, entries: Mapping[str, Entry]) -> str:
        return self.write("tree", trees.serialized(entries))

    def _walk(self, oid: str, prefix: str) -> Iterator[tuple[str, Entry]]:
        for name, entry in self._folder(oid).items():
            if entry.mode == trees.FOLDER:
                yield from self._walk(entry.oid, f"{prefix}{name}/")
            else:
                yield prefix + name, entry

    def _shallow(self) -> frozenset[str]:
        path = self._common_dir / "shallow"
        return frozenset(path.read_text("ascii").split()) if path.exists() else frozenset()


def open_objects(git: Git, common_dir: Path, object_format: str) -> ObjectStore:
    """libgit2 where it can open the repository, else git's plumbing (SHA-256, reftable, partial clones)."""
    if object_format == "sha1" and not _is_partial(git):
        from skillgit.store import objects_pygit2

        opened = objects_pygit2.try_open(git, common_dir)
        if opened is not None:
            return opened
    from skillgit.store.objects_git import PlumbingObjects

    return PlumbingObjects(git, common_dir, object_format)


def _is_partial(git: Git) -> bool:
    """Whether objects may be missing here that git fetches when they are read."""
    asked = git.run("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$", check=False)
    return bool(asked.out)
