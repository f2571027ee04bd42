"""`skillgit rejected show`."""

from __future__ import annotations

import click

from skillgit.cli.output import joined, many_lines, one_line, print_json
from skillgit.cli.rejected.naming import find, said, to_json, verdict


@click.command("show")
@click.argument("name")
@click.argument("step")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(name: str, step: str, as_json: bool) -> None:
    """Show one rejected candidate of skill NAME, with the notes that people left on it.

    STEP is the step's number, of the newest run that has it, or RUN/STEP; STEP-KK is candidate KK, needed where more
    than one of the step was rejected. `skillgit show` tells more of it.
    """
    from skillgit.cli import opened
    from skillgit.train.archive import buffer, story
    from skillgit.train.archive.remarks import Remarks

    with opened.project() as project:
        document = project.config.skill(name).document
        known = story.Steps(project.repo, name)
        item = find(story.rejected(project.repo, name, known), name, step)
        told = buffer.told(project.repo, name, document, known, [item]).get(item.ref)
        remarks = Remarks(project.repo).of(item.commit)
        start = f"{item.commit}~{len(item.entry.record.commits)}" if item.entry else f"{item.commit}^"
        path = f":(top,literal){document}"
        options = ("--no-color", "--no-ext-diff", "--no-textconv")
        diff = project.repo.git("diff", *options, start, item.commit, "--", path, check=False).out
        text = diff.decode(errors="replace")
    if as_json:
        print_json({**to_json(item, told, remarks), "diff": text})
        return
    print(f"{item.ref}\ncommit {item.commit}\n{verdict(item, told)}")
    for remark in remarks:
        print(said(remark))
    for edit in item.entry.record.edits if item.entry else []:
        what, why = f"{edit.get('op')} ({edit.get('status')})", joined(str(edit.get("reason") or ""))
        print(f"  {one_line(what)}{': ' if why else ''}{why}")
    print("\n" + many_lines(text.replace("\r\n", "\n")), end="")
