"""Commits that carry a score, and whether it can be theirs: the tree has the measured document, on the val tasks that
the journal names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillgit.errors import RepositoryError
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.train.repair.reading import blob_at, commit_of
from skillgit.train.repair.told import Told


@dataclass(frozen=True, slots=True)
class Scored:
    """A commit of a skill with the verdict's trailers.

    Args:
        trailers: the first value of each key.
        blob: the document in its tree; None where it has none.
    """

    commit: str
    trailers: Mapping[str, str]
    blob: str | None

    @property
    def run(self) -> str:
        """The run that its trailers name."""
        return self.trailers.get("Skill-Run", "")

    @property
    def step(self) -> int | None:
        """The step that its trailers name."""
        text = self.trailers.get("Skill-Step", "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None

    @property
    def counts(self) -> bool:
        """Whether a reader of trailers may take its score: the document is the measured one."""
        return self.blob is not None and self.trailers.get("Skill-Blob") == self.blob


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A trailer that cannot be right."""

    commit: str
    key: str
    written: str
    computed: str


def scored(repo: Repository, refs: SkillRefs, tips: Sequence[str], paths: Mapping[str, str], path: str) -> list[Scored]:
    """The skill's commits with a score or a decision, reachable from some tips; newest first.

    Args:
        paths: the document's path by run. path: the same where the run is not known.
    """
    if not tips:
        return []
    asked = ("log", "--stdin", "--format=%H", "--extended-regexp", "--grep=^Skill-(Score|Decision)")
    told = repo.git(*asked, input="".join(f"{tip}\n" for tip in dict.fromkeys(tips)).encode()).text
    found = []
    for oid in filter(None, told.split("\n")):
        try:
            info = commit_of(repo, oid)
            trailers: dict[str, str] = {}
            for key, value in parse_trailers(info.message):
                trailers.setdefault(key, value)
            if trailers.get("Skill-Name") == refs.name:
                blob = blob_at(repo, info.tree, paths.get(trailers.get("Skill-Run", ""), path))
                found.append(Scored(oid, trailers, blob))
        except RepositoryError:
            continue
    return found


def tips_of(repo: Repository, refs: SkillRefs) -> list[str]:
    """Where a skill's own commits can be reached from: branch, best, rejected refs and tags."""
    alone = [oid for ref in (refs.branch, refs.best) if (oid := repo.read_ref(ref)) is not None]
    many = [oid for prefix in (refs.rejected_prefix, refs.tags_prefix) for oid in repo.list_refs(prefix).values()]
    return [*alone, *many]


def mismatches(told: Told, commits: Sequence[Scored]) -> Iterator[Mismatch]:
    """Scores of another document than the commit has, or on other val tasks than the journal says."""
    for one in commits:
        written = one.trailers.get("Skill-Blob", "")
        has_score = any(key in one.trailers for key in ("Skill-Score", "Skill-Score-Max"))
        if has_score and not one.counts:
            yield Mismatch(one.commit, "Skill-Blob", written, one.blob or "no document")
            continue
        val = told.vals.get(one.commit)
        wanted = (
            {val} if val is not None else told.steps.get((one.run, one.step), set()) if one.step is not None else ()
        )
        if has_score and wanted and one.trailers.get("Skill-Val") not in wanted:
            yield Mismatch(one.commit, "Skill-Val", one.trailers.get("Skill-Val", ""), ", ".join(sorted(wanted)))
