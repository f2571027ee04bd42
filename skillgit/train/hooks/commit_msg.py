"""The commit-msg hook: on a skill's branch a message's Skill- trailers must be well-formed, and true."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillgit.errors import UsageError
from skillgit.train.hooks.caller import Called, skill_of
from skillgit.train.hooks.commit_message import problems, stored


def check_message(file: Path, top: Path, environ: Mapping[str, str]) -> list[str]:
    """Why a commit must not be made; empty where it may, and on every other branch.

    Args:
        file: the message as git wrote it down.
        top: where git runs the hook.
        environ: the variables that git set for it.

    Raises:
        UsageError: the file cannot be read. RepositoryError: git failed.
    """
    called = Called.find(top, environ)
    skill = skill_of(called.repo.head_branch())
    if skill is None:
        return []
    try:
        text = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", mend="name the file with the message") from None
    text = stored(text)
    # Whether git takes comment lines out depends on how the message was given: it has to be right in both cases.
    bare = called.repo.git("stripspace", "--strip-comments", input=text.encode(), check=False)
    readings = [text, bare.text] if bare.code == 0 else [text]
    blobs = _blobs(called, skill)
    return list(dict.fromkeys(problem for reading in readings for problem in problems(reading, skill, blobs)))


def _blobs(called: Called, skill: str) -> list[str]:
    """The blob of the document in the commit that is being made: of its index. Where nobody says which file the
    document is, of every file."""
    path = called.documents().get(skill)
    wanted = ("--", f":(top,literal){path}") if path is not None else ()
    listed = called.repo.git("ls-files", "--stage", "-z", *wanted, env=called.index).text
    return [row.split(" ", 2)[1] for row in listed.split("\0") if row]
