"""A journal's entries, one after the other: what each is, what follows from the one before, what scores it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import RunState, StepRecord, exact_text
from skillgit.train.repair.audit.report import Difference
from skillgit.train.repair.audit.verdicts import GATED, Judged, Rules, beats, winner
from skillgit.train.repair.reading import Link, blob_at, measurement
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import Measurement

EVENTS = ("baseline", "human", "remeasure")
"""Entries that measure a document by itself."""
ANEW = ("baseline", "remeasure")
"""Entries with which tasks and target may change; where the scores are equal, best is the tip's document."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which journal an entry stands.

    Args:
        before: the entry before; None at the beginning, and where a shallow clone ends.
        cut: whether a shallow clone ends the journal here.
        judged: the step's candidates, judged again.
    """

    repo: Repository
    refs: SkillRefs
    run: str
    rules: Rules
    link: Link
    before: Link | None
    cut: bool
    judged: Sequence[Judged]

    @property
    def where(self) -> str:
        """How the entry is named."""
        return f"journal {self.link.commit[:12]}"

    def difference(self, what: str, written: Any, computed: Any) -> Difference:
        """One of this entry's."""
        return Difference(self.where, what, str(written), str(computed))


def differences(place: Place) -> Iterator[Difference]:
    """All that is not as it has to be in one entry, by itself and after the one before."""
    yield from _identity(place)
    yield from _state(place)
    yield from _refs(place)
    yield from _kept(place)
    link = place.link
    best = link.scores.get(link.state.best)
    if best is not None and not place.rules.imported:
        computed = exact_text(scores.mean(best, place.rules.metric))
        if link.record.best is not None and link.record.best != computed:
            yield place.difference("best", link.record.best, computed)


def _identity(place: Place) -> Iterator[Difference]:
    link, before, refs = place.link, place.before, place.refs
    info = link.info
    if (info.skill, info.run) != (refs.name, place.run):
        yield place.difference("run", f"{info.skill} {info.run}", f"{refs.name} {place.run}")
    if before is not None and info != before.info:
        yield place.difference("run.json", "other than in the entry before", "the same")
    if before is None and not place.cut and (link.record.kind, link.record.step) != ("baseline", 0):
        yield place.difference("step", f"{link.record.kind} {link.record.step}", "the journal begins with baseline 0")
    if before is not None and link.record.kind == "baseline":
        yield place.difference("kind", "baseline", "it begins a journal")
    for one in link.candidates:
        if one.commits[-1] not in link.parents:
            yield place.difference("parents", "not among them", f"{one.commits[-1]} is kept reachable")
    if link.state.step != link.record.step:
        yield place.difference("state.step", link.state.step, link.record.step)
    if before is not None and not place.rules.imported:
        wanted = before.state.step + (link.record.kind == "step")
        if link.record.step != wanted:
            yield place.difference("step", link.record.step, wanted)


def _state(place: Place) -> Iterator[Difference]:
    """What the entry before and this one's decision make of the state."""
    link, before, state = place.link, place.before, place.link.state
    won = link.record if link.record.accepted and link.record.commits else None
    if won is not None and not place.rules.imported:
        yield from _unequal(place, "tip", state.tip, won.commits[-1])
        yield from _unequal(place, "incumbent", state.incumbent, won.document)
    elif link.record.kind in EVENTS:
        yield from _unequal(place, "incumbent", state.incumbent, link.record.document)
        yield from _document_at(place, "tip", state.tip, state.incumbent)
    elif before is not None and not place.rules.imported:
        yield from _unequal(place, "tip", state.tip, before.state.tip)
        yield from _unequal(place, "incumbent", state.incumbent, before.state.incumbent)
    yield from _document_at(place, "best_commit", state.best_commit, state.best)
    if before is None:
        yield from _counts(place, 0, 0) if link.record.kind == "baseline" else ()
        return
    old = before.state
    accepted = link.record.accepted and bool(link.record.commits or place.rules.imported)
    rejected = sum(one.decision == "reject" for one in link.candidates)
    yield from _counts(place, old.accepted_count + accepted, old.rejected_count + rejected)
    if link.record.kind not in ANEW:
        yield from _unequal(place, "val", state.val, old.val)
        yield from _unequal(place, "target", state.target, old.target)
    if link.record.kind in (*GATED, "human") and link.record.document_before != old.incumbent:
        yield place.difference("document_before", link.record.document_before, old.incumbent)
    best = _best(place, old)
    if best is not None and (state.best, state.best_commit) != best:
        yield place.difference("best", f"{state.best} in {state.best_commit}", f"{best[0]} in {best[1]}")


def _counts(place: Place, accepted: int, rejected: int) -> Iterator[Difference]:
    yield from _unequal(place, "accepted_count", place.link.state.accepted_count, accepted)
    yield from _unequal(place, "rejected_count", place.link.state.rejected_count, rejected)


def _unequal(place: Place, what: str, written: Any, computed: Any) -> Iterator[Difference]:
    if written != computed:
        yield place.difference(f"state.{what}", written, computed)


def _document_at(place: Place, what: str, commit: str, blob: str) -> Iterator[Difference]:
    """Whether a commit of the state has the document that the state says."""
    try:
        found = blob_at(place.repo, commit, place.link.info.document)
    except RepositoryError as error:
        yield place.difference(f"state.{what}", commit, error.message)
        return
    if found != blob:
        yield place.difference(f"state.{what}", f"document {blob}", f"{found or 'none'} in {commit}")


def _best(place: Place, old: RunState) -> tuple[str, str] | None:
    """Blob and commit of the best document after this entry; None where it cannot be computed."""
    link = place.link
    record, rules = link.record, place.rules
    if rules.imported:
        return None
    if record.kind in EVENTS:
        return _best_of_event(place, old)
    if not record.accepted or not record.commits:
        return old.best, old.best_commit
    mine = record.document, record.commits[-1]
    if record.kind not in GATED and record.decision == "forced":
        return mine  # a person has said so
    won = winner(place.judged)
    if won is None or won.record.commits[-1] != record.commits[-1]:
        return None  # said of the verdict
    if won.decision == "forced" and place.before is not None:
        better = beats(place.before.scores.get(old.best), won.measured, rules)
        return mine if better else (old.best, old.best_commit)
    return mine if won.decision == "accept-best" else (old.best, old.best_commit)


def _best_of_event(place: Place, old: RunState) -> tuple[str, str] | None:
    link, metric = place.link, place.rules.metric
    tie_wins = link.record.kind in ANEW
    known = link.scores if tie_wins else place.before.scores if place.before else {}
    mine = _mean(place, _own(link.record))
    bar = known.get(old.best)
    height = scores.mean(bar, metric) if bar is not None else None
    if mine is None or (height is None and old.best != link.record.document):
        return None
    if height is None or mine > height or (tie_wins and mine == height):
        return link.record.document, link.state.tip
    return old.best, old.best_commit


def _own(record: StepRecord) -> Measurement | None:
    try:
        return measurement(record.scores, "scores")
    except RefusedError:
        return None


def _mean(place: Place, measured: Measurement | None) -> Any:
    return None if measured is None else scores.mean(measured, place.rules.metric)


def _refs(place: Place) -> Iterator[Difference]:
    """The refs that the entry says to have moved: the skill's own, and to where its decision leads."""
    refs, link, run = place.refs, place.link, place.run
    exactly = (refs.branch, refs.best, refs.evidence(run), refs.published, refs.tasks)
    below = (f"{refs.rejected_prefix}{run}/", refs.tags_prefix)
    moved: dict[str, str | None] = {}
    for row in link.record.refs:
        if len(row) != 3 or row[0] is None:
            yield place.difference("refs", row, "a ref with its old and its new value")
        elif row[0] not in exactly and not row[0].startswith(below):
            yield place.difference("refs", row[0], f"refs of {refs.name} alone")
        else:
            moved[row[0]] = row[2]
    if place.rules.imported:
        return
    for ref, wanted in ((refs.branch, link.state.tip), (refs.best, link.state.best_commit)):
        if ref in moved and moved[ref] != wanted:
            yield place.difference("refs", f"{ref} to {moved[ref]}", wanted)
    for one in link.candidates:
        if one.decision == "reject":
            ref = refs.rejected(run, max(one.step, 0), max(one.candidate, 0))
            if moved.get(ref) != one.commits[-1]:
                yield place.difference("refs", f"{ref} to {moved.get(ref)}", one.commits[-1])


def _kept(place: Place) -> Iterator[Difference]:
    """Scores that the entry keeps for the next one: those of its own candidates, or those of the entry before."""
    link, before = place.link, place.before
    if place.rules.imported:
        return
    own = {one.document: one for one in (link.record, *link.others) if one.scores}
    for blob, kept in link.scores.items():
        if blob in own and (own[blob].accepted or link.record.kind in EVENTS):
            source = _own(own[blob])
        elif before is not None and blob in before.scores and link.record.kind not in ANEW:
            source = before.scores[blob]
        elif link.record.kind in ANEW:
            continue  # measured with this entry, or known from the run before
        else:
            yield place.difference("scores.json", f"scores of {blob}", "no entry measured it")
            continue
        if source != kept:
            yield place.difference("scores.json", f"scores of {blob}", "others than were measured")
