"""The repository that called a hook.

git tells a hook by variables which repository and which index it works on. skillgit drops them, since it is most often
called for another repository; here they are what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from skillgit.store.process import Git
from skillgit.store.repository import Repository

FILE = "skillgit.yaml"
SKILL_BRANCH = "refs/heads/skill/"


@dataclass(frozen=True, slots=True)
class Called:
    """What a hook was called for.

    Args:
        repo: the repository.
        top: the folder in which git runs the hook: the work tree's root.
        index: variables with which git reads the index of the commit that is being made; empty: the usual one.
    """

    repo: Repository
    top: Path
    index: dict[str, str]

    @classmethod
    def find(cls, top: Path, environ: Mapping[str, str]) -> Called:
        """The repository that git's variables name, or the one around `top`.

        Raises:
            RepositoryError: there is none.
        """
        index = environ.get("GIT_INDEX_FILE")
        variables = {"GIT_INDEX_FILE": str(top / index)} if index else {}
        return cls(_repository(top, environ.get("GIT_DIR")), top, variables)

    def documents(self) -> dict[str, str]:
        """Skill -> the path of its document, by the work tree's skillgit.yaml.

        A hook does not judge the configuration: of one that is broken, what can be read counts.
        """
        try:
            value = yaml.safe_load((self.top / FILE).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError):
            return {}
        skills = value.get("skills") if isinstance(value, dict) else None
        found: dict[str, str] = {}
        for name, entry in skills.items() if isinstance(skills, dict) else ():
            path = entry.get("document") if isinstance(entry, dict) else None
            if isinstance(name, str) and isinstance(path, str) and path:
                found[name] = path.replace("\\", "/").removeprefix("./")
        return found


def skill_of(branch: str | None) -> str | None:
    """The skill that a branch, given as a whole ref, trains; None for other branches."""
    found = re.fullmatch(rf"{SKILL_BRANCH}([a-z0-9-]+)", branch or "")
    return found[1] if found else None


def _repository(top: Path, named: str | None) -> Repository:
    if named is None:
        return Repository.open(top)
    git_dir = (top / named).resolve()
    # `git --git-dir=A --work-tree=B` need not find A from B: then git runs in A, which has all but the work tree.
    around = Git(top).run("rev-parse", "--path-format=absolute", "--git-dir", check=False)
    if around.code == 0 and Path(around.text).resolve() == git_dir:
        return Repository.open(top)
    asked = ("--show-object-format", "--path-format=absolute", "--git-common-dir")
    object_format, common = Git(git_dir).run("rev-parse", *asked).text.split("\n")
    return Repository(git_dir, Path(common), None, object_format)
