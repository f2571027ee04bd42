"""What both sides of a conflict say, and why: their lines, the commits behind them, the steps behind those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from skillgit.errors import ConflictError, RefusedError
from skillgit.store.lineage import Touch, touches, versions
from skillgit.store.repository import Repository
from skillgit.store.threeway import Piece, hunks, pieces, stages
from skillgit.store.trailers import parse_trailers
from skillgit.train.archive import edits
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.journal import exact_number


@dataclass(frozen=True, slots=True)
class End:
    """One side of a merge: what people call it, and its commit."""

    label: str
    commit: str


@dataclass(frozen=True, slots=True)
class Origin:
    """A commit that brought a side's lines, or took lines out.

    Args:
        author: a name without the address.
        run, step, edit: of a step's edit; `edit` is `1/2`. `step` is None for what people committed.
        delta: what the whole candidate of that step gained; None where no journal here knows it.
        reason: why the edit was made; empty for what people committed.
    """

    commit: str
    author: str
    subject: str
    brought: tuple[str, ...]
    took: tuple[str, ...]
    run: str = ""
    step: int | None = None
    edit: str = ""
    delta: Fraction | None = None
    reason: str = ""

    def __str__(self) -> str:
        """One line for people."""
        if self.step is None:
            return f"{self.commit[:12]} {self.subject} ({self.author})"
        gain = f", {float(self.delta):+.4f}" if self.delta is not None else ""
        return f"{self.commit[:12]} step {self.step}{gain}: {self.reason or self.subject}"

    def to_json(self) -> dict[str, Any]:
        """Stable keys; the gain as a decimal."""
        return {
            "commit": self.commit,
            "author": self.author,
            "subject": self.subject,
            "brought": list(self.brought),
            "took": list(self.took),
            "run": self.run or None,
            "step": self.step,
            "edit": self.edit or None,
            "delta": None if self.delta is None else round(float(self.delta), 6),
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class Side:
    """What one side has in the place of a conflict, and where that is from, the newest first."""

    label: str
    text: str
    origins: tuple[Origin, ...]

    def to_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {"name": self.label, "text": self.text, "commits": [origin.to_json() for origin in self.origins]}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A place where both sides changed the same lines."""

    number: int
    before: str
    ours: Side
    theirs: Side

    def to_json(self) -> dict[str, Any]:
        """Stable keys: the text before, and both sides."""
        sides = {"ours": self.ours.to_json(), "theirs": self.theirs.to_json()}
        return {"number": self.number, "before": self.before, **sides}


@dataclass(frozen=True, slots=True)
class Clash:
    """A document whose merge conflicts: the document in pieces, and its conflicts with what brought each side."""

    path: str
    pieces: list[Piece]
    conflicts: list[Conflict]

    def error(self, message: str, *, mend: str) -> ConflictError:
        """The refusal that shows them."""
        facts = [conflict.to_json() for conflict in self.conflicts]
        return ConflictError(message, mend=mend, shown=shown(self.path, self.conflicts), conflicts=facts)


def clash(repo: Repository, name: str, path: str, ours: End, theirs: End) -> Clash:
    """Look into the conflict that a merge of two commits has in the document of skill `name`.

    Raises:
        RefusedError: there is nothing to settle line by line: one side deleted it, or git does not merge it as text.
    """
    found = stages(repo, ours.commit, theirs.commit, path)
    for end, entry in ((ours, found.ours), (theirs, found.theirs)):
        if entry is None:
            mend = "bring it back there, or merge by hand"
            raise RefusedError(f"{path}: changed on one side, deleted or renamed on {end.label}", mend=mend)
    texts = [repo.objects.read_blob(e.oid) if e else b"" for e in (found.ours, found.before, found.theirs)]
    parts = pieces(repo, *texts)
    if not hunks(parts):
        raise RefusedError(f"{path}: git does not merge it as text", mend="see its attributes, or merge by hand")
    return Clash(path, parts, explain(repo, name, path, parts, ours, theirs))


def explain(repo: Repository, name: str, path: str, found: Sequence[Piece], ours: End, theirs: End) -> list[Conflict]:
    """The conflicts of a merge with what brought each side's lines.

    Args:
        found: the document, merged in pieces.
    """
    known = {edit.commit: edit for edit in edits.accepted(repo, name)}
    mine = versions(repo, ours.commit, theirs.commit, path)
    other = versions(repo, theirs.commit, ours.commit, path)

    def side(end: End, text: str, made: Sequence[Touch]) -> Side:
        return Side(end.label, text, tuple(_origin(repo, touch, known) for touch in made))

    return [
        Conflict(
            number,
            hunk.before,
            side(ours, hunk.ours, touches(mine, hunk.ours, hunk.before)),
            side(theirs, hunk.theirs, touches(other, hunk.theirs, hunk.before)),
        )
        for number, hunk in enumerate(hunks(found), start=1)
    ]


def shown(path: str, conflicts: Sequence[Conflict]) -> str:
    """The conflicts for people: the texts as git marks them, then a line for each commit behind them."""
    return "\n\n".join(_shown(path, conflict, len(conflicts)) for conflict in conflicts)


def _shown(path: str, conflict: Conflict, count: int) -> str:
    lines = [f"{path}: conflict {conflict.number} of {count}"]
    ours, theirs = conflict.ours, conflict.theirs
    for mark, text in ((f"<<<<<<< {ours.label}", ours.text), ("||||||| before", conflict.before)):
        lines += [mark, *text.splitlines()]
    lines += ["=======", *theirs.text.splitlines(), f">>>>>>> {theirs.label}"]
    for side in (ours, theirs):
        lines += [f"{side.label}: {origin}" for origin in side.origins]
    return "\n".join(lines)


def _origin(repo: Repository, touch: Touch, known: Mapping[str, RecordedEdit]) -> Origin:
    info = repo.objects.read_commit(touch.commit)
    author = info.author.rpartition(" <")[0] or info.author
    plain = Origin(touch.commit, author, info.subject, touch.brought, touch.took)
    edit = known.get(touch.commit)
    if edit is not None:
        return _of_edit(plain, edit)
    said = dict(parse_trailers(info.message))
    if not said.get("Skill-Step", "").isdecimal():
        return plain
    # A journal that is not here: what the commit says of itself, without a score, which nothing here bears out.
    body = info.message.strip().split("\n\n")[1:-1]
    return replace(
        plain,
        run=said.get("Skill-Run", ""),
        step=int(said["Skill-Step"][:9]),
        edit=said.get("Skill-Edit", "").partition(" ")[0],
        reason=" ".join("\n\n".join(body).split()),
    )


def _of_edit(plain: Origin, edit: RecordedEdit) -> Origin:
    score, before = exact_number(edit.record.score), exact_number(edit.record.before)
    return replace(
        plain,
        run=edit.run,
        step=edit.step,
        edit=f"{edit.number}/{edit.count}",
        delta=score - before if score is not None and before is not None else None,
        reason=" ".join(str(edit.row.get("reason") or "").split()),
    )
