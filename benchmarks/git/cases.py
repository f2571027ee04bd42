"""What is measured, each beside what plain git does for the same question."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.git.setting import DOCUMENT, SKILL, Made, git

REMOTE = "origin"
_SKILLGIT = [sys.executable, "-m", "skillgit"]
_REJECTED, _JOURNALS = f"refs/skillgit/rejected/{SKILL}", f"refs/skillgit/runs/{SKILL}"
_SCORES = "--format=%h %(trailers:key=Skill-Decision,valueonly,separator=%x2C) %(trailers:key=Skill-Score,valueonly)"
_SENT = (f"refs/heads/skill/{SKILL}", f"refs/skillgit/best/{SKILL}")
_FOLDERS = (f"{_JOURNALS}/", f"refs/tags/skill/{SKILL}/", f"{_REJECTED}/")


@dataclass(frozen=True, slots=True)
class Case:
    """A command of ours and one of git's.

    Args:
        aim: seconds of wall-clock, None where there is none. ready: puts things back before each of the two.
    """

    name: str
    ours: list[str]
    plain: list[str]
    aim: float | None = None
    ready: Callable[[], None] | None = None


def startup() -> list[Case]:
    """What no command of ours can be faster than."""
    return [Case("--version", [*_SKILLGIT, "--version"], [sys.executable, "-c", "import click"])]


def looking(made: Made) -> list[Case]:
    """The commands that only read."""
    newest, branch, commit = f"{_JOURNALS}/{made.runs[-1]}", f"skill/{SKILL}", made.accepted[-1]
    early = made.accepted[0]
    refs = ["git", "for-each-ref", "--format=%(objectname) %(refname)"]
    return [
        Case("log -n 20", _ours("log", "-n", "20"), _git("log", "--first-parent", "-n20", _SCORES, newest), 0.5),
        Case("log", _ours("log"), _git("log", _SCORES, branch, f"--glob={_REJECTED}")),
        Case("status", _ours("status"), [*refs, "refs/skillgit", "refs/heads/skill"], 0.5),
        Case("show", _ours("show"), _git("show", "--first-parent", newest, "--"), 0.5),
        Case("show COMMIT", _ours("show", early), _git("show", early, "--"), 0.5),
        Case("blame", _ours("blame"), _git("blame", branch, "--", DOCUMENT), 0.5),
        Case("diff", _ours("diff"), _git("diff", "main", commit, "--", DOCUMENT)),
        Case("rejected list -n 20", [*_SKILLGIT, "rejected", "list", SKILL, "-n", "20"], [*refs, _REJECTED]),
    ]


def sending(made: Made) -> list[Case]:
    """A push to a bare repository beside this one: of the rejected refs alone, and of everything."""
    there = made.root.parent / f"{made.root.name}-remote.git"
    pattern = made.root.parent / f"{made.root.name}-without.git"
    if REMOTE not in git(made.root, "remote").split():
        git(made.root, "remote", "add", REMOTE, str(there))
    folders = [f"{folder}*:{folder}*" for folder in _FOLDERS]
    plain = ["git", "push", "-q", "--atomic", REMOTE]
    push = [*_SKILLGIT, "push", REMOTE]

    def empty() -> None:
        shutil.rmtree(there, ignore_errors=True)
        git(made.root, "init", "-q", "--bare", str(there))
        # What an earlier push has left here would tell the next one that it is there already.
        copies = git(made.root, "for-each-ref", "--format=delete %(refname)", "refs/remotes", "refs/skillgit/remotes")
        git(made.root, "update-ref", "--stdin", input=copies.encode())

    def without_rejected() -> None:
        if not pattern.exists():
            empty()
            git(made.root, "push", "-q", REMOTE, *(f"{ref}:{ref}" for ref in _SENT), *folders[:-1])
            git(there, "pack-refs", "--all")
            there.rename(pattern)
        # A copy: where refs were removed by the thousand, file systems are slow to make them again.
        shutil.rmtree(there, ignore_errors=True)
        shutil.copytree(pattern, there)

    return [
        Case("push, rejected refs", push, [*plain, folders[-1]], 2.0, without_rejected),
        Case("push, everything", push, [*plain, *(f"{ref}:{ref}" for ref in _SENT), *folders], None, empty),
    ]


def _ours(verb: str, *arguments: str) -> list[str]:
    return [*_SKILLGIT, verb, SKILL, *arguments]


def _git(*arguments: str) -> list[str]:
    return ["git", *arguments]
