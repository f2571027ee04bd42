"""Which edit or person brought each line of a document: `git blame`, joined with the journals.

A commit's trailers only say where to look. What counts is that the journal lists that very commit: one that plain git
made anew of it (a rebase, a cherry-pick, an amend) was not measured, and gets no score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any, Literal

from skillgit.errors import RefusedError
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.train.archive.edits import RecordedEdit, of_record
from skillgit.train.archive.journal import RunInfo, load
from skillgit.train.archive.known import decimal
from skillgit.train.archive.story import Entry, Steps

Kind = Literal["edit", "copied", "unknown", "ours", "base", "person"]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as `git blame` names it. `date` is the author's, with their time zone; `path` the file's then."""

    oid: str
    author: str
    date: datetime
    summary: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the document, without its end, numbered from 1, and the commit that brought it."""

    number: int
    text: str
    commit: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What brought a line.

    Args:
        kind: `edit` of a candidate that the journal lists; `copied`: a commit that has such an edit's trailers, but is
            not the one that the journal lists; `unknown`: the journal that could tell is not here; `ours`: another
            commit of a run (a merge, a document brought back); `base`: it was there when the first run began;
            `person`: anything else.
        run, step: as the commit's trailers say; None where it has none.
        edit, entry: only of an `edit`.
    """

    kind: Kind
    commit: Commit
    what: str = ""
    run: str | None = None
    step: int | None = None
    edit: RecordedEdit | None = None
    entry: Entry | None = None

    @property
    def delta(self) -> Fraction | None:
        """Score minus the incumbent's of the edit's candidate, which may have had other edits too."""
        return self.entry.delta if self.entry else None

    def to_json(self) -> dict[str, Any]:
        """Stable keys; scores as decimals."""
        edit, entry = self.edit, self.entry
        row = edit.row if edit else {}
        return {
            "kind": self.kind,
            "commit": self.commit.oid,
            "author": self.commit.author,
            "date": self.commit.date.isoformat(),
            "summary": self.commit.summary,
            "run": self.run,
            "step": self.step,
            "edit": edit.number if edit else None,
            "edits": edit.count if edit else None,
            "op": row.get("op"),
            "support": row.get("support"),
            "source": row.get("source"),
            "reason": row.get("reason"),
            "decision": entry.record.decision if entry else None,
            "score": decimal(entry.score) if entry else None,
            "delta": decimal(self.delta),
        }


@dataclass(frozen=True, slots=True)
class Blame:
    """The document's lines, and where they are from, by commit."""

    lines: list[Line]
    origins: dict[str, Origin]


def blame(repo: Repository, name: str, commit: str, path: str, ranges: Sequence[str] = ()) -> Blame:
    """Attribute each line of the document at a commit.

    Args:
        ranges: as `git blame -L` takes them.

    Raises:
        RepositoryError: git said no: no such file, or a range outside of it.
    """
    options = [f"-L{part}" for part in ranges]
    told = repo.git("blame", "--porcelain", "--no-textconv", *options, commit, "--", path)
    commits, lines = parse(told.out)
    steps = Steps(repo, name)
    base = _first_base(repo, steps)
    return Blame(lines, {c.oid: _origin(repo, name, c, steps, base) for c in commits.values()})


def parse(porcelain: bytes) -> tuple[dict[str, Commit], list[Line]]:
    """Commits and lines of `git blame --porcelain`. Pure."""
    commits: dict[str, Commit] = {}
    lines: list[Line] = []
    oid, number, heads = "", 0, dict[str, str]()
    for raw in porcelain.split(b"\n"):
        if raw.startswith(b"\t"):
            lines.append(Line(number, raw[1:].decode("utf-8", "replace").removesuffix("\r"), oid))
            if oid not in commits:
                commits[oid] = _commit(oid, heads)
            heads = {}
            continue
        key, _, value = raw.decode("utf-8", "replace").partition(" ")
        if len(key) >= 40 and not heads:
            oid, number = key, int(value.split(" ")[1])
            heads = {"": key}
        else:
            heads[key] = value
    return commits, lines


def _commit(oid: str, heads: Mapping[str, str]) -> Commit:
    sign, zone = (-1 if heads["author-tz"].startswith("-") else 1), heads["author-tz"].lstrip("+-")
    offset = timedelta(hours=int(zone[:2]), minutes=int(zone[2:])) * sign
    try:
        date = datetime.fromtimestamp(int(heads["author-time"]), timezone(offset))
    except (ValueError, OverflowError, OSError):
        date = datetime.fromtimestamp(0, UTC)  # git takes dates that nobody can have meant
    return Commit(oid, heads["author"], date, heads.get("summary", ""))


def _origin(repo: Repository, name: str, commit: Commit, steps: Steps, base: str | None) -> Origin:
    said = {key.lower(): value for key, value in parse_trailers(repo.objects.read_commit(commit.oid).message)}
    run, number = said.get("skill-run"), said.get("skill-step", "")
    step = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
    if run is None or step is None:
        there = base is not None and repo.objects.is_ancestor(commit.oid, base)
        return Origin("base" if there else "person", commit)
    for entry in _entries(steps, run, step):
        if commit.oid in entry.record.commits:
            edit = next((e for e in of_record(run, entry.record) if e.commit == commit.oid), None)
            return Origin("edit", commit, entry.record.kind, run, step, edit, entry)
    what = said.get("skill-kind", "")
    if "skill-edit" not in said:
        return Origin("ours", commit, what, run, step)
    here = steps.tip(run) is not None or said.get("skill-name") != name
    return Origin("copied" if here else "unknown", commit, what, run, step)


def _entries(steps: Steps, run: str, step: int) -> Iterator[Entry]:
    """The entries of a step, with its other candidates."""
    try:
        found = steps.at(run, step)
    except RefusedError:
        return  # a journal that cannot be read vouches for nothing
    for entry in found:
        yield from (entry, *entry.others)


def _first_base(repo: Repository, steps: Steps) -> str | None:
    """The commit that the first run began from."""
    for run in steps.runs[-1:]:
        stop = next(steps.stops(run), None)
        blob = stop.files(repo).get("run.json") if stop else None
        if stop is None or blob is None:
            return None
        try:
            return repo.resolve(load(RunInfo, repo.objects.read_blob(blob), stop.commit).base)
        except RefusedError:
            return None
    return None
