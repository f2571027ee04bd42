"""The post-merge hook: says when a merge left a document that nobody has measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from skillgit.train.hooks.caller import Called, skill_of

BEST = "best_skill.md"


def unmeasured(top: Path, environ: Mapping[str, str]) -> list[str]:
    """A line for each skill whose document on HEAD is not its best_skill.md.

    On a skill's own branch they differ as a rule, and the run measures the document there.

    Raises:
        RepositoryError: git failed.
    """
    called = Called.find(top, environ)
    branch = called.repo.head_branch()
    if skill_of(branch) is not None:
        return []
    where = branch.removeprefix("refs/heads/") if branch else "HEAD"
    lines = []
    for name, path in sorted(called.documents().items()):
        best = str(PurePosixPath(path).with_name(BEST))
        found = [_blob(called, each) for each in (path, best)]
        if None not in found and found[0] != found[1]:
            mend = f"`skillgit train {name}` measures it, `skillgit status {name}` says more"
            lines.append(f"{name}: {path} on {where} differs from {best}: nobody measured it; {mend}")
    return lines


def _blob(called: Called, path: str) -> str | None:
    found = called.repo.git("rev-parse", "--verify", "--quiet", f"HEAD:{path}", check=False)
    return found.text if found.code == 0 else None
