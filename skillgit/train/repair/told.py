"""What the journals of a skill say that its refs are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.refs import SkillRefs, parse_rejected
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.journal import StepRecord
from skillgit.train.repair.reading import Chain, Reader, chain_of, validated

_MEASURES = ("baseline", "remeasure")
"""Entries with which what scores were measured on may change."""


@dataclass(frozen=True, slots=True)
class TagTold:
    """An epoch's or a release's tag.

    Args:
        tag: the tag object. entry: the journal entry that made it, of `run`.
    """

    tag: str
    run: str
    entry: str


@dataclass(slots=True)
class Told:
    """What the journals say.

    Args:
        chains: by run, oldest first. entries: how many entries were read.
        branch, best: None where no journal says it, or where the newest one cannot be read.
        rejected: commit by ref. tags: by ref.
        documents: path of the document by run.
        vals: what a candidate was measured on, by its commit. steps: the same by (run, step).
        problems: (run, why) of journals that cannot be read to their beginning.
    """

    chains: dict[str, Chain] = field(default_factory=dict)
    entries: int = 0
    branch: str | None = None
    best: str | None = None
    rejected: dict[str, str] = field(default_factory=dict)
    tags: dict[str, TagTold] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    vals: dict[str, str] = field(default_factory=dict)
    steps: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)


def told(repo: Repository, name: str, tips: Mapping[str, str]) -> Told:
    """Read the journals.

    Only what an entry says of itself counts: a rejected ref that points to one of its own candidates, a tag below the
    skill's own names. Whoever can push can write a journal, and it must not name other people's refs.

    Args:
        tips: journal tip by run.
    """
    found, reader, last = Told(), Reader(repo), _last(repo, tips)
    for run in sorted(tips):
        chain = chain_of(repo, run, tips[run])
        found.chains[run] = chain
        if chain.problem:
            found.problems.append((run, chain.problem))
        newest = run == last
        try:
            _read(found, reader, SkillRefs(name), chain, newest=newest)
        except (RefusedError, RepositoryError) as error:
            found.problems.append((run, error.message))
            if newest:
                found.branch = found.best = None
    return found


def _last(repo: Repository, tips: Mapping[str, str]) -> str | None:
    """The run whose end says where branch and best are."""
    try:
        journal = history.last_of(repo, sorted(tips.items()))
    except (RefusedError, RepositoryError):
        return max(tips, default=None)
    return journal.info.run if journal is not None else None


def _read(found: Told, reader: Reader, refs: SkillRefs, chain: Chain, *, newest: bool) -> None:
    if not chain.commits:
        return
    val = ""
    for commit in chain.commits:
        record = reader.record(commit)
        found.entries += 1
        if record.kind in _MEASURES or not val:
            val = reader.state(commit).val
        others = [validated(StepRecord, other, commit, "step.json") for other in record.others]
        candidates = [one for one in (record, *others) if one.commits]
        for one in candidates:
            found.vals[one.commits[-1]] = val
            found.steps.setdefault((chain.run, one.step), set()).add(val)
        _refs(found, refs, TagTold("", chain.run, commit), record, {one.commits[-1] for one in candidates})
    last = reader.state(chain.commits[-1])
    found.documents[chain.run] = reader.info(chain.commits[-1]).document
    if newest:
        found.branch, found.best = last.tip, last.best_commit
        _ = reader.link(chain.commits[-1])  # what the next run starts from has to be readable as a whole


def _refs(found: Told, refs: SkillRefs, place: TagTold, record: StepRecord, candidates: set[str]) -> None:
    for row in record.refs:
        if len(row) != 3 or row[0] is None or row[2] is None:
            continue
        ref, new = row[0], row[2]
        parts = parse_rejected(ref)
        if parts is not None and (parts.name, parts.run) == (refs.name, place.run) and new in candidates:
            found.rejected[ref] = new
        elif ref.startswith(refs.tags_prefix):
            found.tags[ref] = replace(place, tag=new)
