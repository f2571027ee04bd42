"""What was accepted here before another training was joined: tried again, one after the other, on their document."""

from __future__ import annotations

from skillgit.errors import RefusedError
from skillgit.train.archive import edits
from skillgit.train.archive.documents import Placed
from skillgit.train.carry.change import Change, bring_in
from skillgit.train.carry.pick import Picked, picked
from skillgit.train.events import Note
from skillgit.train.run import Run


async def rejoin(run: Run) -> None:
    """Gate what is owed, each an entry of the journal; what does not fit, or is there already, is said.

    A killed run goes on with those that are left.
    """
    while run.state.rejoin and run.state.status == "running":
        commit = run.state.rejoin[0]
        run.state.rejoin = run.state.rejoin[1:]  # written with the entry
        wanted = _wanted(run, commit)

        def make(before: Placed, wanted: list[Picked] = wanted) -> Change:
            # As good as ours alone, it has theirs as well.
            return Change("retry", picked(run.session.repo, before, wanted), ties=True)

        try:
            await bring_in(run, make)
        except RefusedError as refused:
            run.session.tell(Note(f"{commit[:12]} is not tried again: {refused}"))


def _wanted(run: Run, commit: str) -> list[Picked]:
    known = edits.by_commit(run.session.repo, run.info.skill, commit)
    found = edits.of_record(known.run, known.record) if known else []
    path = run.info.document
    return [Picked(edit.commit, path, edit) for edit in found] or [Picked(commit, path, None)]
