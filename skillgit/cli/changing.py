"""What verbs that change a skill's document share: opening, and telling what became of it."""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from skillgit.cli.output import colour, many_lines, one_line, print_json, say

if TYPE_CHECKING:
    from skillgit.train.archive.documents import Placed
    from skillgit.train.archive.journal import StepRecord
    from skillgit.train.carry.change import Change
    from skillgit.train.carry.ungated import Shelf
    from skillgit.train.events import Event
    from skillgit.train.project import Project
    from skillgit.train.session import Session


@contextlib.contextmanager
def conflicts() -> Iterator[None]:
    """Both sides of a conflict are shown on stderr, above the line that says what is wrong."""
    from skillgit.errors import ConflictError

    try:
        yield
    except ConflictError as conflict:
        if conflict.shown:
            say(many_lines(conflict.shown))
        raise


def tell(event: Event) -> None:
    """Notes alone."""
    from skillgit.train.events import Note

    if isinstance(event, Note):
        say(f"note: {one_line(event.text)}")


def gated(
    project: Project, name: str, command: str, make: Callable[[Placed], Change], *, yes: bool
) -> tuple[StepRecord, str]:
    """Gate a change on the tip's document.

    Returns: the journal's entry, and the run that it is in.
    """
    from skillgit.cli import opened
    from skillgit.store.locks import SkillLock
    from skillgit.store.refs import SkillRefs
    from skillgit.train.carry.change import bring_in, open_run

    if project.repo.read_ref(SkillRefs(name).branch) is not None:
        make(at_tip(project, name))  # what does not fit is said before any model is opened

    async def work(session: Session) -> tuple[StepRecord, str]:
        with SkillLock.acquire(session.repo, name, command) as lock:
            run = await open_run(session, lock)
            return await bring_in(run, make), run.info.run

    return opened.run(opened.with_session(project, name, work, yes=yes))


def ungated(project: Project, name: str, command: str, work: Callable[[Shelf], StepRecord]) -> tuple[StepRecord, str]:
    """Change a document without the gate: no model is opened.

    Returns: the journal's entry, and the run that it is in.
    """
    from skillgit.store.locks import SkillLock
    from skillgit.train.carry.ungated import Shelf

    with SkillLock.acquire(project.repo, name, command) as lock:
        shelf = Shelf.open(project.repo, name, project.config.skill(name), lock, tell)
        return work(shelf), shelf.last.info.run


def at_tip(project: Project, name: str) -> Placed:
    """The document that a change would be made to.

    Raises:
        RefusedError: nothing was trained yet.
    """
    from skillgit.errors import RefusedError
    from skillgit.train.archive import documents, history

    tip = history.tip_of(project.repo, name)
    if tip is None:
        raise RefusedError(f"{name} was not trained yet", mend=f"run `skillgit train {name}` first")
    return documents.read_editable(project.repo, tip, project.config.skill(name).document)


def show_only(path: str, before: str, after: str, *, as_json: bool) -> None:
    """What a dry run shows: the document's change as a unified diff."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    if as_json:
        print_json({"document": path, "changes": before != after, "diff": "".join(lines)})
        return
    for line in lines:
        text = many_lines(line.rstrip("\r\n"))
        style = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")
        print(colour(text, style, sys.stdout) if style else text)


def report(name: str, record: StepRecord, run: str, *, as_json: bool, mend: str) -> None:
    """Say what became of a change.

    Raises:
        RefusedError: the gate did not accept it. MeasurementError: it could not decide.
    """
    from skillgit.cli.progress import points, reached
    from skillgit.errors import MeasurementError, RefusedError
    from skillgit.store.refs import SkillRefs
    from skillgit.train.archive.journal import exact_number
    from skillgit.train.archive.story import Entry

    entry = Entry(run, record)
    if as_json:
        print_json({"skill": name, **entry.to_json()})
    if record.accepted:
        if not as_json:
            score = f"val {points(entry.score)}" if record.score else "not measured"
            was = f" (was {points(exact_number(record.before))})" if record.before else ""
            print(f"skill/{name} is at {record.commits[-1][:12]}: {record.decision}, {score}{was}")
            print(one_line(record.reason))
        return
    if record.decision == "indecisive":
        raise MeasurementError(
            f"nothing was decided: {one_line(record.reason)}", mend="mend what fails and run the same command again"
        )
    score = reached(entry.score, exact_number(record.maximum))
    kept = ""
    if record.decision == "reject":
        kept = f"; it is kept as {SkillRefs(name).rejected(run, record.step, record.candidate)}"
    raise RefusedError(
        f"the gate did not accept it ({record.decision}): val {points(exact_number(record.before))} -> {score}: "
        f"{one_line(record.reason)}{kept}",
        mend=mend,
    )
