"""Which of two best documents is the one to keep: by what the journals say of each move, or by its scores."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from skillgit.errors import RefusedError, RepositoryError
from skillgit.store.refs import SkillRefs, parse_journal
from skillgit.store.repository import Repository
from skillgit.train.archive import history
from skillgit.train.archive.documents import blob_at
from skillgit.train.archive.known import Knowledge
from skillgit.train.archive.layout import read_journal
from skillgit.train.archive.walking import walk
from skillgit.train.scoring.scores import HARD, SOFT, Metric


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


def scored_higher(repo: Repository, name: str, old: str, new: str) -> bool:
    """Whether the document of commit `new` did strictly better than that of `old`, on the same val tasks and with the
    same target, by the journals that are here."""
    runs = history.runs(repo, name)
    if not runs:
        return False
    try:
        info = read_journal(repo, runs[-1][1]).info
        blobs = [blob_at(repo, commit, info.document) for commit in (old, new)]
        if blobs[0] is None or blobs[1] is None:
            return False
        pair = Knowledge(repo, name, [blobs[0], blobs[1]]).pair(blobs[0], blobs[1], "val")
    except (RefusedError, RepositoryError):
        return False
    if pair is None or None in (pair[0].run, pair[1].run):
        return False
    metric = _metric(info.settings)
    return metric is not None and pair[1].score(metric) > pair[0].score(metric)


def _metric(settings: Mapping[str, object]) -> Metric | None:
    """What the run's gate looked at; None where the journal, which may be anybody's, does not say."""
    evaluation = settings.get("evaluation")
    if not isinstance(evaluation, dict):
        return None
    name, weight = evaluation.get("gate_metric"), evaluation.get("gate_mixed_weight", "1/2")
    try:
        share = Fraction(str(weight))
    except (ValueError, ZeroDivisionError):
        return None
    if name == "mixed":
        return Metric("mixed", share)
    return HARD if name == "hard" else SOFT if name == "soft" else None


def _runs(name: str, journals: Mapping[str, str]) -> list[tuple[str, str]]:
    found = ((parse_journal(ref), tip) for ref, tip in journals.items())
    return [(parsed.run, tip) for parsed, tip in found if parsed is not None and parsed.name == name]
