"""Remotes: which one is meant, what it has, and what it said, without the credentials of its address."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillgit.errors import RefusedError, SkillgitError, UsageError
from skillgit.store.process import GitResult, failure, first_line
from skillgit.store.refs import HEADS, NOTES
from skillgit.store.repository import Repository

SHARED = ("refs/heads/skill/*", "refs/tags/skill/*", "refs/skillgit/*", NOTES)
"""Patterns for what of a remote's refs can be ours."""

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CREDENTIALS = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s'\"@]*(?:@[^/\s'\"@]*)*@", re.IGNORECASE)
_MOST_WORDS = 300


def choose(repo: Repository, given: str | None, *, push: bool) -> str:
    """The remote that is meant: the one given, else as git would choose, else origin, else the only one.

    Args:
        push: whether something is sent there: branch.<b>.pushRemote and remote.pushDefault count too.

    Raises:
        UsageError: there is no such remote, none at all, or no way to choose.
    """
    known = [name for name in repo.git("remote").text.split("\n") if name]
    if given is not None:
        if given in known:
            return given
        mend = f"known remotes: {', '.join(known)}" if known else "add one: git remote add NAME URL"
        raise UsageError(f"there is no remote {clean(given)!r}", mend=mend)
    if not known:
        raise UsageError("this repository has no remote", mend="add one: git remote add origin URL")
    for key in _keys(repo, push):
        if (chosen := repo.config(key)) in known:
            return str(chosen)
    if "origin" in known:
        return "origin"
    if len(known) > 1:
        raise UsageError(f"which remote? known: {', '.join(known)}", mend="name one")
    return known[0]


def _keys(repo: Repository, push: bool) -> list[str]:
    branch = (repo.head_branch() or "").removeprefix(HEADS)
    own = [f"branch.{branch}.pushRemote"] if push and branch else []
    default = ["remote.pushDefault"] if push else []
    return [*own, *default, *([f"branch.{branch}.remote"] if branch else [])]


def destination(repo: Repository, remote: str) -> str | None:
    """The address that pushes go to, where it is another than the one that is fetched from; else None.

    Raises:
        UsageError: pushes go to several addresses, which may differ in what they have.
    """
    fetched = repo.git("remote", "get-url", "--", remote).text
    pushed = repo.git("remote", "get-url", "--push", "--all", "--", remote).text.split("\n")
    if len(pushed) > 1:
        mend = "make each a remote of its own, and push to one after the other"
        raise UsageError(f"{remote} has {len(pushed)} push addresses", mend=mend)
    return None if pushed[0] == fetched else pushed[0]


def listing(repo: Repository, remote: str, *, push: bool = False) -> dict[str, str]:
    """What a remote has of all skills: whole ref names and what they point to (a tag's own id). One connection.

    Args:
        push: ask the address that pushes go to.

    Raises:
        RefusedError: the remote cannot be read.
    """
    where = (destination(repo, remote) if push else None) or remote
    told = repo.git("ls-remote", "--refs", "--quiet", "--", where, *SHARED, check=False)
    if told.code:
        raise unreachable(remote, told)
    lines = (line.partition("\t") for line in told.text.split("\n"))
    return {ref: oid for oid, tab, ref in lines if tab and _OID.fullmatch(oid)}


def unreachable(remote: str, told: GitResult) -> SkillgitError:
    """A connection that failed, in git's words."""
    if told.code < 0:
        return failure(("ls-remote",), told)
    said = clean(first_line(told.err)) or f"git ended with {told.code}"
    return RefusedError(f"{remote} cannot be reached: {said}", mend=f"make `git ls-remote {remote}` work")


def remote_words(err: str) -> str:
    """What the other side said (git marks its lines with `remote:`), on one line; empty where it was silent."""
    lines = (line.removeprefix("remote:").strip() for line in err.splitlines() if line.startswith("remote:"))
    return shortened([line for line in lines if line and not _NO_NEWS.match(line)])


_NO_NEWS = re.compile(
    r"(?:Resolving deltas|Counting objects|Compressing objects|Enumerating objects|error: hook declined to update)\b"
    r"|Total \d"
)


def shortened(lines: Sequence[str]) -> str:
    """Lines as one that a person reads in a glance, without credentials."""
    text = clean(" ".join(lines))
    return text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS].rstrip()} …"


def clean(text: str) -> str:
    """Text without user names and passwords in the addresses that it has."""
    return _CREDENTIALS.sub(r"\1", text)


def shallow_mend(repo: Repository, remote: str) -> str | None:
    """What to do where a shallow history may be why two commits seem unrelated; None in a whole clone."""
    if not (repo.common_dir / "shallow").exists():
        return None
    return f"this clone is shallow, so older commits are not here: git fetch --unshallow {remote}"
