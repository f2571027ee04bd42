"""Rejected candidates that a person has pruned: a list of refs, kept here, that nothing brings back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillgit.store.locks import SkillLock
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, commit_refs

PREFIX = "refs/skillgit/pruned/"
"""Below it, one local ref for each skill points to a blob with one ref on a line, and the commit that it had."""


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
    blob = repo.read_ref(_ref(name))
    return _parsed(repo.objects.read_blob(blob)) if blob is not None else {}


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
    old = repo.read_ref(_ref(name))
    known = _parsed(repo.objects.read_blob(old)) if old is not None else {}
    new = repo.objects.write_blob(_written({**known, **refs}))
    moves: Sequence[RefUpdate] = [RefUpdate(ref, oid, None) for ref, oid in sorted(refs.items())]
    # The list first: where git is killed in between, a ref that is on it still can be pruned again.
    commit_refs(repo, [RefUpdate(_ref(name), old, new), *moves], f"skillgit: pruned {len(refs)}", lock=lock)


def _ref(name: str) -> str:
    return f"{PREFIX}{SkillRefs(name).name}"


def _parsed(data: bytes) -> dict[str, str]:
    lines = (line.split() for line in data.decode("utf-8", "replace").splitlines())
    return {parts[0]: parts[1] if len(parts) > 1 else "" for parts in lines if parts}


def _written(refs: Mapping[str, str]) -> bytes:
    return "".join(f"{ref} {oid}".rstrip() + "\n" for ref, oid in sorted(refs.items())).encode()
