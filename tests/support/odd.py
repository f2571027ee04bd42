"""Repositories of every odd shape: made from a plain one whose document, environment and settings are committed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from support import repos
from support.training import DOCUMENT

FILE_PROTOCOL = ("-c", "protocol.file.allow=always")
_SSH = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f")


@dataclass(frozen=True)
class Shape:
    """A shape of repository.

    Args:
        make: makes it from the source in an empty folder, and gives the folder to work in.
        checked_out: whether the base branch is checked out there.
        steady: whether git itself calls the checkout clean after it has looked at every byte again.
    """

    name: str
    make: Callable[[Path, Path], Path]
    checked_out: bool = True
    steady: bool = True

    def __str__(self) -> str:
        return self.name


def copied(source: Path, where: Path) -> Path:
    """The source as it is."""
    shutil.copytree(source, where / "repo", symlinks=True)
    return where / "repo"


def cloned(source: Path, where: Path, *flags: str, url: str | None = None, name: str = "repo") -> Path:
    """A clone of the source."""
    repos.git(where, "clone", "-q", *flags, url or str(source), name)
    repos.identify(where / name)
    return where / name


def checked_out_anew(root: Path) -> Path:
    """Write every file again, as the settings and attributes of now ask."""
    listed = repos.git(root, "ls-files", "-z").split("\0")
    for path in filter(None, listed):
        (root / path).unlink(missing_ok=True)
    (root / ".git/index").unlink()
    repos.git(root, "reset", "-q", "--hard")
    return root


def configured(**settings: str) -> Callable[[Path, Path], Path]:
    """With settings of git; a double underscore is a dot."""

    def make(source: Path, where: Path) -> Path:
        root = copied(source, where)
        for key, value in settings.items():
            repos.git(root, "config", key.replace("__", "."), value)
        return checked_out_anew(root)

    return make


def attributed(line: str, settings: Mapping[str, str] | None = None) -> Callable[[Path, Path], Path]:
    """With a line of .gitattributes, which comes after the document was committed."""

    def make(source: Path, where: Path) -> Path:
        root = copied(source, where)
        for key, value in (settings or {}).items():
            repos.git(root, "config", key, value)
        (root / ".gitattributes").write_text(f"{line}\n")
        repos.git(root, "add", ".gitattributes")
        repos.git(root, "commit", "-q", "-m", "Attributes")
        return checked_out_anew(root)

    return make


def filtered(clean: str, smudge: str) -> Callable[[Path, Path], Path]:
    """With a filter on Markdown files."""
    return attributed("*.md filter=own", {"filter.own.clean": clean, "filter.own.smudge": smudge})


def sparse(*paths: str, cone: bool = True, index: bool = False) -> Callable[[Path, Path], Path]:
    """With only some folders in the work tree."""

    def make(source: Path, where: Path) -> Path:
        root = cloned(source, where)
        flags = ["--cone" if cone else "--no-cone", *(["--sparse-index"] if index else [])]
        repos.git(root, "sparse-checkout", "set", *flags, *paths)
        return root

    return make


def shallow(source: Path, where: Path) -> Path:
    """Depth 1, of a history of three."""
    deep = copied(source, where / "deep")
    for number in (1, 2):
        repos.commit(deep, {"other.txt": f"{number}\n"}, f"Other {number}")
    root = cloned(deep, where, "--depth=1", url=deep.as_uri())
    assert repos.git(root, "rev-list", "--count", "HEAD") == "1"
    return root


class Making(Protocol):
    """Makes a partial clone, with or without a checkout."""

    def __call__(self, source: Path, where: Path, *, checkout: bool = True) -> Path: ...


def partial(objects: str) -> Making:
    """A partial clone, whose remote gives what is missing."""

    def make(source: Path, where: Path, *, checkout: bool = True) -> Path:
        remote = copied(source, where / "remote")
        for number in (1, 2):
            repos.commit(remote, {"other.txt": f"{number}\n"}, f"Other {number}")
        repos.git(remote, "config", "uploadpack.allowFilter", "true")
        repos.git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
        flags = [f"--filter={objects}", *([] if checkout else ["--no-checkout"])]
        root = cloned(remote, where, *flags, url=remote.as_uri())
        assert repos.git(root, "rev-list", "--objects", "--missing=print", "HEAD~1").count("?")
        return root

    return make


def linked(source: Path, where: Path) -> Path:
    """A linked work tree on another branch; the base is checked out in the main one."""
    main = copied(source, where)
    repos.git(main, "worktree", "add", "-q", "-b", "side", str(where / "linked"))
    return where / "linked"


def linked_on_base(source: Path, where: Path) -> Path:
    """A linked work tree on the base branch."""
    main = copied(source, where)
    repos.git(main, "checkout", "-q", "-b", "side")
    repos.git(main, "worktree", "add", "-q", str(where / "linked"), "main")
    return where / "linked"


def submodule(source: Path, where: Path) -> Path:
    """A submodule of another repository."""
    object_format = repos.git(source, "rev-parse", "--show-object-format")
    outer = repos.make_repo(where / "outer", {"a": "1\n"}, object_format=object_format)
    repos.git(outer, *FILE_PROTOCOL, "submodule", "--quiet", "add", str(source), "sub")
    repos.git(outer, "commit", "-q", "-m", "With a submodule")
    repos.identify(outer / "sub")
    return outer / "sub"


def superproject(source: Path, where: Path) -> Path:
    """With a submodule of its own, and git told to follow submodules everywhere."""
    inner = repos.make_repo(where / "inner", {"a": "1\n"})
    root = copied(source, where)
    repos.git(root, *FILE_PROTOCOL, "submodule", "--quiet", "add", str(inner), "skills/inner")
    repos.git(root, "commit", "-q", "-m", "With a submodule")
    repos.git(root, "config", "submodule.recurse", "true")
    return root


def bare(source: Path, where: Path) -> Path:
    """Without a work tree."""
    return cloned(source, where, "--bare")


def borrowing(flag: str) -> Callable[[Path, Path], Path]:
    """A clone that has its objects in another repository."""

    def make(source: Path, where: Path) -> Path:
        lender = copied(source, where / "lender")
        flags = ["--shared"] if flag == "shared" else ["--reference", str(lender)]
        root = cloned(lender, where, *flags, url=str(lender) if flag == "shared" else lender.as_uri())
        assert (root / ".git/objects/info/alternates").is_file()
        return root

    return make


def separate(source: Path, where: Path) -> Path:
    """The git directory lies elsewhere."""
    return cloned(source, where, "--separate-git-dir", str(where / "elsewhere.git"))


def packed(source: Path, where: Path) -> Path:
    """All that git knows to speed a large repository up: packs, bitmaps, indexes of packs and of commits."""
    root = copied(source, where)
    repos.git(root, "config", "feature.manyFiles", "true")
    repos.git(root, "repack", "-q", "-a", "-d", "--write-bitmap-index")
    repos.commit(root, {"other.txt": "1\n"}, "Other")
    repos.git(root, "repack", "-q", "-d")
    repos.git(root, "multi-pack-index", "write", "--bitmap")
    repos.git(root, "commit-graph", "write", "--reachable", "--split", "--changed-paths", "--no-progress")
    repos.git(root, "pack-refs", "--all")
    repos.git(root, "update-index", "--split-index")
    return root


def named(name: str) -> Callable[[Path, Path], Path]:
    """In a folder with an odd name."""

    def make(source: Path, where: Path) -> Path:
        return cloned(source, where, name=name)

    return make


def detached(source: Path, where: Path) -> Path:
    """HEAD is no branch."""
    root = copied(source, where)
    repos.git(root, "checkout", "-q", "--detach")
    return root


def replaced(source: Path, where: Path) -> Path:
    """`git replace` shows another document in place of the committed one, which is measured all the same."""
    root = copied(source, where)
    other = repos.git(root, "hash-object", "-w", "--stdin", input="# Another document\n")
    repos.git(root, "replace", f"HEAD:{DOCUMENT}", other)
    return root


def grafted(source: Path, where: Path) -> Path:
    """The base commit was given another history, by a replaced commit."""
    root = copied(source, where)
    repos.commit(root, {"other.txt": "1\n"}, "Other")
    tree = repos.git(root, "rev-parse", "HEAD^{tree}")
    past = repos.git(root, "commit-tree", tree, "-m", "Another past")
    repos.git(root, "replace", "--graft", "HEAD", past)
    return root


def signed(source: Path, where: Path) -> Path:
    """Commits and tags are signed with an SSH key."""
    root = copied(source, where)
    subprocess.run([*_SSH, str(where / "key")], check=True)
    public = (where / "key.pub").read_text()
    (where / "signers").write_text(f"test@example.com {public}")
    for key, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(where / "key.pub")),
        ("gpg.ssh.allowedSignersFile", str(where / "signers")),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
    ):
        repos.git(root, "config", key, value)
    return root


def executable(source: Path, where: Path) -> Path:
    """The document can be run, and git does not trust the file system's modes."""
    root = copied(source, where)
    repos.git(root, "config", "core.fileMode", "false")
    repos.git(root, "update-index", "--chmod=+x", DOCUMENT)
    repos.git(root, "commit", "-q", "-m", "Runs")
    return root


def reftable(source: Path, where: Path) -> Path:
    """Refs in tables, where git knows them (2.45 and later)."""
    return cloned(source, where, "--ref-format=reftable")


def foreign(source: Path, where: Path) -> Path:
    """It belongs to somebody else, whom this person trusts."""
    root = copied(source, where)
    for path in (root, *root.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    (where / "gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    return root


def group_owned(source: Path, where: Path) -> Path:
    """Shared by a group."""
    root = copied(source, where)
    repos.git(root, "config", "core.sharedRepository", "group")
    return root


SHAPES = (
    Shape("autocrlf true", configured(core__autocrlf="true")),
    Shape("autocrlf input", configured(core__autocrlf="input")),
    Shape("eol crlf", configured(core__eol="crlf", core__safecrlf="false")),
    Shape("text attribute", attributed("*.md text eol=crlf")),
    Shape("text auto everywhere", attributed("* text=auto eol=crlf")),
    Shape("ident", attributed("*.md ident")),
    Shape("utf-16 on disk", attributed("*.md working-tree-encoding=UTF-16LE-BOM")),
    Shape("filter", filtered("sed s/ANSWER/Answer/", "sed s/Answer/ANSWER/")),
    Shape("filter that fails to clean", filtered("false", "cat"), steady=False),
    Shape("export-subst", attributed("*.md export-subst export-ignore")),
    Shape("union merges", attributed("*.md merge=union")),
    Shape("no merges", attributed("*.md -merge -diff")),
    Shape("sparse without the document", sparse("envs")),
    Shape("sparse with a sparse index", sparse("envs", index=True)),
    Shape("sparse with the document", sparse("envs", "skills")),
    Shape("sparse by patterns", sparse("/skillgit.yaml", "/envs/**", cone=False)),
    Shape("shallow", shallow),
    Shape("partial without blobs", partial("blob:none")),
    Shape("partial without trees", partial("tree:0")),
    Shape("linked work tree", linked, checked_out=False),
    Shape("linked work tree on the base", linked_on_base),
    Shape("submodule", submodule),
    Shape("superproject", superproject),
    Shape("bare", bare, checked_out=False),
    Shape("shared objects", borrowing("shared")),
    Shape("reference clone", borrowing("reference")),
    Shape("separate git directory", separate),
    Shape("packed", packed),
    Shape("spaces", named("a repository  with spaces")),
    Shape("odd letters", named("ré\"po 'x' $(y) 日本")),
    Shape("detached", detached, checked_out=False),
    Shape("replaced document", replaced, steady=False),
    Shape("grafted", grafted),
    Shape("ignorecase", configured(core__ignoreCase="true", core__precomposeUnicode="true")),
    Shape("no links", configured(core__symlinks="false", core__fileMode="false")),
    Shape("other encodings", configured(i18n__commitEncoding="ISO-8859-1", i18n__logOutputEncoding="ISO-8859-1")),
    Shape("other comment character", configured(core__commentChar="S", commit__cleanup="strip")),
    Shape("no reflogs", configured(core__logAllRefUpdates="false", gc__auto="1", gc__autoDetach="false")),
    Shape("executable", executable),
    Shape("shared by a group", group_owned),
    Shape("signed", signed),
)
