"""Which skills a transfer is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillgit.config import FILE_NAME
from skillgit.errors import UsageError
from skillgit.store.repository import Repository
from skillgit.store.sync.sides import names
from skillgit.strictyaml import nearest
from skillgit.train.project import Project


def configured(repo: Repository) -> list[str]:
    """The skills of skillgit.yaml, sorted; none where there is no such file yet.

    Raises:
        ConfigError: the file is wrong.
    """
    if repo.work_tree is not None:
        there = (repo.work_tree / FILE_NAME).exists()
    else:
        head = repo.resolve("HEAD")
        there = head is not None and repo.objects.entry(head, FILE_NAME) is not None
    if not there:
        return []
    project = Project.open(repo.work_tree or repo.git_dir)
    try:
        return sorted(project.config.skills)
    finally:
        project.close()
        project.repo.close()


def chosen(
    repo: Repository, asked: Sequence[str], ours: Mapping[str, str], theirs: Mapping[str, str], *, fetch: bool
) -> list[str]:
    """The skills that are meant, sorted: those asked for, else those of skillgit.yaml, and for a fetch the remote's.

    Raises:
        UsageError: nobody knows one that was asked for.
    """
    configuration = configured(repo)
    known = {*configuration, *names(ours), *names(theirs)}
    for name in asked:
        if name not in known:
            meant = nearest(name, sorted(known))
            mend = f"did you mean {meant!r}?" if meant else f"known skills: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(f"there is no skill {name!r}, neither here nor there", mend=mend)
    return sorted({*(asked or configuration), *(names(theirs) if fetch and not asked else ())})
