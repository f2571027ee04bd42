"""Read journals and commits that anybody may have written: wrong types, huge numbers and missing objects are errors of
one kind, never a crash (DESIGN, Trust)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store import trees
from skillgit.store.objects import CommitInfo, Entry
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import FORMAT, RunInfo, RunState, StepRecord
from skillgit.train.archive.layout import SUBJECT
from skillgit.train.scoring.scores import Measurement, Trial

D = TypeVar("D", RunInfo, RunState, StepRecord)

_FIELDS: dict[type, dict[str, TypeAdapter[Any]]] = {
    kind: {name: TypeAdapter(hint) for name, hint in get_type_hints(kind).items()}
    for kind in (RunInfo, RunState, StepRecord)
}
_NUMBERS = ("score", "score_hard", "score_soft", "maximum", "before", "best")
_MEAN = re.compile(r"(\d{1,4000})/(\d{1,4000})")
_TRIAL = re.compile(r"(\d{1,9})(?:/(\d{1,9}))?")
_NOT_WELL_FORMED = (KeyError, IndexError, ValueError)
"""What parsing an object raises that git itself would not have written."""


@dataclass(frozen=True, slots=True)
class Link:
    """One entry of a journal, checked for its form alone.

    Args:
        parents: of the journal commit, the entry before first.
        others: records of the step's other candidates.
        scores: val scores by blob.
    """

    commit: str
    parents: tuple[str, ...]
    info: RunInfo
    state: RunState
    record: StepRecord
    others: tuple[StepRecord, ...]
    scores: dict[str, Measurement]

    @property
    def candidates(self) -> tuple[StepRecord, ...]:
        """All that the step measured and wrote as commits."""
        return tuple(one for one in (self.record, *self.others) if one.commits)


@dataclass(frozen=True, slots=True)
class Chain:
    """The commits of one run's journal, oldest first, as far as they can be followed.

    Args:
        problem: why it ends before its beginning; empty where it does not.
        cut: whether a shallow clone ends it.
    """

    run: str
    tip: str
    commits: tuple[str, ...]
    problem: str = ""
    cut: bool = False


def commit_of(repo: Repository, oid: str) -> CommitInfo:
    """A commit.

    Raises:
        RepositoryError: it is missing, no commit, or malformed.
    """
    try:
        return repo.objects.read_commit(oid)
    except _NOT_WELL_FORMED:
        raise RepositoryError(f"object {oid} is no well-formed commit") from None


def entry_at(repo: Repository, treeish: str, path: str) -> Entry | None:
    """What lies at a path of a commit or tree; None where nothing does.

    Raises:
        RepositoryError: an object is missing or malformed.
    """
    try:
        return repo.objects.entry(treeish, path)
    except _NOT_WELL_FORMED:
        raise RepositoryError(f"object {treeish} is not well-formed") from None


def blob_at(repo: Repository, treeish: str, path: str) -> str | None:
    """The blob at a path; None where there is none, or no file.

    Raises: as `entry_at`.
    """
    entry = entry_at(repo, treeish, path)
    return entry.oid if entry is not None and entry.mode in (trees.FILE, trees.EXECUTABLE) else None


def blob_id(repo: Repository, data: bytes) -> str:
    """The id that a file's content would have. Nothing is written."""
    kind = hashlib.sha256 if repo.object_format == "sha256" else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data).hexdigest()


def first_parents(repo: Repository, tip: str, stop: str | None) -> Iterator[CommitInfo]:
    """Commits along first parents, newest first, until `stop` (not given), the history's end, or one that cannot be
    read."""
    oid: str | None = tip
    while oid is not None and oid != stop:
        try:
            info = commit_of(repo, oid)
        except RepositoryError:
            return
        yield info
        oid = info.parents[0] if info.parents else None


def chain_of(repo: Repository, run: str, tip: str) -> Chain:
    """Follow a journal from its tip along first parents."""
    found: list[str] = []
    oid: str | None = tip
    problem, cut = "", False
    while oid is not None:
        try:
            info = commit_of(repo, oid)
            if not _is_journal(repo, info):
                break
        except RepositoryError as error:
            cut = bool(found) and _is_shallow(repo)
            problem = "" if cut else error.message
            break
        found.append(oid)
        oid = info.parents[0] if info.parents else None
    if not found and not problem:
        problem = f"{tip} is no entry of a journal"
    return Chain(run, tip, tuple(reversed(found)), problem, cut)


def _is_journal(repo: Repository, info: CommitInfo) -> bool:
    return info.message.startswith(SUBJECT) and entry_at(repo, info.tree, "step.json") is not None


def _is_shallow(repo: Repository) -> bool:
    return repo.git("rev-parse", "--is-shallow-repository").text == "true"


class Reader:
    """Reads entries of journals; files that entries share are parsed once."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._infos: dict[str, RunInfo] = {}
        self._scores: tuple[str, dict[str, Measurement]] = ("", {})

    def record(self, commit: str) -> StepRecord:
        """Only the step of an entry.

        Raises:
            RefusedError, RepositoryError: it cannot be read; says why.
        """
        return checked(StepRecord, self._data(commit, "step.json"), commit)

    def state(self, commit: str) -> RunState:
        """Only the state after an entry. Raises: as `record`."""
        return checked(RunState, self._data(commit, "state.json"), commit)

    def info(self, commit: str) -> RunInfo:
        """Only what the run is. Raises: as `record`."""
        blob = self._blob(commit, "run.json")
        if blob not in self._infos:
            self._infos[blob] = checked(RunInfo, self._repo.objects.read_blob(blob), commit)
        return self._infos[blob]

    def link(self, commit: str) -> Link:
        """A whole entry. Raises: as `record`."""
        record = self.record(commit)
        others = tuple(validated(StepRecord, row, commit, "step.json") for row in record.others)
        return Link(
            commit=commit,
            parents=commit_of(self._repo, commit).parents,
            info=self.info(commit),
            state=self.state(commit),
            record=record,
            others=others,
            scores=self._measured(commit),
        )

    def _measured(self, commit: str) -> dict[str, Measurement]:
        blob = self._blob(commit, "scores.json")
        if self._scores[0] != blob:
            rows = parsed(self._repo.objects.read_blob(blob), f"journal {commit[:12]}: scores.json")
            found = {key: measurement(value, f"journal {commit[:12]}: scores.json") for key, value in rows.items()}
            self._scores = blob, found
        return self._scores[1]

    def _data(self, commit: str, path: str) -> bytes:
        return self._repo.objects.read_blob(self._blob(commit, path))

    def _blob(self, commit: str, path: str) -> str:
        found = blob_at(self._repo, commit, path)
        if found is None:
            raise RefusedError(f"journal {commit[:12]} has no {path}")
        return found


def checked(kind: type[D], data: bytes, commit: str) -> D:
    """One file of a journal entry, every field of the type that it has to have.

    Raises:
        RefusedError: it is not; names the entry, the file and the field.
    """
    name = {RunInfo: "run.json", RunState: "state.json", StepRecord: "step.json"}[kind]
    return validated(kind, parsed(data, f"journal {commit[:12]}: {name}"), commit, name)


def validated(kind: type[D], value: dict[str, Any], commit: str, name: str) -> D:
    """The same of what was parsed before."""
    if value.get("format", FORMAT) != FORMAT:
        raise RefusedError(f"journal {commit[:12]} was written by a newer skillgit", mend="upgrade skillgit")
    where = f"journal {commit[:12]}: {name}"
    held = {key: _field(kind, key, item, where) for key, item in value.items() if key in _FIELDS[kind]}
    try:
        found = kind(**held)
    except TypeError:
        raise RefusedError(f"{where}: it lacks fields") from None
    if isinstance(found, StepRecord):
        for key in _NUMBERS:
            number(getattr(found, key), f"{where}: {key}")
    return found


def _field(kind: type, key: str, value: Any, where: str) -> Any:
    try:
        return _FIELDS[kind][key].validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise RefusedError(f"{where}: {'.'.join(map(str, (key, *first['loc'])))}: {first['msg']}") from None


def parsed(data: bytes, where: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        RefusedError: it is none.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):  # an integer of more digits than Python reads is a ValueError as well
        value = None
    if not isinstance(value, dict):
        raise RefusedError(f"{where} is no JSON object")
    return value


def rows(data: bytes) -> Iterator[dict[str, Any] | None]:
    """The objects of a JSON lines file; None for a line that is none."""
    for line in data.split(b"\n"):
        if line.strip():
            try:
                yield parsed(line, "line")
            except RefusedError:
                yield None


def number(text: str | None, where: str) -> Fraction | None:
    """A mean score as the journal has it: `num/den`, from 0 to 1.

    Raises:
        RefusedError: it is none.
    """
    if text is None:
        return None
    match = _MEAN.fullmatch(text)
    found = Fraction(int(match[1]), int(match[2])) if match and int(match[2]) else None
    if found is None or found > 1:
        raise RefusedError(f"{where}: {text[:40]!r} is no score")
    return found


def trial_number(text: Any) -> Fraction | None:
    """One attempt's score, `1`, `1/2` or `0/1`; None where it is none."""
    match = _TRIAL.fullmatch(text) if isinstance(text, str) else None
    if not match or not int(match[2] or 1):
        return None
    found = Fraction(int(match[1]), int(match[2] or 1))
    return found if found <= 1 else None


def measurement(value: Any, where: str) -> Measurement:
    """Val scores by task, as `scores.encode` writes them.

    Raises:
        RefusedError: they are not.
    """
    if not isinstance(value, dict):
        raise RefusedError(f"{where}: no scores by task")
    return {task: tuple(_trial(item, where) for item in _listed(items, where)) for task, items in value.items()}


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedError(f"{where}: a task's scores are no list")
    return value


def _trial(value: Any, where: str) -> Trial | None:
    if value is None:
        return None
    pair = [trial_number(part) for part in value] if isinstance(value, list) else []
    if len(pair) != 2 or pair[0] is None or pair[1] is None:
        raise RefusedError(f"{where}: {str(value)[:40]!r} is no score of an attempt")
    return Trial(pair[0], pair[1])
