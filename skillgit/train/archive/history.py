"""Read the journals of a skill: the runs, and the steps of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction

from skillgit.config import SkillSettings
from skillgit.errors import RefusedError
from skillgit.store.clones import clone_id
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
    """The newest run's last journal commit."""
    found = runs(repo, name)
    return read_journal(repo, found[-1][1]) if found else None


def current(repo: Repository, name: str) -> Journal | None:
    """The run that the next command is about: the newest that was begun in this clone, if it is unfinished; else the
    newest of all, which may have come from a remote, and is not appended to here."""
    newest: Journal | None = None
    for _, tip in reversed(runs(repo, name)):
        found = read_journal(repo, tip)
        newest = newest or found
        if is_own(repo, found):
            return found if found.state.status == "running" else newest
    return newest


def is_own(repo: Repository, journal: Journal) -> bool:
    """Whether a run was begun in this clone, as far as it says."""
    return journal.info.clone in ("", clone_id(repo))


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
