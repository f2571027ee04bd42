"""What somebody who may push can do to a skill's history, by git alone: amend commits, write journals anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support import repos

Change = Callable[[int, dict[str, Any]], object]
"""Given an entry's number (from 0, the oldest) and its files by name, parsed; changes them in place."""


def journal_ref(root: Path, name: str) -> str:
    """The newest run's journal."""
    return max(repos.refs(root, f"refs/skillgit/runs/{name}/"))


def entries(root: Path, ref: str) -> list[str]:
    """The commits of a journal, oldest first."""
    told = repos.git(root, "log", "--first-parent", "--reverse", "--format=%H %s", ref).splitlines()
    return [line.split(" ", 1)[0] for line in told if line.split(" ", 1)[1].startswith("skillgit journal: ")]


def read(root: Path, commit: str) -> dict[str, Any]:
    """An entry's files, parsed."""
    names = repos.git(root, "ls-tree", "--name-only", commit).split()
    return {name: json.loads(repos.git(root, "show", f"{commit}:{name}")) for name in names}


def rewrite(root: Path, ref: str, change: Change, *, without: int | None = None) -> None:
    """Write a journal anew, each entry on the one before, and point its ref to it.

    Args:
        without: the number of an entry that is left out.
    """
    previous: str | None = None
    for number, commit in enumerate(entries(root, ref)):
        if number == without:
            continue
        files = read(root, commit)
        change(number, files)
        parents = repos.git(root, "rev-parse", f"{commit}^@").split()
        parents = parents if number == 0 else [*([previous] if previous else []), *parents[1:]]
        parents = files.pop("parents", parents)
        previous = commit_of(root, {name: json.dumps(value).encode() for name, value in files.items()}, commit, parents)
    if previous is None:
        raise AssertionError("nothing is left of the journal")
    repos.git(root, "update-ref", ref, previous)


def replace_last(root: Path, ref: str, files: Mapping[str, bytes | None]) -> None:
    """Put other bytes in files of a journal's last entry; None removes one."""
    commit = repos.git(root, "rev-parse", ref)
    names = repos.git(root, "ls-tree", "--name-only", commit).split()
    held: dict[str, bytes | None] = {name: repos.git(root, "show", f"{commit}:{name}").encode() for name in names}
    kept = {name: data for name, data in {**held, **files}.items() if data is not None}
    parents = repos.git(root, "rev-parse", f"{commit}^@").split()
    repos.git(root, "update-ref", ref, commit_of(root, kept, commit, parents))


def commit_of(root: Path, files: Mapping[str, bytes], like: str, parents: list[str]) -> str:
    """A commit of some files, with another one's message."""
    blobs = {name: repos.git(root, "hash-object", "-w", "--stdin", input=data) for name, data in files.items()}
    rows = "".join(f"100644 blob {blob}\t{name}\n" for name, blob in sorted(blobs.items()))
    tree = repos.git(root, "mktree", input=rows)
    return written(root, tree, parents, repos.git(root, "log", "-1", "--format=%B", like))


def written(root: Path, tree: str, parents: list[str], message: str) -> str:
    """A commit, by plumbing."""
    given = [part for parent in parents for part in ("-p", parent)]
    return repos.git(root, "commit-tree", tree, *given, "-F", "-", input=message + "\n")


def amended(root: Path, commit: str, old: str, new: str, *, tree: str | None = None) -> str:
    """A copy of a commit with another text in its message, as `git commit --amend` makes it."""
    message = repos.git(root, "log", "-1", "--format=%B", commit)
    assert old in message
    parents = repos.git(root, "rev-parse", f"{commit}^@").split()
    return written(root, tree or repos.git(root, "rev-parse", f"{commit}^{{tree}}"), parents, message.replace(old, new))
