"""Who commits, and the signatures of commits and tags: all of it git's own doing."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.commits import encoded
from skillgit.store.process import Git, first_line

_MEND = 'run: git config user.name "Your Name" and: git config user.email you@example.com'


def person(git: Git, variable: str = "GIT_COMMITTER_IDENT") -> str:
    """Identity and date as they stand in a commit: `Name <email> seconds zone`.

    An identity that git would make up from the login and the host's name does not count: it would stay in the
    history of everyone who fetches the skill.

    Args:
        variable: `GIT_AUTHOR_IDENT` or `GIT_COMMITTER_IDENT`.

    Raises:
        RepositoryError: no identity, or a date that git cannot read.
    """
    told = git.run("-c", "user.useConfigOnly=true", "var", variable, check=False)
    if told.code == 0:
        return told.text
    line = first_line(told.err)
    if "invalid date" in line:
        raise RepositoryError(f"git cannot read a date: {line}", mend="unset GIT_AUTHOR_DATE and GIT_COMMITTER_DATE")
    raise RepositoryError("git does not know who you are (user.name, user.email)", mend=_MEND)


def signs(git: Git, key: str) -> bool:
    """Whether `commit.gpgsign` or `tag.gpgsign` is on."""
    return git.run("config", "--type=bool", "--get", key, check=False).text == "true"


def dated(who: str, when: datetime | None) -> str:
    """A line of `person` with another date, to the second; None leaves it as it is.

    Raises:
        ValueError: a date without a time zone.
    """
    return who if when is None else f"{who.rsplit(' ', 2)[0]} {_stamp(when)}"


def _stamp(when: datetime) -> str:
    """`seconds zone`, as commits have dates."""
    if when.tzinfo is None:
        raise ValueError("a date needs its time zone")
    return f"{math.floor(when.timestamp())} {when:%z}"


def _dates(when: datetime | None) -> dict[str, str]:
    """The variables that tell git the date of what it writes."""
    if when is None:
        return {}
    return {name: f"@{_stamp(when)}" for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}


def signed_commit(git: Git, tree: str, parents: Sequence[str], message: str, *, when: datetime | None = None) -> str:
    """Write a signed commit object and give its id.

    Args:
        when: its date, in place of git's own.

    Raises:
        RefusedError: it could not be signed. RepositoryError: no identity.
    """
    person(git)
    named = [part for parent in parents for part in ("-p", parent)]
    command = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", *named, "-F", "-", tree)
    done = git.run(*command, input=encoded(message), check=False, env=_dates(when))
    if done.code:
        raise _unsigned("commit", done.err)
    return done.text


def signed_tag(
    git: Git,
    common_dir: Path,
    object_format: str,
    name: str,
    target: str,
    message: str,
    *,
    when: datetime | None = None,
) -> str:
    """Write a signed tag object and give its id, without touching the repository's refs.

    Args:
        when: its date, in place of git's own.

    git signs a tag only where it also makes the ref, so it works in a scratch git directory that has the
    repository's objects and settings but refs of its own.

    Raises:
        RefusedError: it could not be signed. RepositoryError: no identity.
    """
    person(git)
    with tempfile.TemporaryDirectory(prefix="skillgit-tag-") as scratch:
        _scratch_git_dir(Path(scratch), object_format)
        env = {"GIT_DIR": scratch, "GIT_OBJECT_DIRECTORY": str(common_dir / "objects")}
        settings = (f"include.path={common_dir / 'config'}", f"core.hooksPath={os.devnull}", "core.logAllRefUpdates=0")
        flags = [part for setting in settings for part in ("-c", setting)]
        command = (*flags, "tag", "-s", "--cleanup=verbatim", "-F", "-", name, target)
        done = git.run(*command, input=encoded(message), check=False, env={**env, **_dates(when)})
        if done.code:
            raise _unsigned("tag", done.err)
        oid = git.run("rev-parse", "--verify", f"refs/tags/{name}", env=env).text
        # git up to 2.39 at least makes an unsigned tag and ends well where ssh-keygen fails.
        if git.run("cat-file", "tag", oid, env=env).out.endswith(b"\n\n" + encoded(message)):
            raise _unsigned("tag", done.err)
        return oid


def _scratch_git_dir(scratch: Path, object_format: str) -> None:
    (scratch / "refs").mkdir()
    (scratch / "objects").mkdir()
    (scratch / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    extension = "" if object_format == "sha1" else f"[extensions]\n\tobjectFormat = {object_format}\n"
    core = "[core]\n\tbare = true\n\trepositoryFormatVersion = 1\n"
    (scratch / "config").write_text(core + extension, encoding="ascii")


def _unsigned(what: str, err: str) -> RefusedError:
    mend = f"let `git {'tag' if what == 'tag' else 'commit'} -S` work, or set {what}.gpgSign to false"
    return RefusedError(f"the {what} could not be signed: {first_line(err)}", mend=mend.replace("tag -S", "tag -s"))
