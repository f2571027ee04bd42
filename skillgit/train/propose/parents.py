"""Parents of a step: the tip, or with `train.parent: pareto` a document that is best on some val tasks.

With Pareto parents a step may start from an older accepted document, so what documents came from is a tree, whatever
the branch's commits say; two leaves of it that are good at different tasks are merged, and gated like any candidate.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillgit.document import Edit
from skillgit.document.structure import Structure
from skillgit.store.merging import merge_file
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.propose import pareto
from skillgit.train.propose.candidate import Candidate, EditOutcome
from skillgit.train.propose.pareto import Pair
from skillgit.train.run import Run
from skillgit.train.scoring.scores import by_metric


def parent_of(run: Run, step: int) -> Placed:
    """The document that a step starts from."""
    if _pools(run):
        blob = pareto.parent(_values(run), run.session.settings.train.seed, step)
        if blob is not None and blob != run.state.incumbent:
            return _read(run, blob, f"the parent of step {step}")
    return run.document()


def merged(run: Run) -> tuple[Candidate, Pair] | None:
    """Two documents of the pool that beat each other on different tasks, as one: what each of them changed since the
    document that both came from. None where there is no such pair, or their changes conflict."""
    if not _pools(run):
        return None
    came_from = _came_from(run)
    tried = {tuple(pair.split("+", 1)) for pair in run.state.merged}
    while (pair := pareto.pair(_values(run), tried)) is not None:  # type: ignore[arg-type]
        tried.add(pair)
        base = common(came_from, *pair)
        if base is None or base in pair:
            continue
        one, other, start = (_read(run, blob, "a merge's parent").text for blob in (*pair, base))
        text, _ = merge_file(run.session.repo, one, start, other)
        if text and Structure(text).problem is None:
            return _candidate(text, pair), pair
    return None


def common(came_from: Mapping[str, str], one: str, other: str) -> str | None:
    """The nearest document that two came from; one of them where it came of the other."""
    line = _line(came_from, one)
    return next((blob for blob in _line(came_from, other) if blob in line), None)


def _line(came_from: Mapping[str, str], blob: str) -> list[str]:
    found = [blob]
    while (blob := came_from.get(blob, "")) and blob not in found:
        found.append(blob)
    return found


def _pools(run: Run) -> bool:
    return run.session.settings.train.parent == "pareto" and len(run.state.pool) > 1


def _values(run: Run) -> dict[str, pareto.Values]:
    return {blob: by_metric(run.measured[blob], run.session.metric) for blob in run.state.pool}


def _came_from(run: Run) -> dict[str, str]:
    return {record.document: record.came_from for record in run.records() if record.accepted}


def _read(run: Run, blob: str, where: str) -> Placed:
    return documents.read_blob(run.session.repo, blob, run.document().mode, where)


def _candidate(text: str, pair: Pair) -> Candidate:
    first, second = (blob[:12] for blob in pair)
    edit = Edit(
        "merge", content=f"{first} and {second}", reason="Each of them is better on tasks that the other fails."
    )
    return Candidate(text, (EditOutcome(edit, 1, "pair", "applied", "", text),))
