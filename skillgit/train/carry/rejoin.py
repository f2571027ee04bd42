"""What was accepted here before another training was joined: tried again, one after the other, on their document."""

from __future__ import annotations

from collections.abc import Sequence

from skillgit.errors import ConflictError, DocumentError, UnfitChangeError
from skillgit.train.archive import edits
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.edits import RecordedEdit
from skillgit.train.archive.taken_back import BY_HAND, is_taken
from skillgit.train.carry.change import Change, bring_in
from skillgit.train.carry.pick import Picked, picked
from skillgit.train.carry.revert import reverted, without
from skillgit.train.events import Note
from skillgit.train.propose.candidate import Candidate
from skillgit.train.run import Run


async def rejoin(run: Run) -> None:
    """Gate what is owed, each an entry of the journal; what does not fit, or is there already, is said.

    What people took out is not brought back, and what they took out without the gate is taken out here too. A killed
    run goes on with those that are left; what had too few scores stays owed to the next start.
    """
    for commit in list(run.state.rejoin):
        if run.state.status != "running":
            return
        problem = await _again(run, commit)
        if problem is not None:
            # Written with the next entry; until then it is found again, and says the same.
            run.state.rejoin = [one for one in run.state.rejoin if one != commit]
            if problem:
                run.session.tell(Note(f"{commit[:12]} is not tried again: {problem}"))


async def _again(run: Run, commit: str) -> str | None:
    """Try one again.

    Returns: why it cannot be; empty where there is nothing to say, None where it was tried.
    """
    known = edits.by_commit(run.session.repo, run.info.skill, commit)
    found = edits.of_record(known.run, known.record) if known else []
    asked = known is not None and known.record.kind in BY_HAND and known.record.decision == "forced"
    left = [edit for edit in found if not is_taken(run.taken_back, edit.edit)]
    if found and not left:
        return "a person took it out"

    def make(before: Placed) -> Change:
        if asked:
            return Change("retry", _taken_out(run, before, found), forced=True, owed=commit)
        wanted = [Picked(edit.commit, run.info.document, edit) for edit in left]
        built = picked(run.session.repo, before, wanted or [Picked(commit, run.info.document, None)])
        # As good as ours alone, it has theirs as well.
        return Change("retry", built, ties=True, owed=commit)

    try:
        record = await bring_in(run, make)
    except (UnfitChangeError, ConflictError, DocumentError) as unfit:
        return "" if asked and isinstance(unfit, UnfitChangeError) else str(unfit)
    if record.decision == "indecisive":
        run.session.tell(Note(f"{commit[:12]} had too few scores: it is tried again when training is started again"))
    return None


def _taken_out(run: Run, before: Placed, found: Sequence[RecordedEdit]) -> Candidate:
    """What a person took out without the gate, taken out of another document; a rollback is merged into it.

    Raises:
        UnfitChangeError: it has none of it. ConflictError: it does not fit.
    """
    repo, path = run.session.repo, run.info.document
    gone = [edits.by_commit(repo, run.info.skill, str(edit.row.get("target") or "")) for edit in found]
    known = [edit for edit in gone if edit is not None]
    if len(known) < len(found):
        return picked(repo, before, [Picked(edit.commit, path, edit) for edit in found])
    there = [edit for edit in known if without(repo, path, before.text, edit) != before.text]
    if not there:
        raise UnfitChangeError("the document has none of it")
    return reverted(repo, path, before, there)
