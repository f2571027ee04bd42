"""Documents as people name them: a commit, a step, a release such as `v3`, or `best`, `tip` and `base`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from skillgit.config import SkillSettings
from skillgit.errors import DocumentError, RepositoryError
from skillgit.store.refs import HEADS, SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.story import Asked, Steps, parse_step

BEST, TIP, BASE = "best", "tip", "base"
_FILES = (0o100644, 0o100755)
_RELEASE = re.compile(r"v[1-9]\d{0,8}")


@dataclass(frozen=True, slots=True)
class Revision:
    """A document that a person named.

    Args:
        named: as they wrote it. commit: where it stands at the skill's document path; None where it is only a blob.
        run, step: the journal's entry that was named; None for anything else.
    """

    named: str
    blob: str
    commit: str | None
    run: str | None = None
    step: int | None = None

    @property
    def shown(self) -> str:
        """`best`, or `7 (01k9x0c5v2)`: the name, with the run that a step is of."""
        return self.named if self.run is None else f"{self.named} (run {self.run[:10]})"

    def to_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "rev": self.named,
            "commit": self.commit,
            "document": self.blob,
            "run": self.run,
            "step": self.step,
        }


def find(repo: Repository, name: str, settings: SkillSettings, text: str) -> Revision:
    """The document that a person means.

    `best`, `tip` and `base` are the best document, the training branch's and the base branch's. STEP is that step's
    candidate, of the newest run that has the step, RUN/STEP of the run whose id begins so, STEP-KK its candidate KK;
    where a step measured nothing, it is the document that the step left in place. All else is a revision of git's.

    Raises:
        RepositoryError: there is no such revision. DocumentError: it has no document.
    """
    path = settings.document
    if text in (BEST, TIP, BASE):
        return _at(repo, text, _standing(repo, name, settings, text), path)
    asked = parse_step(text)
    found = _step(repo, name, path, text, asked) if asked else None
    if found is not None:
        return found
    release = SkillRefs(name).release_tag(int(text[1:])) if _RELEASE.fullmatch(text) else None
    commit = (repo.resolve(release) if release else None) or repo.resolve(text)
    if commit is None:
        mend = f"name a commit, a step of `skillgit log {name}`, or best, tip or base"
        raise RepositoryError(f"{text}: no such revision", mend=mend)
    return _at(repo, text, commit, path)


def _standing(repo: Repository, name: str, settings: SkillSettings, word: str) -> str:
    """The commit of a word. A branch of that name is meant by `refs/heads/…`."""
    refs = SkillRefs(name)
    if word != BASE:
        ref = refs.best if word == BEST else refs.branch
        commit = repo.read_ref(ref) if word == BEST else history.tip_of(repo, name)
        mend = f"run `skillgit train {name}`"
        if commit is None:
            raise RepositoryError(f"{ref}: nothing was trained yet", mend=mend)
        return commit
    into = settings.merge.into
    commit = repo.resolve(f"{HEADS}{into}" if into else "HEAD")
    if commit is None:
        raise RepositoryError(f"the base branch {into or 'HEAD'} has no commit", mend="set merge.into")
    return commit


def _at(repo: Repository, text: str, commit: str, path: str) -> Revision:
    entry = repo.objects.entry(commit, path)
    if entry is None or entry.mode not in _FILES:
        what = "there is no such file" if entry is None else "not a plain file"
        raise DocumentError(f"{path} at {commit[:12]}: {what}", mend="name a revision that has the document")
    return Revision(text, entry.oid, commit)


def _step(repo: Repository, name: str, path: str, text: str, asked: Asked) -> Revision | None:
    """The candidate of a step in the newest run that fits; None where no run has such a step."""
    steps = Steps(repo, name)
    for run in steps.runs:
        if not run.startswith(asked.run):
            continue
        rows = [row for entry in steps.at(run, asked.step) for row in _rows(entry.record)]
        # A slow update has its step's number too, and stands after it.
        rows.sort(key=lambda row: row["kind"] not in ("step", "baseline"))
        row = next((r for r in rows if asked.candidate in (None, r["candidate"])), None)
        if row is not None:
            return _of_row(repo, path, text, run, asked.step, row)
    return None


def _rows(record: StepRecord) -> list[dict[str, Any]]:
    keys = ("kind", "decision", "document", "document_before", "commits", "candidate")
    return [{key: getattr(record, key) for key in keys}, *record.others]


def _of_row(repo: Repository, path: str, text: str, run: str, step: int, row: dict[str, Any]) -> Revision:
    blob = str(row["document_before"] if row["decision"] == "none" else row["document"])
    commit = row["commits"][-1] if row["commits"] else None
    entry = repo.objects.entry(commit, path) if commit else None
    return Revision(text, blob, commit if entry is not None and entry.oid == blob else None, run, step)


def commit_of(repo: Repository, name: str, settings: SkillSettings, text: str) -> str:
    """The commit whose document a person means.

    Raises:
        RepositoryError, DocumentError: as `find`, or the document is in no commit.
    """
    commit = find(repo, name, settings, text).commit
    if commit is None:
        raise RepositoryError(f"{text}: no commit has that document", mend="name a commit")
    return commit
