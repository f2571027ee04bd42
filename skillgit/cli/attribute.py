"""`skillgit attribute`: what each accepted edit carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import one_line, print_json

if TYPE_CHECKING:
    from skillgit.train.archive.journal import StepRecord
    from skillgit.train.trace.attribute import Attribution


@click.command("attribute")
@click.argument("name")
@click.argument("wanted", metavar="[EDIT]...", nargs=-1)
@click.option("--full", is_flag=True, help="Measure all val tasks for each edit.")
@click.option("--delete", is_flag=True, help="Take out the edits that carry nothing, through the gate.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(name: str, wanted: tuple[str, ...], full: bool, delete: bool, yes: bool, as_json: bool) -> None:
    """Measure the document of skill NAME without each of its accepted edits, or without those that are named.

    EDIT is as for `skillgit revert`. What is found goes into the notes on the edits' commits. Unless --full is given, a
    measurement ends as soon as it is clear that the score falls without the edit. With --delete, edits without which it
    does not fall are taken out, if it does not fall without all of them either: such a change's gate is "no worse".
    """
    from datetime import UTC, datetime

    from skillgit.cli import changing, opened
    from skillgit.store.locks import SkillLock
    from skillgit.train.archive.edits import named
    from skillgit.train.carry.change import bring_in, open_run
    from skillgit.train.session import Session
    from skillgit.train.trace.attribute import attribute, deletion, present, remember

    with opened.project() as project:
        repo = project.repo
        project.config.skill(name)
        chosen = {edit.commit: edit for text in wanted for edit in named(repo, name, text)} if wanted else None

        async def work(session: Session) -> tuple[list[Attribution], StepRecord | None, str]:
            found: list[Attribution] = []
            with SkillLock.acquire(repo, name, "attribute") as lock:
                run = await open_run(session, lock)
                for edit in present(run, None if chosen is None else list(chosen.values())):
                    one = await attribute(run, edit, racing=not full)
                    remember(run, one, datetime.now(UTC))
                    found.append(one)
                    if not as_json:
                        print(_line(one), flush=True)
                useless = [one.edit for one in found if one.effect in ("nothing", "harms")]
                if not delete or not useless:
                    return found, None, run.info.run
                record = await bring_in(run, deletion(run, useless))
                return found, record, run.info.run

        found, record, run = opened.run(opened.with_session(project, name, work, yes=yes))
    if as_json:
        entry = None if record is None else {"decision": record.decision, "commits": record.commits}
        print_json({"skill": name, "edits": [one.to_json() for one in found], "deletion": entry})
    elif not found:
        print(f"the document of {name} has none of these edits")
    elif not (count := sum(one.effect in ("nothing", "harms") for one in found)):
        print("each of them carries something" if all(one.effect == "carries" for one in found) else "none is useless")
    elif not delete:
        what, them = ("1 edit carries", "it") if count == 1 else (f"{count} edits carry", "them")
        print(f"{what} nothing; --delete takes {them} out, if the score does not fall without {them}")
    if record is not None and not (as_json and record.accepted):
        changing.report(name, record, run, as_json=False, mend="take them out one by one with `skillgit revert`")


def _line(found: Attribution) -> str:
    from skillgit.cli.progress import points, reached

    edit = found.edit
    what = one_line(str(edit.row.get("content") or edit.row.get("target") or ""))[:60]
    head = f"{edit.run[:10]} {edit.place:>6}  {edit.commit[:10]}  {found.effect:<11}"
    if found.effect == "inseparable":
        return f"{head} later edits changed its lines  {what}"
    tasks = f", falls: {', '.join(found.lost[:5])}" if found.lost else ""
    rises = f", rises: {', '.join(found.gained[:5])}" if found.gained else ""
    return f"{head} {points(found.with_it)} -> {reached(found.without, found.at_most)} without it{tasks}{rises}  {what}"
