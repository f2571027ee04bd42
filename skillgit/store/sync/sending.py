"""One `git push` with refspecs of ours, and what the other side made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillgit.errors import RefMovedError, RefusedError, SkillgitError
from skillgit.store.process import GitResult, failure, first_line
from skillgit.store.remotes import clean, remote_words, shortened
from skillgit.store.repository import Repository

EVIDENCE_ALLOWED = "SKILLGIT_PUSH_EVIDENCE"
"""The variable that tells our own pre-push hook that transcripts were asked for."""

_LINE = re.compile(r"(.)\t([^\t]*):([^\t:]+)\t(.*)")
_REASON = re.compile(r"\((.*)\)\s*$")
_NOT_ATOMIC = "does not support --atomic"
_BYSTANDER = re.compile(r"atomic (?:push|transaction) failed|transaction failed|atomic push failure")
_RACE = re.compile(r"fetch first|non-fast-forward|stale info|already exists|needs force|incorrect old value")
_LOST = re.compile(r"failed to update ref|failed to lock|cannot lock ref")
_OWN = "skillgit: "
_OURS = re.compile(r"skillgit: (?:error: )?(?:this push is refused: )?")
_LOCKED = re.compile(r"cannot lock ref '(refs/[^']+)'")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A ref that was not taken, and why, in the words of git or of the other side."""

    ref: str
    reason: str


def send(
    repo: Repository,
    remote: str,
    refspecs: Sequence[str],
    *,
    leases: Sequence[tuple[str, str]] = (),
    evidence: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Push: all of it or nothing, where the other side can do that; never with force but for the leases.

    Args:
        leases: refs that may move anywhere, or go, but only from this value.
        evidence: tell hooks that transcripts were asked for.
        say: a note for the person.

    Raises:
        RefMovedError: the other side changed meanwhile.
        RefusedError: a hook here or there, a rule of the server, or the connection said no; in its words.
    """
    told = _push(repo, remote, refspecs, leases, evidence, atomic=True)
    atomic = _NOT_ATOMIC not in told.err
    if not atomic:
        say(f"{remote} cannot take all refs at once or none: they go one by one")
        told = _push(repo, remote, refspecs, leases, evidence, atomic=False)
    if told.code:
        raise _refused(remote, told, atomic)


def _push(
    repo: Repository,
    remote: str,
    refspecs: Sequence[str],
    leases: Sequence[tuple[str, str]],
    evidence: bool,
    *,
    atomic: bool,
) -> GitResult:
    # What a person has configured for pushes of their own would be mixed in, or is refused beside refspecs.
    mirror = ["-c", f"remote.{remote}.mirror=false"] if repo.config(f"remote.{remote}.mirror") else []
    flags = ["--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--atomic" if atomic else "--no-atomic"]
    held = [f"--force-with-lease={ref}:{oid}" for ref, oid in leases]
    env = {EVIDENCE_ALLOWED: "1"} if evidence else {}
    return repo.git(*mirror, "push", *flags, *held, "--", remote, *refspecs, check=False, env=env)


def refusals(porcelain: str) -> list[Refusal]:
    """The refs that were not taken, of `git push --porcelain`; those that only went down with another one last."""
    found = []
    for line in porcelain.split("\n"):
        match = _LINE.fullmatch(line)
        if match and match[1] == "!":
            reason = _REASON.search(match[4])
            found.append(Refusal(match[3], reason[1] if reason else match[4].strip("[] ")))
    return sorted(found, key=lambda one: bool(_BYSTANDER.search(one.reason)))


def _refused(remote: str, told: GitResult, atomic: bool) -> SkillgitError:
    if told.code < 0:
        return failure(("push",), told)
    found = refusals(told.text)
    words = remote_words(told.err)
    if not found:
        if "failed to push some refs" in told.err and not words:
            said = _hook_words(told.err)
            # A hook of ours has told its mend.
            mend = None if told.err.startswith(_OWN) or f"\n{_OWN}" in told.err else "see pre-push"
            return RefusedError(f"a hook here refused the push{f': {said}' if said else ''}", mend=mend)
        line = clean(first_line(told.err)) or f"git ended with {told.code}"
        return RefusedError(f"{remote} refused the push: {line}{f': {words}' if words else ''}")
    first = found[0]
    more = [one for one in found[1:] if not _BYSTANDER.search(one.reason)]
    others = f" and {len(more)} more" if more else ""
    rest = "" if atomic else "; what came before it was sent"
    if lost := _lost(first, words):
        text = f"{remote} has moved {lost}{others} meanwhile: {clean(first.reason)}{rest}"
        return RefMovedError(text, mend=f"somebody was faster: run `skillgit fetch {remote}`, then push again")
    return RefusedError(
        f"{remote} refused {first.ref}{others}: {clean(first.reason)}{f': {words}' if words else ''}{rest}"
    )


def _lost(first: Refusal, words: str) -> str | None:
    """The ref that somebody else moved between the listing and the push; None where that is not why."""
    if _RACE.search(first.reason):
        return first.ref
    if not (_BYSTANDER.search(first.reason) or _LOST.search(first.reason)):
        return None
    named = _LOCKED.search(words)
    return named[1] if named else first.ref if not words else None


def _hook_words(err: str) -> str:
    """What a hook here said, without git's own lines, and without the name that ours begin theirs with."""
    own = ("error: failed to push", "hint:", "To ", "fatal:")
    lines = [line.strip() for line in err.splitlines() if line.strip() and not line.startswith(own)]
    reasons = [_OURS.sub("", line) for line in lines if line.startswith(_OWN)]
    if len(reasons) > 1:  # the last one counts the others
        reasons = [f"{reason}, and" for reason in reasons[:-2]] + reasons[-2:-1]
    return shortened([*(line for line in lines if not line.startswith(_OWN)), *reasons])


def receive(repo: Repository, remote: str, refspecs: Sequence[str], *, address: str | None = None) -> None:
    """One `git fetch` of exactly these refspecs, all of them or none; nothing else of a person's settings takes part.

    Args:
        address: where to fetch from instead of the remote's own address.

    Raises:
        RefusedError: the connection, the disk or a hook said no, or a ref is in the way of another.
    """
    flags = ["--stdin", "--refmap=", "--no-tags", "--no-prune", "--no-prune-tags", "--no-write-fetch-head"]
    flags += ["--no-recurse-submodules", "--atomic", "--quiet"]
    text = "".join(f"{refspec}\n" for refspec in refspecs).encode()
    told = repo.git(
        "-c", "core.logAllRefUpdates=true", "fetch", *flags, "--", address or remote, input=text, check=False
    )
    if told.code < 0:
        raise failure(("fetch",), told)
    if told.code:
        line = clean(first_line(told.err)) or f"git ended with {told.code}"
        words = remote_words(told.err)
        mend = f"make `git ls-remote {remote}` work, then run it again"
        raise RefusedError(f"nothing was fetched from {remote}: {line}{f': {words}' if words else ''}", mend=mend)
