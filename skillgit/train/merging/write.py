"""Write a merge into a base branch: the commit and its trailers, the release, the work tree."""

from __future__ import annotations

from dataclasses import dataclass

from skillgit.store.locks import SkillLock
from skillgit.store.merging import MergedTree, move_checked_out
from skillgit.store.trailers import format_message, subject_line
from skillgit.store.transactions import RefUpdate
from skillgit.train.archive import history
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.journal import Journal
from skillgit.train.archive.known import Knowledge
from skillgit.train.merging import release
from skillgit.train.merging.gating import Judged
from skillgit.train.merging.plan import Plan, entries, known_score
from skillgit.train.merging.resolution import Resolution
from skillgit.train.scoring.scores import decimal, metric_of


@dataclass(frozen=True, slots=True)
class Chosen:
    """The document that is merged, with the verdict and the resolution that it took."""

    placed: Placed
    judged: Judged | None = None
    resolution: Resolution | None = None


def write(
    plan: Plan, result: MergedTree, chosen: Chosen, parents: list[str], *, tag: bool, lock: SkillLock
) -> tuple[str, str | None]:
    """The commit, its release tag and the work tree.

    Returns: the commit and the tag's ref.
    """
    repo, base_ref = plan.repo, f"refs/heads/{plan.into}"
    tree = repo.objects.write_tree(entries(plan.path, chosen.placed), result.tree)
    commit = repo.objects.write_commit(tree, parents, _message(plan, chosen))
    below = chosen.judged.below_best if chosen.judged else None
    best = decimal(below) if below is not None else None
    tags = [release.release(repo, plan.name, commit, best)] if tag else []
    move = RefUpdate(base_ref, plan.base, commit)
    reflog = f"skillgit merge {plan.name}: {plan.best[:12]}"
    move_checked_out(repo, repo.checked_out_at(base_ref), move, reflog, others=tags, lock=lock)
    return commit, tags[0].ref if tags else None


def _message(plan: Plan, chosen: Chosen) -> str:
    journal = history.latest(plan.repo, plan.name)
    head = [("Skill-Name", plan.name), *([("Skill-Run", journal.info.run)] if journal else [])]
    head.append(("Skill-Kind", "merge"))
    why = f"The document of {plan.best} is the best measured one of skill {plan.name}."
    if chosen.judged is None:
        trailers = _known_trailers(plan, journal, chosen.placed.blob)
        if len(trailers) == 1:
            why = f"The document of {plan.best} is the best one of skill {plan.name} by a person's word; not measured."
    else:
        trailers = chosen.judged.trailers
        why = f"The document of {plan.best}, merged with the changes on {plan.into}."
    if chosen.resolution is not None:
        why += f"\n\n{chosen.resolution.told}"
    return format_message(subject_line(plan.name, f"merge the best document into {plan.into}"), why, [*head, *trailers])


def _known_trailers(plan: Plan, journal: Journal | None, blob: str) -> list[tuple[str, str]]:
    """What the journal knows of the best document, and of the one that it replaces where that compares."""
    score = known_score(plan, blob)
    if score is None or journal is None:
        return [("Skill-Blob", blob)]
    pair = Knowledge(plan.repo, plan.name, (blob, plan.theirs.blob)).pair(blob, plan.theirs.blob, "val")
    before = (
        pair[1].score(metric_of(plan.settings.evaluation)) if pair and pair[0].digest == journal.state.val else None
    )
    return [
        ("Skill-Score", decimal(score)),
        *([("Skill-Score-Before", decimal(before))] if before is not None else []),
        ("Skill-Blob", blob),
        ("Skill-Val", journal.state.val),
        ("Skill-Target", str(journal.state.target.get("name", ""))),
    ]
