"""`skillgit demo`: a real training in a fresh repository, and the history that it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillgit.cli.output import colour, is_terminal, say

if TYPE_CHECKING:
    from skillgit.models.base import Model
    from skillgit.store.repository import Repository
    from skillgit.train.loop import Outcome
    from skillgit.train.project import Project
    from skillgit.train.scoring.evaluate import Evaluation
    from skillgit.train.session import Session


@click.command("demo")
@click.argument("folder", metavar="[DIR]", required=False, default="skillgit-demo")
@click.option("--model", default="local/qwen2.5-coder-0.5b", show_default=True, help="Target and optimizer.")
@click.option("--skill", type=click.Choice(["opscli", "houseformat"]), default="opscli", help="What is trained.")
@click.option("--split-seed", type=int, help="Train on fresh splits, generated with this seed.")
@click.option("--seed", type=int, help="The training's own seed.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
def command(folder: str, model: str, skill: str, split_seed: int | None, seed: int | None, yes: bool) -> None:
    """Train a small skill in a fresh repository DIR and show its history.

    The skill is for an invented command line that no model can know. The embedded model is target and optimizer.
    """
    import time
    from pathlib import Path

    from skillgit.cli import opened
    from skillgit.cli.progress import points
    from skillgit.train.demo import BASE, check_folder, create

    started = time.monotonic()
    path = Path(folder)
    check_folder(path)
    model, ready = _open(model, yes)
    try:
        repo = create(path, model=model, split_seed=split_seed, skill=skill)
        say("about 420 calls of a small model: two to five minutes, as fast as the machine is")
        say(f"a fresh repository in {path}: `skillgit -C {path} status` shows where its skill stands")
        with opened.project([(skill, "train.seed", str(seed))] if seed is not None else (), start=path) as project:
            before, outcome, after = opened.run(opened.with_session(project, skill, _train, optimizer=True, yes=yes))
            merged = _merge(project, skill, BASE)
    finally:
        opened.run(ready.close())
    _history(repo, skill)
    _heading("scores")
    print(f"val   {points(outcome.before)} -> {points(outcome.after)}")
    print(f"test  {points(before.hard)} -> {points(after.hard)}  ({after.tasks} tasks that training never saw)")
    print(f"best_skill.md  {path / merged}")
    print(f"took {time.monotonic() - started:.0f} s; look on with `git -C {path} log -p skill/{skill}`")


def _open(name: str, yes: bool) -> tuple[str, Model]:
    """The model, opened before a folder is made: a wrong name, a missing key or weights that cannot be had leave none.

    Returns: its name as it may stand in the new repository, and the model, which keeps loaded weights in memory.
    """
    from pathlib import Path

    from skillgit import strictyaml
    from skillgit.config import Limits, ModelSettings
    from skillgit.models.registry import open_model

    chosen = strictyaml.validate(ModelSettings, name, "--model", None)
    provider, _, rest = chosen.model.partition("/")
    if provider == "local" and rest.lower().endswith(".gguf"):
        name = f"local/{Path(rest).expanduser().absolute()}"
        chosen = ModelSettings(model=name)
    return name, open_model(chosen, Limits(), yes=yes, say=say)


async def _train(session: Session) -> tuple[Evaluation, Outcome, Evaluation]:
    """Test before, the training, test after."""
    from skillgit.store.locks import SkillLock
    from skillgit.train.loop import train
    from skillgit.train.scoring.evaluate import evaluate, remember
    from skillgit.train.start import base_of

    before = await evaluate(session, base_of(session.repo, session.settings), "test")
    remember(session, before)
    with SkillLock.acquire(session.repo, session.name, "demo") as lock:
        outcome = await train(session, lock)
    after = await evaluate(session, outcome.best_commit, "test")
    remember(session, after)
    return before, outcome, after


def _merge(project: Project, skill: str, base: str) -> str:
    """Merge into the base branch; returns the path of best_skill.md."""
    from skillgit.cli import opened
    from skillgit.cli.merge import sessions
    from skillgit.store.locks import SkillLock
    from skillgit.train.merging.into import merge

    ready = sessions(project, skill)
    with SkillLock.acquire(project.repo, skill, "demo") as lock:
        done = opened.run(merge(project.repo, skill, project.config.skill(skill), base, ready, lock=lock))
    return done.best_file


def _history(repo: Repository, skill: str) -> None:
    """What plain git shows of the training."""
    score = "%(trailers:key=Skill-Score,valueonly,separator=%x2C)"
    branch = f"skill/{skill}"
    _heading(f"git log {branch}")
    _show(repo, "log", f"--format=%h  %<(10){score}%s", branch, "--not", f"{_first(repo)}")
    _heading("rejected candidates, each a commit that stays reachable")
    _show(repo, "for-each-ref", "--format=%(objectname:short)  %(refname)", f"refs/skillgit/rejected/{skill}/")
    _heading("epochs and releases")
    _show(repo, "for-each-ref", "--format=%(objectname:short)  %(refname:short)", f"refs/tags/skill/{skill}/")
    _heading("the base branch after the merge")
    _show(repo, "log", "--graph", "--format=%h %s", "-4", "main")


def _first(repo: Repository) -> str:
    return repo.git("rev-list", "--max-parents=0", "main").out.decode().split()[0]


def _show(repo: Repository, *args: str) -> None:
    text = repo.git("--no-pager", *args).out.decode(errors="replace").rstrip("\n")
    print(text or "(none)")


def _heading(text: str) -> None:
    import sys

    print(f"\n{colour(text, 'bold', sys.stdout) if is_terminal(sys.stdout) else f'== {text}'}")
