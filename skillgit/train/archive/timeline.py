"""A skill's history as one stream, newest first: people's commits that no run has seen, every entry of every journal
(runs by the time of their newest entry, since those of two clones overlap), and, where asked for, rejected candidates
whose journal is not here. Nothing is read before it is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillgit.errors import RepositoryError
from skillgit.store.commits import CommitInfo
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.documents import blob_at
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.standing import unmeasured
from skillgit.train.archive.story import Entry, Rejected, read, rejected
from skillgit.train.archive.told import chain_of, date_of, record_of
from skillgit.train.archive.walking import walk

UNMEASURED = "unmeasured"
"""The kind, and the decision, of a commit on the branch that no run has seen."""


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the stream.

    Args:
        entry: its journal entry; of a person's commit, or where the journal is not here, one made of the commit.
        author, subject, at: of a person's commit (`Name <email>`; ISO 8601 in UTC); empty for all others.
        refs: rejected refs by number of candidate; only where they were asked for.
    """

    entry: Entry
    author: str = ""
    subject: str = ""
    at: str = ""
    refs: dict[int, str] = field(default_factory=dict)

    @property
    def entries(self) -> list[Entry]:
        """The entry, and the step's other candidates."""
        return [self.entry, *self.entry.others]

    def to_json(self, *, refs: bool) -> dict[str, Any]:
        """Stable keys: those of `Entry`, author, subject and date of a person's commit, and, with `refs`, the rejected
        ref of each candidate that has one."""
        found = self.entry.to_json()
        if self.entry.record.kind == UNMEASURED:
            found |= {"run": None, "step": None, "epoch": None}
        found |= {"author": self.author or None, "subject": self.subject or None, "at": self.at or None}
        if refs:
            found["ref"] = self.refs.get(self.entry.record.candidate) if self.entry.record.commits else None
            found["others"] = [
                {**other.to_json(), "ref": self.refs.get(other.record.candidate)} for other in self.entry.others
            ]
        return found


def timeline(repo: Repository, name: str, document: str, *, run: str = "", buffer: bool = False) -> Iterator[Line]:
    """The stream.

    Args:
        document: its path.
        run: only runs whose id begins so; then without people's commits.
        buffer: with the refs of rejected candidates, and with candidates whose journal is not here.
    """
    if not run:
        yield from _people(repo, name, document)
    kept = [item for item in rejected(repo, name) if item.run.startswith(run)] if buffer else []
    tips = {ident: tip for ident, tip in history.runs(repo, name) if ident.startswith(run)}
    newest = {item.run: item.commit for item in reversed(kept)}  # the newest step's comes first
    for ident in by_time(repo, {**newest, **tips}):
        entries = (read(repo, stop) for stop in walk(repo, ident, tips[ident])) if ident in tips else iter(())
        if not buffer:
            yield from map(Line, entries)
            continue
        mine = [item for item in kept if item.run == ident]
        yield from woven(entries, mine, lambda item: told_alone(repo, item, document))


def by_time(repo: Repository, tips: Mapping[str, str]) -> list[str]:
    """Runs, the one whose newest entry was made last first; of equal ones the newer run, by its id.

    Args:
        tips: each run's newest commit; only these are read.
    """
    return sorted(tips, key=lambda run: (_made(repo, tips[run]), run), reverse=True)


def _made(repo: Repository, commit: str) -> int:
    try:
        return repo.objects.read_commit(commit).commit_time
    except RepositoryError:  # anybody can push a ref to what is no commit
        return 0


def woven(entries: Iterable[Entry], kept: Sequence[Rejected], alone: Callable[[Rejected], Line]) -> Iterator[Line]:
    """A run's entries with the refs of their candidates; candidates that no entry tells of stand where their step is.

    Args:
        kept: the run's rejected refs, the newest step first.
        alone: what is told of a candidate whose entry is not here.
    """
    places = {(item.step, item.candidate): item for item in kept}
    waiting, told = deque(kept), set[str]()
    for entry in entries:
        while waiting and waiting[0].step > entry.record.step:
            item = waiting.popleft()
            if item.ref not in told:
                yield alone(item)
        refs = {}
        for one in (entry, *entry.others):
            found = places.get((one.record.step, one.record.candidate))
            if found is not None and found.commit == one.commit:
                refs[found.candidate] = found.ref
        told.update(refs.values())
        yield Line(entry, refs=refs)
    yield from (alone(item) for item in waiting if item.ref not in told)


def told_alone(repo: Repository, item: Rejected, document: str) -> Line:
    """What a rejected candidate's commit says of itself."""
    try:
        info = repo.objects.read_commit(item.commit)
        record = record_of(info, blob_at(repo, item.commit, document))
        record.commits, record.reason = chain_of(repo, info), "its journal is not here"
    except RepositoryError:  # anybody can push a ref to what is no commit
        record = StepRecord("step", 0, 0, "reject", "it cannot be read", "", "", commits=[item.commit])
    record.step, record.candidate, record.decision = item.step, item.candidate, "reject"
    return Line(Entry(item.run, record), refs={item.candidate: item.ref})


def _people(repo: Repository, name: str, document: str) -> Iterator[Line]:
    branch = repo.read_ref(SkillRefs(name).branch)
    last = history.latest(repo, name)
    if branch is None or last is None or branch == last.state.tip:
        return
    for info in unmeasured(repo, branch, last.state.tip):
        yield _person(info, blob_at(repo, info.oid, document))


def _person(info: CommitInfo, blob: str | None) -> Line:
    """A commit that no run has seen: whatever its trailers say, nobody has measured it as it stands there."""
    record = record_of(info, None)
    record.kind = record.decision = UNMEASURED
    record.reason, record.document = "no run has measured it yet", blob or ""
    record.models, record.step = {}, 0
    return Line(Entry("", record), author=info.author, subject=info.subject, at=date_of(info.author_time))
