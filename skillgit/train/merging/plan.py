"""Both ends of a merge into a base branch, and what is refused before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.merging import MergedTree, best_path, check_checkout
from skillgit.store.objects import Entry
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import documents, history
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.known import known_today
from skillgit.train.archive.refusals import refuse_symbolic


@dataclass(frozen=True, slots=True)
class Plan:
    """Both ends of a merge, and the document of each: `placed` is the best one, `theirs` the base's."""

    repo: Repository
    name: str
    settings: SkillSettings
    into: str
    base: str
    best: str
    placed: Placed
    theirs: Placed

    @property
    def path(self) -> str:
        """The document's."""
        return self.settings.document


def plan_of(repo: Repository, name: str, settings: SkillSettings, into: str) -> Plan:
    """Both ends, or why there is nothing to merge."""
    refs, path = SkillRefs(name), settings.document
    base_ref = f"refs/heads/{into}"
    base, best = repo.read_ref(base_ref), repo.read_ref(refs.best)
    if base is None:
        raise RepositoryError(f"there is no branch {into}", mend="name the base branch with --into")
    if base_ref == refs.branch:
        raise RefusedError(f"{into} is the training branch itself", mend="name the base branch with --into")
    if best is None:
        raise RepositoryError(f"{refs.best}: nothing was trained yet", mend=f"run `skillgit train {name}`")
    refuse_symbolic(repo, base_ref)
    repo.identity()
    for commit, label in ((base, into), (best, "the best commit")):
        if documents.blob_at(repo, commit, path) is None:
            raise RefusedError(
                f"{path} is not on {label}: it was deleted or renamed on one side",
                mend=f"bring it back there, or set the document's path in skillgit.yaml and train {name} again",
            )
    return Plan(
        repo, name, settings, into, base, best, documents.read(repo, best, path), documents.read(repo, base, path)
    )


def known_score(plan: Plan, blob: str) -> Fraction | None:
    """A document's score on what the newest run measures; None where nobody measured it so."""
    return known_today(plan.repo, plan.name, history.latest(plan.repo, plan.name), blob, plan.settings)


def refuse_others(plan: Plan, result: MergedTree) -> None:
    """Only the document is settled here; its copy is written anew.

    Raises:
        RefusedError: other files conflict.
    """
    others = sorted(set(result.conflicts) - {plan.path, best_path(plan.path)})
    if others:
        raise RefusedError(f"the merge conflicts in {', '.join(others[:5])}", mend="merge those files by hand first")


def refuse_lost(plan: Plan, result: MergedTree, merged: Placed | None) -> None:
    """What would be lost in the work tree is refused before a model is asked.

    Args:
        merged: the document to be; None where it is not known yet.

    Raises:
        RefusedError: names the file.
    """
    where = plan.repo.checked_out_at(f"refs/heads/{plan.into}")
    if where is None or (merged is None and _is_staged(plan, where)):
        return
    tree = plan.repo.objects.write_tree(entries(plan.path, merged or plan.placed), result.tree)
    check_checkout(plan.repo, where, plan.base, tree)


def _is_staged(plan: Plan, where: Path) -> bool:
    """Whether a merge lies in the index whose branch a crash kept from moving: this one completes it."""
    paths = (f":(top,literal){plan.path}", f":(top,literal){best_path(plan.path)}")
    listed = plan.repo.git("-C", str(where), "ls-files", "--stage", "-z", "--", *paths).text
    blobs = [line.split(" ")[1] for line in listed.split("\0") if line]
    return len(blobs) == 2 and blobs[0] == blobs[1] != plan.theirs.blob


def entries(path: str, placed: Placed) -> dict[str, Entry | None]:
    """The document at its own path, and as best_skill.md beside it."""
    return {path: Entry(placed.mode, placed.blob), best_path(path): Entry(0o100644, placed.blob)}
