"""Rejected candidates that a person has pruned: a list of refs, kept here, that nothing brings back."""

from __future__ import annotations

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository

PREFIX = "refs/skillgit/pruned/"
"""Below it, one local ref for each skill points to a blob with one ref on a line."""


def pruned(repo: Repository, name: str) -> frozenset[str]:
    """The whole names of a skill's pruned refs; empty where nothing was pruned.

    Raises:
        RepositoryError: the list is no blob, or is damaged.
    """
    blob = repo.read_ref(f"{PREFIX}{SkillRefs(name).name}")
    if blob is None:
        return frozenset()
    lines = repo.objects.read_blob(blob).decode("utf-8", "replace").splitlines()
    return frozenset(line for line in lines if line)
