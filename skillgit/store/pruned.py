"""Rejected candidates that a person has pruned: a list of refs that nothing brings back. It travels, and only grows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from skillgit.store.locks import SkillLock
from skillgit.store.refs import SkillRefs, parse_rejected
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs

PREFIX = "refs/skillgit/pruned/"
"""Below it, one ref for each skill points to a blob with one ref on a line, and the commit that it had."""
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def pruned(repo: Repository, name: str) -> frozenset[str]:
    """The whole names of a skill's pruned refs; empty where nothing was pruned.

    Raises:
        RepositoryError: the list is no blob, or is damaged.
    """
    return frozenset(pruned_commits(repo, name))


def pruned_commits(repo: Repository, name: str) -> dict[str, str]:
    """The same with the commit that each had, sorted; empty where the list does not say.

    Raises:
        RepositoryError: the list is no blob, or is damaged.
    """
    return read_list(repo, name, repo.read_ref(list_ref(name)))


def read_list(repo: Repository, name: str, blob: str | None) -> dict[str, str]:
    """What a list of a skill's, ours or another's, names: refs, and the commit that each had; empty without a list.

    Raises:
        RepositoryError: it is no blob, or is damaged.
    """
    return parsed(name, repo.objects.read_blob(blob)) if blob is not None else {}


def grow(repo: Repository, name: str, more: Mapping[str, str]) -> RefUpdate | None:
    """Bring another's list into ours; what ours says already stays. Moves no ref.

    Returns: the move of our list; None where it has all of them.

    Raises:
        RepositoryError: ours is no blob, or is damaged.
    """
    old = repo.read_ref(list_ref(name))
    known = read_list(repo, name, old)
    if not more.keys() - known.keys():
        return None
    return RefUpdate(list_ref(name), old, repo.objects.write_blob(written({**more, **known})))


def prune(repo: Repository, name: str, refs: Mapping[str, str], lock: SkillLock) -> None:
    """Remove rejected refs and remember them, in one transaction.

    Args:
        refs: whole names, and what each points to now.
        lock: the skill's.

    Raises:
        RefMovedError: one was not where it was expected; nothing was removed.
    """
    if not refs:
        return
    old = repo.read_ref(list_ref(name))
    new = repo.objects.write_blob(written({**read_list(repo, name, old), **refs}))
    moves: Sequence[RefUpdate] = [RefUpdate(ref, oid, None) for ref, oid in sorted(refs.items())]
    # The list first: where git is killed in between, a ref that is on it still can be pruned again.
    commit_refs(repo, [RefUpdate(list_ref(name), old, new), *moves], f"skillgit: pruned {len(refs)}", lock=lock)


def list_ref(name: str) -> str:
    """The ref of a skill's list."""
    return f"{PREFIX}{SkillRefs(name).name}"


def parsed(name: str, data: bytes) -> dict[str, str]:
    """Of a list, the lines that are whole names of the skill's rejected refs; whoever can push can write others."""
    found: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").split("\n"):
        ref, _, oid = line.strip().partition(" ")
        parts = parse_rejected(ref)
        if parts is not None and parts.name == name:
            found[ref] = oid.strip() if _OID.fullmatch(oid.strip()) else ""
    return found


def written(refs: Mapping[str, str]) -> bytes:
    """A list's text. Pure."""
    return "".join(f"{ref} {oid}".rstrip() + "\n" for ref, oid in sorted(refs.items())).encode()
