"""Read the journals of a skill: the runs, and the steps of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError
from skillgit.store.clones import named_clone
from skillgit.store.refs import SkillRefs, parse_journal
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import Journal, StepRecord, load
from skillgit.train.archive.layout import META, PATTERNS, SUBJECT, read_journal
from skillgit.train.scoring import scores
from skillgit.train.scoring.scores import metric_of


def runs(repo: Repository, name: str) -> list[tuple[str, str]]:
    """(run, journal tip) of every run here, oldest first: run ids sort by time. What is not named as
    a journal, or is no commit, is none: whoever can push can make such refs."""
    form = "--format=%(objecttype) %(objectname) %(refname)"
    told = repo.git("for-each-ref", form, SkillRefs(name).journals_prefix).text
    rows = (line.split(" ", 2) for line in told.split("\n") if line)
    found = ((parse_journal(ref), oid) for kind, oid, ref in rows if kind == "commit")
    return sorted((journal.run, oid) for journal, oid in found if journal is not None)


def latest(repo: Repository, name: str) -> Journal | None:
    """The last journal commit of the run that the skill's history ends with."""
    return last_of(repo, runs(repo, name))


def last_of(repo: Repository, found: Sequence[tuple[str, str]]) -> Journal | None:
    """The run that a history ends with: the newest by its id, or, where that is another clone's, one of this clone that
    went on from there.

    Args:
        found: (run, journal tip), oldest first.
    """
    last: Journal | None = None
    for _, tip in reversed(found):
        one = read_journal(repo, tip)
        last = one if last is None or _goes_on(repo, one, last) else last
        if is_own(repo, one):
            break
    return last


def _goes_on(repo: Repository, one: Journal, other: Journal) -> bool:
    """Whether a run's tip stands on another's."""
    ours, theirs = one.state.tip, other.state.tip
    return ours != theirs and repo.objects.is_ancestor(theirs, ours)


def current(repo: Repository, name: str) -> Journal | None:
    """The run that the next command is about: the newest that was begun in this clone, if it is unfinished; else the
    one that the history ends with, which may have come from a remote, and is not appended to here then."""
    for _, tip in reversed(runs(repo, name)):
        found = read_journal(repo, tip)
        if is_own(repo, found):
            if found.state.status == "running":
                return found
            break
    return latest(repo, name)


def is_own(repo: Repository, journal: Journal) -> bool:
    """Whether a run was begun in this clone, as far as it says."""
    return journal.info.clone in ("", named_clone(repo))


def tip_of(repo: Repository, name: str) -> str | None:
    """The training branch, or, where it is not here, the tip that the journals know; None: not trained here."""
    last = latest(repo, name) if (branch := repo.read_ref(SkillRefs(name).branch)) is None else None
    return branch or (last.state.tip if last is not None else None)


def free_number(repo: Repository, journal: str | None, step: int, first: int) -> int:
    """A candidate's number that nothing else of a run's step has, or had; from `first` on."""
    taken = 0
    for _, record in entries(repo, journal) if journal else ():
        if record.step != step:
            break
        taken = max(taken, record.candidate)
    return max(first, taken + 1)


def latest_with_steps(repo: Repository, name: str) -> Journal | None:
    """The same of the newest run that took a step; None where none did.

    A run that ended before its first step, as on a skill that has nothing left to win, says nothing of a training.
    Runs whose journal cannot be read are passed over.
    """
    for _, tip in reversed(runs(repo, name)):
        try:
            found = read_journal(repo, tip)
        except RefusedError:
            continue
        if found.state.step > 0:
            return found
    return None


def known_score(journal: Journal | None, blob: str, settings: SkillSettings) -> Fraction | None:
    """The journal's score of a blob, where its run keeps one: of the incumbent and of the best document."""
    if journal is None or blob not in journal.scores:
        return None
    return scores.mean(scores.decode(journal.scores[blob]), metric_of(settings.evaluation))


def records(repo: Repository, tip: str) -> list[StepRecord]:
    """The steps of a run, oldest first."""
    return [record for _, record in entries(repo, tip)][::-1]


def entries(repo: Repository, tip: str) -> Iterator[tuple[str, StepRecord]]:
    """(journal commit, its step), newest first."""
    for info in repo.objects.first_parents(tip, None):
        entry = repo.objects.entry(info.oid, "step.json")
        if entry is None or not info.message.startswith(SUBJECT):
            return  # step 0's first parent is the base commit, which is no journal
        yield info.oid, load(StepRecord, repo.objects.read_blob(entry.oid), info.oid)


def patterns(repo: Repository, evidence: str, first_step: int) -> list[str]:
    """What reflection said of failures from a step on, oldest first, as far as evidence is here."""
    tip = repo.read_ref(evidence)
    found: list[str] = []
    for info in repo.objects.first_parents(tip, None) if tip else ():
        step = re.search(r" step (\d+)$", info.message.strip())
        if step is None or int(step[1]) < first_step:
            break
        entry = repo.objects.entry(info.oid, PATTERNS)
        rows = repo.objects.read_blob(entry.oid).split(b"\n") if entry else []
        found = [text for row in rows if (text := _text(row))] + found
    return found


def memory(repo: Repository, evidence: str) -> str:
    """The meta memory as the run last wrote it, as far as evidence is here; empty where there is none."""
    tip = repo.read_ref(evidence)
    for info in repo.objects.first_parents(tip, None) if tip else ():
        entry = repo.objects.entry(info.oid, META)
        if entry is not None:
            return _text(repo.objects.read_blob(entry.oid))
    return ""


def _text(row: bytes) -> str:
    """What a row of evidence says; empty where it is none of ours. Whoever can push can write evidence."""
    try:
        return str(json.loads(row)["text"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
