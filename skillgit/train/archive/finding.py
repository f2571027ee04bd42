"""What a person means by a revision or a step: the commit, and the journal's record of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillgit.config import SkillSettings
from skillgit.errors import UsageError
from skillgit.store.commits import CommitInfo
from skillgit.store.notes import read_notes
from skillgit.store.refs import is_run_id
from skillgit.store.repository import Repository
from skillgit.train.archive import revisions
from skillgit.train.archive.layout import SUBJECT, read_journal
from skillgit.train.archive.story import Asked, Entry, Steps, parse_step
from skillgit.train.archive.timeline import by_time
from skillgit.train.archive.told import Trailers

_JOURNAL = re.compile(rf"{re.escape(SUBJECT)}([a-z0-9-]{{1,64}}) ")


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Args:
        commit: None where a step left none behind.
        entry: the record of the candidate that the commit belongs to, or of the step that was asked for.
        path: of the document, as it was then.
        exact: one commit was asked for, not a candidate.
        tag: the message of an annotated tag that was asked for.
    """

    commit: CommitInfo | None
    entry: Entry | None
    path: str
    exact: bool = False
    tag: str = ""


def find(repo: Repository, name: str, settings: SkillSettings, steps: Steps, text: str) -> Found:
    """What a person means. A step comes before a revision of the same name; empty text is the newest entry.

    Raises:
        UsageError: there is no such thing.
    """
    if not text:
        return _newest(repo, name, settings, steps)
    asked = parse_step(text)
    entry = _step(steps, asked) if asked else None
    if entry is not None:
        return _of_entry(repo, settings, steps, entry)
    if text in (revisions.BEST, revisions.TIP, revisions.BASE):
        commit = revisions.find(repo, name, settings, text).commit
    else:
        commit = repo.resolve(text)
    if commit is None:
        mend = f"name a commit, or a step of `skillgit log {name}`"
        raise UsageError(f"{name} has no step or revision {text!r}", mend=mend)
    return _of_commit(repo, name, settings, steps, repo.objects.read_commit(commit), _tag(repo, text))


def owner(repo: Repository, text: str) -> str | None:
    """The skill that a revision's commit says it is of."""
    commit = repo.resolve(text) if text else None
    if commit is None:
        return None
    message = repo.objects.read_commit(commit).message
    journal = _JOURNAL.match(message)
    return journal[1] if journal else Trailers(message).text("Skill-Name") or None


def _newest(repo: Repository, name: str, settings: SkillSettings, steps: Steps) -> Found:
    tips = {run: tip for run in steps.runs if (tip := steps.tip(run)) is not None}
    for run in by_time(repo, tips):
        for stop in steps.stops(run):
            if stop.decision != "end":
                return _of_entry(repo, settings, steps, steps.read(stop))
    raise UsageError(f"{name} was not trained here yet", mend=f"run `skillgit train {name}`, or name a revision")


def _step(steps: Steps, asked: Asked) -> Entry | None:
    """The entry of a step in the newest run that has it: the step itself before what came after it."""
    for run in steps.runs:
        if not run.startswith(asked.run):
            continue
        entries = steps.at(run, asked.step)
        if asked.candidate is not None:
            found = steps.candidate(run, asked.step, asked.candidate)
        else:
            found = next((e for e in entries if e.record.kind in ("step", "baseline")), next(iter(entries), None))
        if found is not None:
            return found
    return None


def _of_entry(repo: Repository, settings: SkillSettings, steps: Steps, entry: Entry) -> Found:
    """An entry with the commit that it left behind: its candidate's last one, or the tip that it made known."""
    path = steps.document(entry.run) or settings.document
    oid = entry.commit
    if oid is None and entry.record.decision == entry.record.kind:  # a baseline, a person's commit
        parents = repo.objects.read_commit(entry.journal).parents
        oid = parents[-1] if parents and entry.record.kind != "end" else None
    return Found(repo.objects.read_commit(oid) if oid else None, entry, path)


def _of_commit(
    repo: Repository, name: str, settings: SkillSettings, steps: Steps, commit: CommitInfo, tag: str
) -> Found:
    journal = _JOURNAL.match(commit.message)
    if journal is not None and repo.objects.entry(commit.oid, "step.json") is not None:
        return _of_entry(repo, settings, steps, _of_journal(repo, name, commit.oid))
    entry = _entry_of(repo, name, steps, commit)
    path = (steps.document(entry.run) if entry else None) or settings.document
    exact = entry is None or not entry.record.commits or commit.oid != entry.commit
    return Found(commit, entry, path, exact, tag)


def _of_journal(repo: Repository, name: str, commit: str) -> Entry:
    """A journal's commit.

    Raises:
        UsageError: it is another skill's.
    """
    found = read_journal(repo, commit)
    if found.info.skill != name or not is_run_id(found.info.run):
        raise UsageError(f"{commit[:12]} is of skill {found.info.skill}, not of {name}", mend="name that skill")
    return Entry(found.info.run, found.record, commit)


def _entry_of(repo: Repository, name: str, steps: Steps, commit: CommitInfo) -> Entry | None:
    """The record of the candidate that a commit is of, or of the person's commit that a run has measured.

    A commit that merely carries a candidate's trailers is no part of it: its id is not in the record.
    """
    trailers = Trailers(commit.message)
    places = []
    if trailers.text("Skill-Name") == name and trailers.run and trailers.step is not None:
        places.append((trailers.run, trailers.step))
    for fact in read_notes(repo, commit.oid):
        run, step = fact.get("run"), fact.get("step")
        if fact.get("kind") == "human" and isinstance(run, str) and type(step) is int:
            places.append((run, step))
    for run, step in dict.fromkeys(places):
        for entry in steps.at(run, step):
            for one in (entry, *entry.others):
                if commit.oid in one.record.commits:
                    return one
            if entry.record.kind == "human" and commit.oid in repo.objects.read_commit(entry.journal).parents[1:]:
                return entry
    return None


def _tag(repo: Repository, text: str) -> str:
    """An annotated tag's message, where a revision is one; without a signature."""
    found = repo.git("rev-parse", "--verify", "--quiet", "--end-of-options", text, check=False)
    if found.code or not re.fullmatch(r"[0-9a-f]{40,64}", found.text):
        return ""
    raw = repo.objects.read(found.text)
    message = raw.data.partition(b"\n\n")[2].decode(errors="replace") if raw.kind == "tag" else ""
    return message.partition("-----BEGIN ")[0].strip()
