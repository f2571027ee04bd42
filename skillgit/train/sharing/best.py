"""Which of two best documents came later, by what the journals say of each move."""

from __future__ import annotations

from collections.abc import Mapping

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.refs import SkillRefs, parse_journal
from skillgit.store.repository import Repository
from skillgit.train.archive.walking import walk


def superseded(repo: Repository, name: str, journals: Mapping[str, str], old: str, new: str) -> bool:
    """Whether `new` is the last best that these journals know of, and `old` came before it, move by move.

    A best may be an older commit than the one before it, so ancestry does not tell; and one that another machine's
    training found, without having seen ours, is not before or after it.

    Args:
        journals: by whole ref name, the journals' tips; of other skills too.
    """
    best, wanted, first = SkillRefs(name).best, new, True
    try:
        for parsed, tip in sorted(_runs(name, journals), reverse=True):
            for stop in walk(repo, parsed, tip):
                for ref, before, after in stop.record(repo).refs:
                    if ref != best or after is None:
                        continue
                    if first and after != new:
                        return False
                    first = False
                    if after == wanted:
                        if before == old:
                            return True
                        wanted = before or ""
    except (RefusedError, RepositoryError):
        return False  # a journal that is damaged, or not whole here, is no proof
    return False


def _runs(name: str, journals: Mapping[str, str]) -> list[tuple[str, str]]:
    found = ((parse_journal(ref), tip) for ref, tip in journals.items())
    return [(parsed.run, tip) for parsed, tip in found if parsed is not None and parsed.name == name]
