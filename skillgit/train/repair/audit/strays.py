"""What carries a verdict and is no candidate of a journal: copies that people made, merges, tags, notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.commits import peeled
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import StepRecord, exact_number
from skillgit.train.archive.messages import Place, epoch_message, verdict_trailers
from skillgit.train.repair.audit.candidates import SCORES
from skillgit.train.repair.audit.report import Difference
from skillgit.train.repair.audit.verdicts import Rules
from skillgit.train.repair.notes import all_notes
from skillgit.train.repair.reading import Link, trial_number
from skillgit.train.repair.rebuild import IN_TABLE
from skillgit.train.repair.scored import Scored
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import decimal


@dataclass(slots=True)
class Index:
    """What the journals say of documents and steps.

    Args:
        commits: all candidates' commits.
        known: by document, what it was measured on and the score there, as trailers have it.
        verdicts: by run, step and document, the verdict's trailers.
        people: by run and tip, the score of a person's commit and what it was measured on.
    """

    commits: set[str] = field(default_factory=set)
    known: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    verdicts: dict[tuple[str, int, str], dict[str, str]] = field(default_factory=dict)
    people: dict[tuple[str, str], tuple[str | None, str]] = field(default_factory=dict)

    def add(self, link: Link, rules: Rules) -> None:
        """Take one entry in."""
        run, val = link.info.run, link.state.val
        for one in (link.record, *link.others):
            self.commits |= set(one.commits)
            if one.score is not None:
                self.known.setdefault(one.document, set()).add((val, decimal(exact_number(one.score))))
            if one.commits:
                self.verdicts[run, one.step, one.document] = dict(verdict_trailers(one, gate="", val=val))
        for blob, kept in link.scores.items():
            if (mean := scores.mean(kept, rules.metric)) is not None:
                self.known.setdefault(blob, set()).add((val, decimal(mean)))
        if link.record.kind == "human":
            self.people[run, link.state.tip] = link.record.score, val


def commits(index: Index, found: Sequence[Scored], noted: set[tuple[str, str, str]]) -> Iterator[Difference]:
    """Commits with a verdict that no journal lists: what a rebase, an amend or a cherry-pick left, a merge.

    A score is right where the tree has the measured document and a journal, or a note, has that score of it.

    Args:
        noted: (document, digest, score) of the notes.
    """
    for one in found:
        if one.commit in index.commits:
            continue
        where, written = one.commit[:12], one.trailers
        if any(key in written for key in SCORES) and not one.counts:
            yield Difference(where, "Skill-Blob", written.get("Skill-Blob", "nothing"), one.blob or "no document")
            continue
        blob = one.blob or ""
        step = one.step if one.step is not None else -1
        verdict = index.verdicts.get((one.run, step, blob))
        if verdict is not None:
            for key in ("Skill-Decision", *SCORES, "Skill-Val"):
                if key in written and written[key] != verdict.get(key):
                    yield Difference(where, key, written[key], verdict.get(key, "nothing"))
        elif "Skill-Score" in written:
            val, score = written.get("Skill-Val", ""), written["Skill-Score"]
            if (val, score) not in index.known.get(blob, ()) and (blob, val, score) not in noted:
                known = sorted(text for on, text in index.known.get(blob, ()) if on == val)
                yield Difference(where, "Skill-Score", score, ", ".join(known) or "nobody measured that document")
        elif "Skill-Decision" in written and "Skill-Step" in written:
            yield Difference(where, "Skill-Decision", written["Skill-Decision"], "no journal has this step")


def tags(repo: Repository, refs: SkillRefs, link: Link, shown: Sequence[StepRecord]) -> Iterator[Difference]:
    """The epoch's tag that an entry made: what it names, its table and its trailers.

    Args:
        shown: the run's entries so far.
    """
    for row in link.record.refs:
        ref = row[0] if len(row) == 3 else None
        if ref is None or not ref.startswith(f"{refs.tags_prefix}{link.info.run}/epoch-"):
            continue
        oid = repo.read_ref(ref)
        if oid is None:
            continue  # doctor's to say
        where = ref.removeprefix("refs/tags/")
        try:
            found = repo.objects.read(oid)
            names = peeled(found.data) if found.kind == "tag" else ""
        except (RepositoryError, IndexError, ValueError) as error:
            yield Difference(where, "tag", oid, str(error))
            continue
        if names != link.state.tip:
            yield Difference(where, "tag", names or f"a {found.kind}", link.state.tip)
        rows = [one for one in shown if one.epoch == link.record.epoch and one.kind in IN_TABLE]
        place = Place(link.info.skill, link.info.run, link.record.step, link.record.epoch)
        wanted = epoch_message(place, rows, link.state, exact_number(link.record.best))
        if found.kind == "tag":
            yield from _lines(where, _message(found.data), wanted)


def _message(data: bytes) -> str:
    """A tag's message without its signature."""
    return data.partition(b"\n\n")[2].decode("utf-8", "replace").partition("-----BEGIN ")[0]


def _lines(where: str, written: str, wanted: str) -> Iterator[Difference]:
    """Line by line, whatever the spaces."""
    mine, right = ([" ".join(line.split()) for line in text.split("\n") if line.strip()] for text in (written, wanted))
    for number in range(max(len(mine), len(right))):
        have, want = (lines[number] if number < len(lines) else "nothing" for lines in (mine, right))
        if have != want:
            yield Difference(where, f"line {number + 1}", have, want)


def noted_scores(repo: Repository, rules: Sequence[Rules]) -> set[tuple[str, str, str]]:
    """(document, digest, score) of every score in the notes, by each metric that a run used."""
    found = set[tuple[str, str, str]]()
    metrics = {one.metric for one in rules}
    for oid, fact in _facts(repo):
        hard, soft = trial_number(fact.get("hard")), trial_number(fact.get("soft"))
        if fact.get("kind") == "score" and hard is not None and soft is not None:
            found |= {(oid, str(fact.get("digest")), decimal(metric.value(hard, soft))) for metric in metrics}
    return found


def notes(repo: Repository, index: Index, runs: set[str], metrics: set[str]) -> Iterator[Difference]:
    """Notes about a skill's documents and people's commits: scores that are none, or not the journal's.

    Args:
        runs: only facts of these. metrics: the names under which a person's commit has its score.
    """
    for oid, fact in _facts(repo):
        where = f"note on {oid[:12]}"
        if fact.get("kind") == "human" and fact.get("run") in runs:
            known = index.people.get((str(fact["run"]), oid))
            for key in sorted(metrics & fact.keys()):
                if known is None:
                    yield Difference(where, key, str(fact[key]), "no journal has measured this commit")
                elif (fact[key], fact.get("digest")) != known:
                    yield Difference(where, key, f"{fact[key]} on {fact.get('digest')}", f"{known[0]} on {known[1]}")
        elif fact.get("kind") == "score" and oid in index.known:
            for key in ("hard", "soft"):
                if trial_number(fact.get(key)) is None:
                    yield Difference(where, key, str(fact.get(key)), "a score from 0/1 to 1/1")


def _facts(repo: Repository) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        for oid, fact in all_notes(repo):
            if fact is not None:
                yield oid, fact
    except (RefusedError, RepositoryError):
        return  # doctor's to say
