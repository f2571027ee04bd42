"""`skillgit init`: write skillgit.yaml and what is missing."""

from __future__ import annotations

import click

from skillgit.cli.output import print_json


@click.command("init")
@click.option("--skill", "name", metavar="NAME", help="The skill's name; guessed from the one SKILL.md there is.")
@click.option("--document", metavar="PATH", help="The document to train; skills/NAME/SKILL.md unless given.")
@click.option("--env", metavar="PATH", help="The environment's folder, or builtin/NAME; envs/NAME unless given.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(name: str | None, document: str | None, env: str | None, as_json: bool) -> None:
    """Write skillgit.yaml, a document and an environment where they are missing; nothing that exists is changed."""
    from pathlib import Path

    from skillgit.errors import RepositoryError
    from skillgit.store.refs import HEADS
    from skillgit.store.repository import Repository
    from skillgit.train import scaffold

    repo = Repository.open(Path.cwd())
    root = repo.work_tree
    if root is None:
        raise RepositoryError("a bare repository has no files to write", mend="run `skillgit init` in a clone")
    listed = repo.git("ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", "*SKILL.md").out
    plan = scaffold.plan(
        root,
        name=name,
        document=document,
        env=env,
        into=(repo.head_branch() or "main").removeprefix(HEADS),
        documents=sorted(part.decode() for part in listed.split(b"\0") if part),
    )
    scaffold.write(root, plan.files)
    if as_json:
        print_json({"written": list(plan.files), "notes": list(plan.notes)})
        return
    for path in plan.files:
        print(f"wrote {path}")
    for note in plan.notes:
        print(note)
    if not plan.files and not plan.notes:
        print("nothing is missing")
    else:
        print("next: replace the example tasks with your own, commit, and run `skillgit doctor`")
