"""A candidate's commits: their parents, trees and trailers, and its edits, applied again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skillgit.document import Edit, apply_edits
from skillgit.document.edits import OPS
from skillgit.document.structure import check_document
from skillgit.errors import RepositoryError, SkillgitError
from skillgit.store import trees
from skillgit.store.objects import CommitInfo
from skillgit.store.repository import Repository
from skillgit.store.trailers import parse_trailers
from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.messages import SOURCES, Place, verdict_trailers
from skillgit.train.repair.audit.report import Difference
from skillgit.train.repair.audit.verdicts import GATED
from skillgit.train.repair.reading import Link, blob_at, blob_id, commit_of

IN_PLACE = ("Skill-Name", "Skill-Run", "Skill-Step", "Skill-Epoch", "Skill-Kind", "Skill-Edit", "Skill-Support")
SCORES = ("Skill-Score", "Skill-Score-Max", "Skill-Score-Before", "Skill-Score-Hard", "Skill-Score-Soft")
IN_VERDICT = (
    *("Skill-Decision", *SCORES, "Skill-Gate", "Skill-Blob", "Skill-Val"),
    *("Skill-Target", "Skill-Optimizer", "Skill-Cost"),
)
_REDACTED = "[redacted:"
_COST = re.compile(r"calls=(\d{1,15}) tokens=(\d{1,15})(?: usd=\S+)?")


@dataclass(frozen=True, slots=True)
class Bout:
    """What a candidate's commits have to agree with.

    Args:
        before: the entry before; None where it is not here.
        gate: what `Skill-Gate` has to be; None where it cannot be known.
        imported: whether another trainer made the run: what it did not tell is left out.
    """

    link: Link
    before: Link | None
    gate: str | None
    imported: bool = False


def differences(repo: Repository, bout: Bout, record: StepRecord) -> Iterator[Difference]:
    """Everything about a candidate's commits that is not as its record says.

    Args:
        record: the candidate's, with the step's cost and models.
    """
    try:
        infos = [commit_of(repo, oid) for oid in record.commits]
    except RepositoryError as error:
        yield Difference(f"journal {bout.link.commit[:12]}", "commits", ", ".join(record.commits), error.message)
        return
    path = bout.link.info.document
    yield from _parents(repo, bout, record, infos)
    for number, info in enumerate(infos, start=1):
        last = number == len(infos)
        yield from _trailers(info, _wanted(bout, record, number, last=last), bout, last=last)
        if len(info.parents) == 1 and (other := _other_change(repo, info, path)) is not None:
            yield Difference(info.oid[:12], "tree", other, f"only {path} is changed")
    blobs = [blob_at(repo, info.tree, path) for info in infos]
    if blobs[-1] != record.document:
        yield Difference(infos[-1].oid[:12], "document", blobs[-1] or "none", record.document)
    if not bout.imported:
        yield from _edits(repo, record, infos, blobs)


def _parents(repo: Repository, bout: Bout, record: StepRecord, infos: Sequence[CommitInfo]) -> Iterator[Difference]:
    """Each commit on the one before, the first on the tip that it was tried on."""
    for number, info in enumerate(infos):
        first = info.parents[0] if info.parents else ""
        if number:
            if info.parents[:1] != (infos[number - 1].oid,):
                yield Difference(info.oid[:12], "parent", first, infos[number - 1].oid)
        elif bout.before is not None and not bout.imported and first != bout.before.state.tip:
            tip = bout.before.state.tip
            # What a person puts there without the gate goes on top of what people committed, measured or not.
            if record.kind in GATED or not _is_on(repo, tip, first):
                yield Difference(info.oid[:12], "parent", first, tip)


def _is_on(repo: Repository, old: str, new: str) -> bool:
    try:
        return repo.objects.is_ancestor(old, new)
    except RepositoryError:
        return False


def _wanted(bout: Bout, record: StepRecord, number: int, *, last: bool) -> dict[str, str]:
    """The trailers that a commit has to have."""
    info = bout.link.info
    place = Place(info.skill, info.run, record.step, record.epoch)
    found = dict(place.trailers("import" if bout.imported else record.kind))
    rows = _applied(record)
    if number <= len(rows):
        row, count = rows[number - 1], len(record.commits)
        source, support = str(row.get("source")), str(row.get("support"))
        noun = source if support == "1" else SOURCES.get(source, source)
        found["Skill-Edit"] = f"{number}/{count} {row.get('op')}"
        found["Skill-Support"] = f"{support} {noun}"
    if not last:
        return found
    if record.decision == "forced" and record.before is None and not bout.imported:
        return {**found, "Skill-Decision": "forced"}  # nobody measured it
    return {**found, **dict(verdict_trailers(record, gate=bout.gate or "", val=bout.link.state.val))}


def _trailers(info: CommitInfo, wanted: dict[str, str], bout: Bout, *, last: bool) -> Iterator[Difference]:
    written: dict[str, list[str]] = {}
    for key, value in parse_trailers(info.message):
        written.setdefault(key, []).append(value)
    for key in (*IN_PLACE, *IN_VERDICT):
        values = written.get(key, [])
        if (key == "Skill-Gate" and bout.gate is None) or (bout.imported and not values):
            continue
        right = [" ".join(wanted[key].split())] if key in wanted else []
        if values == right or (right == [""] and not values):
            continue
        if key == "Skill-Cost" and last and bout.link.state.status == "finished" and _less(values, right):
            continue  # the run's last entry counts what was still under way when its commits were written
        yield Difference(info.oid[:12], key, ", ".join(values) or "nothing", ", ".join(right) or "nothing")


def _less(written: Sequence[str], recorded: Sequence[str]) -> bool:
    one, other = (_COST.fullmatch(values[0]) if len(values) == 1 else None for values in (written, recorded))
    return bool(one and other and int(one[1]) <= int(other[1]) and int(one[2]) <= int(other[2]))


def _applied(record: StepRecord) -> list[dict[str, Any]]:
    return [row for row in record.edits if row.get("status") == "applied"]


def _other_change(repo: Repository, info: CommitInfo, path: str) -> str | None:
    """A path besides the document's that a commit changes; None where there is none."""
    try:
        return _differs(repo, info.tree, commit_of(repo, info.parents[0]).tree, path)
    except RepositoryError as error:
        return error.message


def _differs(repo: Repository, one: str, other: str, path: str) -> str | None:
    first, _, rest = path.partition("/")
    mine, theirs = _folder(repo, one), _folder(repo, other)
    for name in sorted(mine.keys() | theirs.keys()):
        if name != first and mine.get(name) != theirs.get(name):
            return name
    inner = mine.get(first), theirs.get(first)
    if not rest or inner[0] == inner[1]:
        return None
    if inner[0] is None or inner[1] is None or {inner[0].mode, inner[1].mode} != {trees.FOLDER}:
        return first
    below = _differs(repo, inner[0].oid, inner[1].oid, rest)
    return None if below is None else f"{first}/{below}"


def _folder(repo: Repository, oid: str) -> dict[str, trees.Entry]:
    found = repo.objects.read(oid)
    if found.kind != "tree":
        raise RepositoryError(f"object {oid} is a {found.kind}, not a tree")
    try:
        return trees.parse(found.data, 32 if repo.object_format == "sha256" else 20)
    except ValueError:
        raise RepositoryError(f"object {oid} is no well-formed tree") from None


def _edits(
    repo: Repository, record: StepRecord, infos: Sequence[CommitInfo], blobs: Sequence[str | None]
) -> Iterator[Difference]:
    """The edits that were applied, again, each on the document before it. What is no plain edit (a rewrite, guidance)
    and what was redacted is taken as it is."""
    rows = _applied(record)
    if len(rows) != len(infos):
        yield Difference(infos[-1].oid[:12], "edits", f"{len(rows)} applied", f"{len(infos)} commits")
        return
    text = _text(repo, record.came_from)
    for row, info, blob in zip(rows, infos, blobs, strict=True):
        op, target, content = (row.get(key) for key in ("op", "target", "content"))
        plain = isinstance(op, str) and isinstance(target, str) and isinstance(content, str) and op in OPS
        if plain and text is not None and _REDACTED not in f"{target}{content}":
            done = apply_edits(text, [Edit(str(op), str(target), str(content))])
            made = blob_id(repo, done.document.encode("utf-8", "surrogatepass"))
            if made != blob:
                status = done.reports[0].status
                computed = made if status == "applied" else f"the edit is {status}: {done.reports[0].reason}"
                yield Difference(info.oid[:12], "document", blob or "none", computed)
        text = _text(repo, blob)


def _text(repo: Repository, blob: str | None) -> str | None:
    """A document as edits apply to it; None where it is not here or is none."""
    try:
        return check_document(repo.objects.read_blob(blob), "document") if blob else None
    except SkillgitError:
        return None
