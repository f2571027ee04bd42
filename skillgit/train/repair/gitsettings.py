"""Settings of git that would take our refs away, or that make a loss harder to mend."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase

from skillgit.store.repository import Repository
from skillgit.train.repair.findings import Finding

WHAT = "git settings"
_OURS = ("refs/skillgit/runs/x/y", "refs/skillgit/best/x", "refs/notes/skillgit", "refs/heads/skill/x")
"""A ref of each kind that a fetch must not overwrite or prune."""
_OLD_LOCK_S = 60.0


def look(repo: Repository) -> list[Finding]:
    """Each setting that is dangerous, or one line that says that none is. Nothing of this is ours to change."""
    found = [*_refspecs(repo), *_mirrors(repo), *_reflogs(repo), *_index_locks(repo)]
    return found or [Finding(WHAT, "no refspec or setting endangers what is kept in refs")]


def _refspecs(repo: Repository) -> Iterator[Finding]:
    told = _all(repo, r"^(remote\..*\.(fetch|prune)|fetch\.prune)$")
    prunes = {key: value.lower() not in ("false", "no", "off", "0", "") for key, value in told if _is_prune(key)}
    for key, spec in told:
        if _is_prune(key):
            continue
        remote = key[len("remote.") : -len(".fetch")]
        forced, target = spec.startswith("+"), spec.lstrip("+^").partition(":")[2]
        hit = next((ref for ref in _OURS if _matches(target, ref)), None)
        if spec.startswith("^") or hit is None:
            continue
        pruned = prunes.get(f"remote.{remote}.prune", prunes.get("fetch.prune", False))
        if forced or pruned:
            does = "overwrite" if not pruned else "overwrite and prune" if forced else "prune"
            said = f"{key} = {spec}: every `git fetch` would {does} refs such as {hit.replace('/x', '/NAME', 1)}"
            mend = f"`git config --fixed-value --unset-all {key} '{spec}'`; `skillgit fetch` brings them without"
            yield Finding(WHAT, "", f"{said.replace('/y', '/RUN')}; {mend}", 2)


def _is_prune(key: str) -> bool:
    return key.endswith(".prune")


def _matches(target: str, ref: str) -> bool:
    """Whether a refspec's right side writes a ref."""
    return bool(target) and fnmatchcase(ref, re.sub(r"[\[\]?]", "", target))


def _mirrors(repo: Repository) -> Iterator[Finding]:
    for key, value in _all(repo, r"^remote\..*\.mirror$"):
        if value.lower() in ("true", "yes", "on", "1", ""):
            said = f"{key} is set: `git push` would delete on the remote what is not here, and force the rest"
            yield Finding(WHAT, "", f"{said}; `git config --unset {key}`", 2)


def _reflogs(repo: Repository) -> Iterator[Finding]:
    if (repo.config("core.logAllRefUpdates") or "").lower() in ("false", "no", "off", "0"):
        said = "core.logAllRefUpdates is off: a branch that git itself sets back leaves no trace of where it was"
        yield Finding(WHAT, "", f"{said}; `git config --unset core.logAllRefUpdates`")


def _index_locks(repo: Repository) -> Iterator[Finding]:
    paths = [repo.common_dir / "index.lock", *sorted((repo.common_dir / "worktrees").glob("*/index.lock"))]
    for path in paths:
        try:
            age = time.time() - path.stat().st_mtime
        except OSError:
            continue
        if age > _OLD_LOCK_S:
            said = f"{path.relative_to(repo.common_dir)} is {age / 60:.0f} minutes old"
            yield Finding(WHAT, "", f"{said}: a git that ended may have left it; if no git runs, remove it")


def _all(repo: Repository, pattern: str) -> list[tuple[str, str]]:
    """Every value of the settings that match, in order."""
    told = repo.git("config", "--null", "--get-regexp", pattern, check=False).text
    pairs = (item.partition("\n") for item in told.split("\0") if item)
    return [(key, value) for key, _, value in pairs]
