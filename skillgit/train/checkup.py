"""`skillgit doctor`: what is wrong with git, configuration, environments and models, and the mend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from skillgit.errors import SkillgitError
from skillgit.models.base import Request, Turn
from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive import documents, history
from skillgit.train.archive.refusals import refuse_blocked, refuse_checked_out
from skillgit.train.project import Project
from skillgit.train.start import base_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `problem` is None where all is well; `exit_code` is what the problem would end a run with."""

    what: str
    detail: str
    problem: str | None = None
    exit_code: int = 0


def _check(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, look())
    except SkillgitError as error:
        return Finding(what, "", str(error), error.exit_code)


def examine(start: Path) -> Iterator[Finding]:
    """Everything that can be looked at without a model call, in the order in which a run would meet it."""
    repository = _check("repository", lambda: _repository(Repository.open(start)))
    yield repository
    if repository.problem is not None:
        return
    repo = Repository.open(start)
    yield _check("identity", repo.identity)
    yield _check("refs", lambda: _refs(repo))
    configuration = _check("configuration", lambda: _configuration(start))
    yield configuration
    if configuration.problem is not None:
        return
    project = Project.open(start)
    try:
        for name in sorted(project.config.skills):
            yield _check(f"{name}: document", partial(_document, project, name))
            yield _check(f"{name}: environment", partial(_environment, project, name))
            yield _check(f"{name}: branch", partial(_branch, project, name))
    finally:
        project.close()


async def examine_models(project: Project, name: str, say: Callable[[str], None]) -> list[Finding]:
    """One short call to each model of a skill, so that a wrong key or a dead endpoint shows before a run."""
    found: list[Finding] = []
    for role in ("target", "optimizer"):
        what = f"{name}: {role}"
        try:
            model = project.model(name, role, say=say, yes=True)
            try:
                reply = await model.complete(Request("", (Turn("user", "Reply with the word ready."),), max_tokens=16))
            finally:
                await model.close()
            found.append(Finding(what, f"{model.name} answered ({reply.usage.tokens} tokens)"))
        except SkillgitError as error:
            found.append(Finding(what, "", str(error), error.exit_code))
    return found


def _repository(repo: Repository) -> str:
    kind = "bare" if repo.bare else "with a work tree"
    return f"git {repo.git('--version').out.decode().split()[-1]}, {repo.object_format}, {kind}"


def _refs(repo: Repository) -> str:
    return f"{len(repo.list_refs('refs/skillgit/'))} skillgit refs"


def _configuration(start: Path) -> str:
    project = Project.open(start)
    try:
        skills = sorted(project.config.skills)
        return f"{len(skills)} skill{'' if len(skills) == 1 else 's'}: {', '.join(skills)}"
    finally:
        project.close()


def _document(project: Project, name: str) -> str:
    settings = project.config.skill(name)
    base = base_of(project.repo, settings)
    placed = documents.read(project.repo, base, settings.document)
    return f"{settings.document}, {len(placed.text)} characters, blob {placed.blob[:12]}"


def _environment(project: Project, name: str) -> str:
    environment = project.environment(name)
    sizes = ", ".join(f"{split} {len(environment.tasks(split))}" for split in ("train", "val", "test"))
    return f"{project.config.skill(name).env}: {sizes}"


def _branch(project: Project, name: str) -> str:
    refs = SkillRefs(name)
    refuse_checked_out(project.repo, refs.branch)
    refuse_blocked(project.repo, refs)
    last = history.latest(project.repo, name)
    if last is None:
        return "not trained yet"
    return f"run {last.info.run}, step {last.state.step}, {last.state.status}"
