"""What a push would do, as git tells the pre-push hook, and what of it is refused whatever the objects hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from skillgit.errors import UsageError
from skillgit.store.refs import HEADS
from skillgit.store.sync.namespaces import Kind, shared

# A remote's fetched copies lie below its name, and `git push --mirror` sends them too.
_EVIDENCE = re.compile(r"refs/skillgit/(?:remotes/.+/)?evidence/")
_OURS = ("refs/heads/skill/", "refs/tags/skill/", "refs/skillgit/", "refs/notes/skillgit")
_WHOLE = ("refs/notes/skillgit", "refs/skillgit/tasks/")
# Refs that only ever grow: what the remote has of them must not be dropped.
_GROWING = (f"{HEADS}skill/", "refs/skillgit/runs/")
# Kinds whose refs people may delete there.
_MAY_GO = (Kind.REJECTED, Kind.EVIDENCE)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One ref of a push.

    Args:
        local: what is pushed: a ref, a revision, `(delete)`.
        new: its commit; None: the remote's ref is deleted.
        remote: the remote's ref.
        old: what the remote has there; None: nothing yet.
    """

    local: str
    new: str | None
    remote: str
    old: str | None

    @property
    def ours(self) -> bool:
        """Whether it is a part of a skill's history, by what it is here or there."""
        return self.local.startswith(_OURS) or self.remote.startswith(_OURS)

    @property
    def whole(self) -> bool:
        """Whether every file of it is text of ours: notes, tasks, evidence. Else only documents and journals are."""
        return self.evidence or self.local.startswith(_WHOLE) or self.remote.startswith(_WHOLE)

    @property
    def evidence(self) -> bool:
        """Whether it is a transcript of attempts."""
        return any(_EVIDENCE.match(ref) is not None for ref in (self.local, self.remote))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a push is refused, and the mend, as an imperative."""

    message: str
    mend: str


def parse(lines: Iterable[str]) -> list[Outgoing]:
    """What git writes to the hook: `<local ref> <local id> <remote ref> <remote id>` per line.

    Raises:
        UsageError: a line is none.
    """
    found = []
    for line in lines:
        if not line.strip():
            continue
        parts = line.rsplit(maxsplit=3)
        if len(parts) != 4 or not all(re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", parts[at]) for at in (1, 3)):
            raise UsageError(f"{line.strip()!r} is no line of git's to a pre-push hook", mend="let git call it")
        new, old = (None if not set(parts[at]) - {"0"} else parts[at] for at in (1, 3))
        found.append(Outgoing(parts[0], new, parts[2], old))
    return found


def of_framework(environ: Mapping[str, str]) -> list[Outgoing]:
    """The one ref that the pre-commit framework names in its variables; it keeps git's lines to itself."""
    names = ("LOCAL_BRANCH", "TO_REF", "REMOTE_BRANCH", "FROM_REF")
    local, new, remote, old = (environ.get(f"PRE_COMMIT_{name}", "") for name in names)
    return [Outgoing(local, new, remote, old or None)] if new and remote else []


def refusals(
    outgoing: Iterable[Outgoing], remote: str, *, evidence: bool, grows: Callable[[str, str], bool]
) -> list[Reason]:
    """What is refused by its ref alone.

    Args:
        remote: the remote's name, for the sentences.
        evidence: whether transcripts may go out.
        grows: whether the first commit is here and an ancestor of the second.
    """
    found, transcripts = [], 0
    for one in outgoing:
        transcripts += one.evidence and one.new is not None
        if one.old is None or one.old == one.new:
            continue
        if one.new is None:
            if (mend := _deletion_mend(one.remote)) is not None:
                found.append(Reason(f"{one.remote} would be deleted on {remote}", mend))
        elif one.remote.startswith(_GROWING) and not grows(one.old, one.new):
            message = f"{one.remote} on {remote} has commits that this push would drop"
            found.append(Reason(message, "run `skillgit fetch`, and push what comes of it"))
    if transcripts and not evidence:
        what = "transcripts of a run" if transcripts == 1 else f"transcripts of {transcripts} runs"
        mend = "leave refs/skillgit/evidence out, or set SKILLGIT_PUSH_EVIDENCE=1 or skillgit.pushEvidence"
        found.append(Reason(f"{what} would go out", mend))
    return found


def _deletion_mend(ref: str) -> str | None:
    """What to do instead of deleting a ref on a remote; None where it may go."""
    what = shared(ref)
    if ref.startswith(f"{HEADS}skill/"):
        here = f"delete it here (`git branch -D {ref.removeprefix(HEADS)}`) and leave the remote's"
    elif what is not None and what.kind is Kind.TAG:
        here = f"delete it here (`git tag -d {what.short}`) and leave the remote's"
    elif ref.startswith(_GROWING):
        here = "leave it there: it is the record that branch, best and scores are checked against"
    elif what is None or what.kind in _MAY_GO:
        return None
    else:
        here = "leave it there: other clones take theirs from it"
    return f"{here}, or pass by with --no-verify"
