"""What `skillgit merge` does, on the skill of a yard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import training
from support.training import SKILL
from support.world import SEED_DOCUMENT

from skillgit.store.locks import SkillLock
from skillgit.train.merging.gating import WithSession
from skillgit.train.merging.into import Merged, merge
from skillgit.train.merging.other import Brought, merge_other
from skillgit.train.project import Project

CONFIG = training.configuration(train="{num_epochs: 1, batch_size: 16}")
# An end that nobody trains: appended rules and a person's words above it never touch the same lines.
LONG = SEED_DOCUMENT + "\nFirst things first.\n\n" + "Words between.\n\n" * 3 + "## Codes\n\n- none so far\n"


def sessions(start: Path) -> WithSession:
    """Opens models when they are needed."""

    async def with_session(work: Any, *, optimizer: bool = False) -> Any:
        async with training.session(start, optimizer=optimizer) as session:
            return await work(session)

    return with_session


async def bring(
    start: Path, into: str = "main", *, told: list[Any] | None = None, resolve: bool = False, tag: bool = True
) -> Merged:
    """`skillgit merge topics --into main`."""
    project = Project.open(start)
    tell = told.append if told is not None else lambda _: None
    try:
        settings = project.config.skill(SKILL)
        with SkillLock.acquire(project.repo, SKILL, "merge") as lock:
            ready = sessions(start)
            return await merge(
                project.repo, SKILL, settings, into, ready, lock=lock, resolve=resolve, tag=tag, tell=tell
            )
    finally:
        project.repo.close()
        project.close()


async def join(start: Path, other: str, *, resolve: bool = False) -> Brought | None:
    """`skillgit merge topics OTHER`."""
    project = Project.open(start)
    try:
        settings = project.config.skill(SKILL)
        with SkillLock.acquire(project.repo, SKILL, "merge") as lock:
            return await merge_other(project.repo, SKILL, settings, other, sessions(start), lock=lock, resolve=resolve)
    finally:
        project.repo.close()
        project.close()
