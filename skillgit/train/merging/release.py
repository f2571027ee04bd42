"""Release tags: an annotated tag on each merge into the base branch, made in the transaction of that merge."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillgit.store.locks import SkillLock
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.trailers import format_message, parse_trailers
from skillgit.store.transactions import RefUpdate, commit_refs

_KEPT = (
    *("Skill-Score", "Skill-Score-Before", "Skill-Score-Hard", "Skill-Score-Soft"),
    *("Skill-Gate", "Skill-Blob", "Skill-Val", "Skill-Target"),
)
_FETCHED = "refs/skillgit/remotes/"


def next_number(repo: Repository, name: str) -> int:
    """One more than the highest release that is known here, fetched ones included."""
    shape = re.compile(rf"(?:.*/)?tags/skill/{re.escape(name)}/v([1-9]\d{{0,8}})")
    known = [*repo.list_refs(SkillRefs(name).tags_prefix), *repo.list_refs(_FETCHED)]
    return 1 + max((int(found[1]) for ref in known if (found := shape.fullmatch(ref))), default=0)


def release(repo: Repository, name: str, commit: str, best: str | None = None) -> RefUpdate:
    """Write the next release's tag object on a merge commit, whose trailers say what is released. Moves no ref.

    Args:
        best: the best document's score as six decimals, where that is another document.

    Raises:
        RefusedError: it could not be signed.
    """
    number = next_number(repo, name)
    trailers = dict(parse_trailers(repo.objects.read_commit(commit).message))
    ref = SkillRefs(name).release_tag(number)
    tag = repo.objects.write_tag(ref, commit, _message(name, number, trailers, best))
    return RefUpdate(ref, None, tag)


def finish(repo: Repository, name: str, base_ref: str, lock: SkillLock) -> str | None:
    """Make the release tag that a crash between two refs of a merge's transaction kept from being made.

    Args:
        lock: knows the refs that its dead owner was moving.

    Returns: the tag; None where nothing is missing.
    """
    shape = re.compile(rf"{re.escape(SkillRefs(name).tags_prefix)}v[1-9]\d*")
    lost = [ref for ref in lock.inherited if shape.fullmatch(ref) and repo.read_ref(ref) is None]
    tip = repo.read_ref(base_ref)
    if not lost or base_ref not in lock.inherited or tip is None:
        return None
    trailers = dict(parse_trailers(repo.objects.read_commit(tip).message))
    if (trailers.get("Skill-Name"), trailers.get("Skill-Kind")) != (name, "merge"):
        return None  # the branch did not move either
    update = release(repo, name, tip)
    commit_refs(repo, [update], f"skillgit merge {name}: release", lock=lock)
    return update.ref


def _message(name: str, number: int, trailers: Mapping[str, str], best: str | None) -> str:
    released = trailers.get("Skill-Score") or "not measured"
    rows = [("released", released), ("before", trailers.get("Skill-Score-Before")), ("best", best)]
    table = [f"{label:<9} {score or '-':>8}" for label, score in rows if score or label != "best"]
    said = [(key, trailers[key]) for key in ("Skill-Name", "Skill-Run") if key in trailers]
    kept = [(key, trailers[key]) for key in _KEPT if trailers.get(key)]
    subject = f"skill({name}): release v{number}"
    return format_message(subject, "\n".join(["document     score", *table]), [*said, ("Skill-Kind", "release"), *kept])
