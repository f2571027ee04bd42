"""One skill's history: looked at, and mended under its lock in one transaction."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from skillgit.errors import RefusedError, RepositoryError, SkillgitError
from skillgit.store import holding
from skillgit.store.locks import SkillLock, read_owner
from skillgit.store.refs import NOTES, SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.transactions import commit_refs, in_the_way
from skillgit.train.archive import history
from skillgit.train.events import Event, Note
from skillgit.train.repair import lost
from skillgit.train.repair.findings import Finding, Flaw
from skillgit.train.repair.reading import Link, Reader
from skillgit.train.repair.rebuild import Rebuilding
from skillgit.train.repair.scored import mismatches, scored, tips_of
from skillgit.train.repair.told import Told, told
from skillgit.train.start import recover

_TRIES = 5
_SHOWN = 5
"""Findings of one kind that are shown one by one."""


@dataclass(slots=True)
class Looked:
    """What was found of a skill. `told` is what its journals say, those that were found again included."""

    told: Told
    flaws: list[Flaw] = field(default_factory=list)


def examine_skill(repo: Repository, name: str, document: str, *, repair: bool) -> Iterator[Finding]:
    """Everything that is wrong with a skill's history; with `repair`, what can be mended is.

    Args:
        document: its path by the configuration; a run's own counts where its journal is here.
    """
    refs = SkillRefs(name)
    with ExitStack() as stack:
        lock = None
        if repair:
            try:
                lock = stack.enter_context(SkillLock.acquire(repo, name, "doctor"))
                yield from _finish(repo, name, lock)
            except SkillgitError as error:
                yield Finding(f"{name}: lock", "", str(error), error.exit_code)
                return
        else:
            yield from _half_done(repo, name)
        looked = _steady(repo, refs, document) if lock is None else look(repo, refs, document, writes=True)
        done = False
        if lock is not None:
            try:
                done = _mend(repo, name, looked.flaws, lock)
            except SkillgitError as error:
                yield Finding(f"{name}: repair", "", f"nothing was mended: {error}", error.exit_code)
    yield from _cut([flaw.finding(name, repaired=done) for flaw in looked.flaws])
    if not any(flaw.update is not None or not flaw.only_said for flaw in looked.flaws):
        yield Finding(f"{name}: history", _all_well(looked.told))


def _steady(repo: Repository, refs: SkillRefs, document: str) -> Looked:
    """`look` without the lock: again where a step was written meanwhile, since it would have seen half of it."""
    for _ in range(_TRIES):
        tips = history.runs(repo, refs.name)
        looked = look(repo, refs, document, writes=False)
        if history.runs(repo, refs.name) == tips:
            break
    return looked


def look(repo: Repository, refs: SkillRefs, document: str, *, writes: bool) -> Looked:
    """Compare a skill's refs with its journals. Moves nothing.

    Args:
        writes: whether objects of tags that are gone may be written.
    """
    blocked = list(_blocked(repo, refs))
    found = Looked(told(repo, refs.name, dict(history.runs(repo, refs.name))))
    journals = lost.flaws(repo, refs, found.told)
    again = {flaw.update.ref.rpartition("/")[2]: flaw.update.new for flaw in journals if flaw.update is not None}
    if again:
        tips = {run: chain.tip for run, chain in found.told.chains.items()}
        found.told = told(repo, refs.name, {**tips, **{run: tip for run, tip in again.items() if tip is not None}})
    for run, problem in found.told.problems:
        mend = "`skillgit fetch` may bring a whole one; what the other runs say is used"
        journals.append(Flaw("journals", f"{refs.journal(run)}: {problem}", mend))
    journals += _no_journals(repo, refs)
    found.flaws = [*blocked, *journals, *Rebuilding(repo, refs, found.told, writes).flaws()]
    if blocked:  # one transaction moves all refs or none, and git refuses it now
        found.flaws = [
            Flaw(f.what, f.said, f.mend if f.update is None else "mend the names first") for f in found.flaws
        ]
    found.flaws += _scores(repo, refs, found.told, document)
    return found


def _no_journals(repo: Repository, refs: SkillRefs) -> Iterator[Flaw]:
    """Refs among the journals that can be none; everything else passes over them."""
    known = {refs.journal(run) for run, _ in history.runs(repo, refs.name)}
    for ref in repo.list_refs(refs.journals_prefix):
        if ref not in known:
            yield Flaw("journals", f"{ref} is no journal, and is not looked at", f"delete it: git update-ref -d {ref}")


def _mend(repo: Repository, name: str, flaws: list[Flaw], lock: SkillLock) -> bool:
    """Move what can be moved, journals first, all or nothing. Whether anything was."""
    updates = [flaw.update for flaw in flaws if flaw.update is not None]
    commit_refs(repo, updates, f"skillgit doctor: repair {name}", lock=lock)
    return bool(updates)


def _finish(repo: Repository, name: str, lock: SkillLock) -> list[Finding]:
    """Bring what the last owner of the lock left behind to its end."""
    said: list[str] = []

    def tell(event: Event) -> None:
        if isinstance(event, Note):
            said.append(event.text)

    try:
        for _, tip in history.runs(repo, name)[-1:]:
            _rows(Reader(repo).link(tip))
        recover(repo, name, lock, tell)
    except (RefusedError, RepositoryError) as error:
        return [Finding(f"{name}: transaction", "", str(error), error.exit_code)]
    return [Finding(f"{name}: transaction", "", text, 2, repaired=text) for text in said]


def _rows(link: Link) -> None:
    """Before anything is moved by it: an entry that somebody else may have written names whole updates.

    Raises:
        RefusedError: it does not.
    """
    if any(len(row) != 3 or row[0] is None for row in link.record.refs):
        raise RefusedError(f"journal {link.commit[:12]}: step.json: refs: no list of updates")


def _half_done(repo: Repository, name: str) -> Iterator[Finding]:
    owner = read_owner(repo, name)
    if owner is not None and owner.refs and owner.host == socket.gethostname() and not holding.alive(owner.pid):
        said = f"process {owner.pid} on {owner.host} ended while it moved {len(owner.refs)} refs"
        mend = f"`skillgit doctor --repair {name}`, or the next `skillgit train {name}`, completes that"
        yield Finding(f"{name}: transaction", "", f"{said}; {mend}", 2)


def _blocked(repo: Repository, refs: SkillRefs) -> Iterator[Flaw]:
    """Refs of other people that git cannot keep beside ours."""
    name, spaces = refs.name, ("runs", "rejected", "evidence")
    wanted = [refs.branch, refs.best, NOTES, *(f"refs/skillgit/{space}/{name}/*" for space in spaces)]
    seen = set[str]()
    for ref in [*wanted, f"{refs.tags_prefix}*"]:
        parts = ref.removeprefix("refs/").split("/")
        folders = [f"refs/{'/'.join(parts[:n])}" for n in range(2, len(parts))]
        if ref.startswith(("refs/skillgit/", NOTES)):
            folders.insert(0, f"refs/{parts[0]}")
        there = [folder for folder in folders if repo.read_ref(folder) is not None]
        there += [] if ref.endswith("/*") else list(repo.list_refs(f"{ref}/"))
        for found in there:
            if found not in seen:
                error = in_the_way(found, ref)
                yield Flaw("names", error.message, error.mend or "")
        seen.update(there)


def _scores(repo: Repository, refs: SkillRefs, known: Told, document: str) -> Iterator[Flaw]:
    commits = scored(repo, refs, tips_of(repo, refs), known.documents, document)
    for one in mismatches(known, commits):
        if one.key == "Skill-Blob":
            of = f"the score of document {one.written[:12]}" if one.written else "a score of no document"
            said = f"{one.commit[:12]} carries {of}, and has {one.computed[:12]}"
            mend = "no command counts it; `skillgit train` measures what is at the tip"
            yield Flaw("scores", said, mend, only_said=True)
        else:
            says = f"its journal says {one.computed[:19]}"
            said = f"{one.commit[:12]} says that it was measured on {one.written[:19]}, {says}"
            yield Flaw("scores", said, f"do not trust it; `skillgit verify {refs.name}` shows more")


def _cut(found: list[Finding]) -> Iterator[Finding]:
    """At most a few lines of each kind, then how many more there are."""
    by_what: dict[tuple[str, bool], list[Finding]] = {}
    for one in found:
        by_what.setdefault((one.what, one.repaired is not None), []).append(one)
    for (what, repaired), some in by_what.items():
        yield from some[:_SHOWN]
        if len(some) > _SHOWN:
            text = f"{len(some) - _SHOWN} more of the same kind"
            worst = max(one.exit_code for one in some)
            yield Finding(what, "", text, worst, repaired=text if repaired else None)


def _all_well(known: Told) -> str:
    if not known.chains:
        return "no journal here"
    counts = [(len(known.chains), "run"), (known.entries, "entry"), (len(known.rejected), "rejected ref")]
    shown = ", ".join(f"{number} {_plural(word, number)}" for number, word in [*counts, (len(known.tags), "tag")])
    return f"{shown}: all refs are where the journals say"


def _plural(word: str, number: int) -> str:
    return word if number == 1 else "entries" if word == "entry" else f"{word}s"
