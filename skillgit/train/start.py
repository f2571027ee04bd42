"""Where training starts: resume an unfinished run, or begin one (DESIGN, section 2, Where training starts)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from pydantic import BaseModel

from skillgit.config import SkillSettings
from skillgit.document.length import length
from skillgit.errors import ConfigError, RefusedError, RepositoryError
from skillgit.store.clones import clone_id
from skillgit.store.locks import SkillLock
from skillgit.store.merging import merge_tree
from skillgit.store.refs import SkillRefs, new_run_id, parse_journal, run_time
from skillgit.store.repository import Repository
from skillgit.store.transactions import RefUpdate, remove_stale_locks, roll_forward
from skillgit.train.adopting import COMMITTED, adopt_tip, note_person, record_event
from skillgit.train.archive import documents, history, taken_back
from skillgit.train.archive.documents import Placed, blob_at
from skillgit.train.archive.journal import Journal, RunInfo, RunState
from skillgit.train.archive.layout import META, read_journal
from skillgit.train.archive.messages import Place, plain_message
from skillgit.train.archive.record import Moves, end_run
from skillgit.train.archive.refusals import refuse_blocked, refuse_checked_out, refuse_symbolic
from skillgit.train.checks import check_resumed
from skillgit.train.events import Listener, Note, RunStarted
from skillgit.train.meeting import fetched, meet
from skillgit.train.run import Run, comparable
from skillgit.train.schedule import steps_per_epoch
from skillgit.train.session import Session

Section = TypeVar("Section", bound=BaseModel)

BY_HAND = "begun for a change by hand"
"""The end of a run that takes no steps."""
RUN_SETTINGS = ("train", "gradient", "optimizer", "evaluation")


async def begin(session: Session, lock: SkillLock, *, fresh: bool) -> Run:
    """Bring an interrupted transaction to its end, then resume the unfinished run or begin a new one.

    Raises:
        RefusedError: the branch is checked out, or a merge of the base conflicts.
        MeasurementError, ModelError: the baseline could not be measured; nothing is lost.
    """
    last = prepare(session.repo, session.name, lock, session.tell)
    meet(session, lock, last)
    if last is not None and last.state.status == "running":
        if not history.is_own(session.repo, last):
            session.tell(Note(f"run {last.info.run} is another clone's, and may go on there: a new one begins here"))
        elif not fresh:
            return await _resume(session, lock, last)
        else:
            _give_up(session, lock, last)
    return await new_run(session, lock, last)


def prepare(repo: Repository, name: str, lock: SkillLock, tell: Listener) -> Journal | None:
    """What everybody does who is about to move a skill's branch: see that it can be moved, finish what was begun.

    Returns: the newest run's journal, None where the skill has none.

    Raises:
        RefusedError: the branch is checked out, refs are in the way, commits cannot be signed.
    """
    refs = SkillRefs(name)
    refuse_checked_out(repo, refs.branch)
    refuse_blocked(repo, refs)
    refuse_symbolic(repo, refs.branch, refs.best)
    _try_to_sign(repo)
    last = recover(repo, name, lock, tell)
    if last is not None:  # a command may have been killed behind its change
        taken_back.keep(repo, name, last.info.document, last.record)
    return last


def recover(repo: Repository, name: str, lock: SkillLock, tell: Listener) -> Journal | None:
    """Roll a half-finished transaction forward from the newest journal: for whoever has just taken the lock.

    Returns: that journal, None where the skill has none.
    """
    if lock.took_over:
        tell(Note(lock.took_over))
    for path in remove_stale_locks(repo, lock.inherited):
        tell(Note(f"removed the leftover lock file {path.name} of an interrupted transaction"))
    last = history.current(repo, name)
    if last is None:
        return None
    # Only a crash inside the transaction leaves refs at their old values; then the lock names its owner.
    if lock.inherited:
        under_way = next((tip for ref in lock.inherited if parse_journal(ref) and (tip := repo.read_ref(ref))), None)
        record = read_journal(repo, under_way).record if under_way else last.record
        # Only what the dead owner itself had listed: a journal may come from anybody.
        pending = [RefUpdate(ref, old, new) for ref, old, new in record.refs if ref in lock.inherited]
        outcome = roll_forward(repo, pending, lock=lock)
        for update in outcome.done:
            tell(Note(f"{update.ref} was brought to {str(update.new)[:12]}: its transaction was interrupted"))
        lock.settle()
    return last


def run_settings(settings: SkillSettings, train_tasks: int) -> dict[str, Any]:
    """What a run is started with, and resumed with."""
    chosen = {section: getattr(settings, section).model_dump() for section in RUN_SETTINGS}
    train = settings.train
    # One shot is one step over all train tasks.
    size = train_tasks if train.one_shot else train.batch_size * train.accumulation
    chosen["steps_per_epoch"] = steps_per_epoch(train_tasks, size)
    return chosen


def unfinished(session: Session) -> Journal | None:
    """The run that the next command goes on with."""
    last = history.current(session.repo, session.name)
    own = last is not None and history.is_own(session.repo, last)
    return last if own and last is not None and last.state.status == "running" else None


def keep_settings(session: Session, last: Journal) -> None:
    """An unfinished run goes on with the settings that it began with; what differs now is said, by key.

    Raises:
        ConfigError: `--set` asks for another value on the command line, which would be ignored.
    """
    began = last.info.settings
    now = {section: getattr(session.settings, section).model_dump() for section in RUN_SETTINGS}
    differ = {
        f"{section}.{key}": (began[section][key], value)
        for section in RUN_SETTINGS
        for key, value in now[section].items()
        if section in began and key in began[section] and began[section][key] != value
    }
    if not differ:
        return
    for key in sorted(session.explicit & differ.keys()):
        old, new = (str(value).lower() if isinstance(value, bool) else str(value) for value in differ[key])
        mend = "go on without it, or start a new run with --fresh"
        raise ConfigError(f"--set {key}={new}: the unfinished run began with {old}", mend=mend)
    shown = [f"{key} is {old}" for key, (old, _) in sorted(differ.items())]
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    note = f"the unfinished run keeps the settings it began with: {', '.join(shown[:4])}{more}"
    session.tell(Note(f"{note}; --fresh starts a new run"))
    kept = {s: _chosen(getattr(session.settings, s), {**now[s], **began[s]}) for s in RUN_SETTINGS if s in began}
    session.settings = session.settings.model_copy(update=kept)
    check_resumed(session)


def _chosen(section: Section, values: Mapping[str, Any]) -> Section:
    """A section with other values; what is as by default counts as not chosen, which some rules between keys ask."""
    defaults = {
        name: field.get_default(call_default_factory=True) for name, field in type(section).model_fields.items()
    }
    return section.model_validate({k: v for k, v in values.items() if k not in defaults or v != defaults[k]})


async def _resume(session: Session, lock: SkillLock, last: Journal) -> Run:
    keep_settings(session, last)
    run, current = reopened(session, lock, last)
    _announce(run, resumed_at=run.state.step)
    first_step = (last.state.epoch - 1) * run.steps_per_epoch + 1
    run.patterns = history.patterns(session.repo, session.refs.evidence(last.info.run), first_step)
    run.memory = history.memory(session.repo, session.refs.evidence(last.info.run))
    run.unusable, run.answered = last.state.unusable, last.state.answered
    if last.record.reason == COMMITTED:
        note_person(run, last.record.score)
    await catch_up(run, current=current)
    return run


def reopened(session: Session, lock: SkillLock, last: Journal) -> tuple[Run, bool]:
    """The run of a journal, in memory again.

    Returns: it, and whether its scores are those of today's val tasks and target.
    """
    same = last.state.val == session.val_digest and last.state.target == session.target_identity
    measured = {}
    for blob in (last.state.incumbent, last.state.best, *last.state.pool):
        known = comparable(last.scores, blob) if same else None
        if known is not None:
            measured[blob] = known
    return Run(session, lock, last.info, last.state, last.commit, measured), same


async def catch_up(run: Run, *, current: bool) -> None:
    """Bring a reopened run to where its branch is, with scores that compare; measures what that takes.

    Args:
        current: whether the scores are those of today's val tasks and target.
    """
    if not current:
        await _measure_anew(run, "val tasks or target changed since the last measurement")
    elif {run.state.incumbent, run.state.best} - run.measured.keys():
        await _measure_anew(run, "the document was changed without the gate")
    else:
        await adopt_tip(run)


async def _measure_anew(run: Run, why: str) -> None:
    """Tasks grew, or the target is another: tip and best are measured first, so that scores compare."""
    session, state = run.session, run.state
    session.tell(Note(f"{why}: tip and best are measured anew"))
    found = session.repo.read_ref(session.refs.branch)
    tip = found or state.tip
    moves = Moves()
    moves.add(session.refs.branch, found, tip)
    placed = documents.read_editable(session.repo, tip, run.info.document)
    await run.measure(placed, "baseline")
    await run.measure(documents.read(session.repo, state.best_commit, run.info.document), "baseline")
    state.val, state.target, state.tried = session.val_digest, session.target_identity, []
    state.pool = []  # what other documents scored on other tasks compares with nothing
    await record_event(run, "remeasure", why, tip, placed, moves)


def _give_up(session: Session, lock: SkillLock, last: Journal) -> None:
    end_run(session, lock, last, "given up with --fresh")
    session.tell(Note(f"run {last.info.run} was given up after step {last.state.step}"))


async def new_run(session: Session, lock: SkillLock, last: Journal | None, *, by_hand: bool = False) -> Run:
    """Begin a run at the branch's tip, at the fetched one's, or at the base.

    Args:
        last: the run before it.
        by_hand: it is there for a change that a person asks for, and takes no steps.

    Raises:
        RefusedError: a merge of the base conflicts. MeasurementError, ModelError: the baseline could not be measured.
    """
    repo, path = session.repo, session.settings.document
    base = base_of(repo, session.settings)
    documents.read(repo, base, path)  # a document that the base lacks is said before anything is measured
    branch, best = repo.read_ref(session.refs.branch), repo.read_ref(session.refs.best)
    tip = branch or _remote_tip(session) or base
    run_id = mint(repo, session.name)
    place = Place(session.name, run_id, 0, 1)
    moved_by_us = last is not None and tip == last.state.tip
    owed = list(last.state.rejoin) if last is not None and history.is_own(repo, last) else []
    # While something is owed, the best document lacks what the other training had accepted.
    if best is not None and moved_by_us and not owed and blob_at(repo, best, path) != blob_at(repo, tip, path):
        tip = _bring_back(session, place, tip, best)
    if not repo.objects.is_ancestor(base, tip):
        tip = merge_base_in(session, place, tip, base)
    placed = documents.read_editable(repo, tip, path)
    same = last is not None and last.state.val == session.val_digest and last.state.target == session.target_identity
    known = last.scores if last is not None and same else None
    anchors = {placed.blob, blob_at(repo, best, path) if best else None} - {None}
    measured = {blob: m for blob in anchors if blob and (m := comparable(known, blob)) is not None}
    info = _info(session, run_id, base, placed)
    best_blob = blob_at(repo, best, path) if best else None
    state = RunState(
        tip=tip,
        incumbent=placed.blob,
        best=best_blob or placed.blob,
        best_commit=best or tip,
        val=session.val_digest,
        target=session.target_identity,
        answered=False,
        rejected=list(last.state.rejected) if last is not None and same else [],
        rejoin=owed,
        status="finished" if by_hand else "running",
        reason=BY_HAND if by_hand else "",
    )
    run = Run(session, lock, info, state, None, measured)
    if last is not None and same:
        run.memory = history.memory(repo, session.refs.evidence(last.info.run))
    _announce(run, resumed_at=None)
    run.plan_ahead(1)
    await run.measure(placed, "baseline")
    if best is not None and best_blob is not None:
        await run.measure(documents.read(repo, best, path), "baseline")
    await _weigh_theirs(run, tip)
    if run.memory:  # into this run's evidence: a resumed run looks only there
        run.evidence[META] = [{"text": run.memory}]
    moves = Moves()
    moves.add(session.refs.branch, branch, tip)
    await record_event(run, "baseline", "the document that training starts from", tip, placed, moves)
    return run


def _info(session: Session, run: str, base: str, start: Placed) -> RunInfo:
    settings = run_settings(session.settings, len(session.train))
    settings["start_length"] = length(start.text)
    epochs = 1 if session.settings.train.one_shot else session.settings.train.num_epochs
    total = settings["steps_per_epoch"] * epochs
    path, clone = session.settings.document, clone_id(session.repo)
    return RunInfo(run, session.name, path, base, settings, total, clone=clone)


async def _weigh_theirs(run: Run, tip: str) -> None:
    """Where another clone's training was joined, its best document is measured too, and is the best one if it is."""
    repo, refs, path = run.session.repo, run.session.refs, run.info.document
    known = fetched(repo, refs.branch)
    theirs = repo.read_ref(f"refs/skillgit/remotes/{known[0]}/best/{run.info.skill}") if known else None
    blob = blob_at(repo, theirs, path) if theirs and repo.objects.is_ancestor(theirs, tip) else None
    # One that ours came from was compared when ours became the best.
    if theirs is None or blob in (None, run.state.best) or repo.objects.is_ancestor(theirs, run.state.best_commit):
        return
    placed = documents.read(repo, theirs, path)
    await run.measure(placed, "baseline")
    mine, other = run.score(run.state.best), run.score(placed.blob)
    if mine is not None and other is not None and other > mine:
        run.state.best, run.state.best_commit = placed.blob, theirs


def mint(repo: Repository, name: str) -> str:
    """A run id that sorts after all known ones, also where a clock was set back."""
    known = history.runs(repo, name)
    soonest = run_time(known[-1][0]) + timedelta(milliseconds=1) if known else datetime.now(UTC)
    return new_run_id(max(datetime.now(UTC), soonest), os.urandom(10))


def _try_to_sign(repo: Repository) -> None:
    """Where commits are signed, a key that cannot sign is said before anything is measured."""
    if repo.config("commit.gpgsign") == "true":
        repo.objects.write_commit(repo.objects.write_tree({}, None), [], "skillgit: can this be signed?\n")


def _announce(run: Run, *, resumed_at: int | None) -> None:
    epochs = run.session.settings.train.num_epochs
    run.session.tell(RunStarted(run.info.skill, run.info.run, epochs, run.info.total_steps, resumed_at))


def base_of(repo: Repository, settings: SkillSettings) -> str:
    """The commit of `merge.into`, HEAD's where it is unset.

    Raises:
        RepositoryError: there is no such branch, or no commit yet.
    """
    into = settings.merge.into
    base = repo.resolve(f"refs/heads/{into}" if into else "HEAD")
    if base is None and into and not repo.is_unborn():
        raise RepositoryError(f"merge.into: there is no branch {into}", mend="set it to the branch you work on")
    if base is None:
        what = f"the base branch {into}" if into else "HEAD"
        raise RepositoryError(f"{what} has no commit", mend="commit the document first, or set merge.into")
    return base


def _remote_tip(session: Session) -> str | None:
    """The fetched `skill/<name>`, of origin first."""
    short = session.refs.branch.removeprefix("refs/heads/")
    found = {r: oid for r, oid in session.repo.list_refs("refs/remotes/").items() if r.split("/", 3)[-1] == short}
    if not found:
        return None
    first = sorted(found, key=lambda ref: (not ref.startswith("refs/remotes/origin/"), ref))[0]
    session.tell(Note(f"training starts from {first.removeprefix('refs/remotes/')}"))
    return found[first]


def _bring_back(session: Session, place: Place, tip: str, best: str) -> str:
    """A `revert` commit whose document is the best one."""
    repo, path = session.repo, session.settings.document
    placed = documents.read(repo, best, path)
    tree, _ = documents.replaced(repo, tip, path, placed.text, placed.mode)
    message = plain_message(
        place, "revert", "bring back the best document", f"Training goes on from the document of {best}."
    )
    return repo.objects.write_commit(tree, [tip], message)


def merge_base_in(session: Session, place: Place, tip: str, base: str) -> str:
    """A `merge` commit on the training branch: first parent the tip, second the base.

    Raises:
        RefusedError: the two conflict; names the files.
    """
    repo = session.repo
    merged = merge_tree(repo, tip, base)
    if merged.conflicts:
        short = session.refs.branch.removeprefix("refs/heads/")
        files = ", ".join(sorted(merged.conflicts)[:5])
        raise RefusedError(
            f"{short} and the base branch conflict in {files}", mend=f"merge the base into {short} by hand"
        )
    message = plain_message(place, "merge", "merge the base branch", f"Brings {base} into the training branch.")
    return repo.objects.write_commit(merged.tree, [tip, base], message)
