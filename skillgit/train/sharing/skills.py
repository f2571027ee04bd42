"""Which skills a transfer is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillgit.config import FILE_NAME, parse
from skillgit.errors import ConfigError, UsageError
from skillgit.store import remotes
from skillgit.store.repository import Repository
from skillgit.store.sync.sides import local_refs, names
from skillgit.strictyaml import nearest


def configured(repo: Repository) -> list[str]:
    """The skills of skillgit.yaml, sorted; none where there is no such file yet.

    In a bare repository, and where a sparse checkout leaves the file out, HEAD's counts. Nothing else of a project is
    opened, so that a transfer starts at once.

    Raises:
        ConfigError: the file is wrong.
    """
    try:
        text = _text(repo)
    except UnicodeDecodeError:
        raise ConfigError(f"{FILE_NAME}: not UTF-8", mend="save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{FILE_NAME}: {error.strerror}", mend="make it readable") from None
    return sorted(parse(text).skills) if text is not None else []


def _text(repo: Repository) -> str | None:
    path = repo.work_tree / FILE_NAME if repo.work_tree is not None else None
    if path is not None and path.exists():
        return path.read_text(encoding="utf-8-sig")
    head = repo.resolve("HEAD")
    entry = repo.objects.entry(head, FILE_NAME) if head is not None else None
    return repo.objects.read_blob(entry.oid).decode("utf-8-sig") if entry is not None else None


def chosen_remote(repo: Repository, given: str | None, asked: Sequence[str], *, push: bool) -> str:
    """The remote that is meant, as `remotes.choose`; where a skill stands in its place, the mend says so.

    Raises:
        UsageError: there is no such remote, none at all, or no way to choose.
    """
    try:
        return remotes.choose(repo, given, push=push)
    except UsageError:
        if given is None or given not in {*configured(repo), *names(local_refs(repo, given))}:
            raise
    remote = remotes.choose(repo, None, push=push)
    verb = "push" if push else "fetch"
    mend = f"the remote comes first: `skillgit {verb} {' '.join((remote, given, *asked))}`"
    raise UsageError(f"{given} is a skill, and no remote", mend=mend)


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
