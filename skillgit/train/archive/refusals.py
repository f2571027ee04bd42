"""What is refused before anything moves: refs that stand where ours go, or that somebody else looks through."""

from __future__ import annotations

from skillgit.errors import RefusedError
from skillgit.store.refs import HEADS, SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.transactions import in_the_way


def refuse_checked_out(repo: Repository, branch: str) -> None:
    """Training moves the branch, so no work tree may have it checked out."""
    where = repo.checked_out_at(branch)
    if where is not None:
        short = branch.removeprefix(HEADS)
        raise RefusedError(f"{short} is checked out at {where}", mend="switch that work tree to another branch")


def refuse_blocked(repo: Repository, refs: SkillRefs) -> None:
    """Names that git cannot keep beside ours would stop the first transaction, after the baseline was paid for."""
    for ref in (refs.branch, refs.best):
        folder = ref.rpartition("/")[0]
        there = [folder] if repo.read_ref(folder) is not None else list(repo.list_refs(f"{ref}/"))
        if there:
            raise in_the_way(there[0], ref)
    tags = refs.tags_prefix.rstrip("/")
    for tag in (tags.rpartition("/")[0], tags):
        if repo.read_ref(tag) is not None:
            raise in_the_way(tag, f"{tags}/")


def refuse_symbolic(repo: Repository, *refs: str) -> None:
    """A ref that only points to another would let us move that other one, checked out or not."""
    for ref in refs:
        found = repo.git("symbolic-ref", "--quiet", ref, check=False)
        if found.code == 0:
            raise RefusedError(f"{ref} is a symbolic ref to {found.text}", mend=f"name {found.text} itself")
