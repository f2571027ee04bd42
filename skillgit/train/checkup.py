"""`skillgit doctor`: what is wrong with git, configuration, environments, models and refs, and the mend."""

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
from skillgit.train.archive.refusals import refuse_checked_out
from skillgit.train.project import Project
from skillgit.train.repair import gitsettings
from skillgit.train.repair.findings import Finding
from skillgit.train.repair.mending import examine_skill
from skillgit.train.repair.notes import strange_lines
from skillgit.train.start import base_of


@dataclass(slots=True)
class Checkup:
    """A folder's repository and project, opened once as far as they can be. A context manager that closes them.

    Args:
        repo: None where there is none. project: None where its configuration is wrong.
        problem: why one of them is None.
    """

    repo: Repository | None
    project: Project | None
    problem: SkillgitError | None

    @classmethod
    def open(cls, start: Path) -> Checkup:
        """Open what is there; nothing is raised for what is wrong."""
        try:
            project = Project.open(start)
            return cls(project.repo, project, None)
        except SkillgitError as error:
            try:
                return cls(Repository.open(start), None, error)
            except SkillgitError as none:
                return cls(None, None, none)

    def __enter__(self) -> Checkup:
        return self

    def __exit__(self, *_: object) -> None:
        if self.project is not None:
            self.project.close()
        if self.repo is not None:
            self.repo.close()

    def skills(self, name: str | None = None) -> list[str]:
        """The skills to look at: one, or all that are configured.

        Raises:
            ConfigError: there is no such skill.
        """
        if self.project is None:
            return []
        if name is not None:
            self.project.config.skill(name)
        return sorted(self.project.config.skills) if name is None else [name]

    def examine(self, name: str | None = None, *, repair: bool = False) -> Iterator[Finding]:
        """Everything that can be looked at without a model call, in the order in which a run would meet it.

        Args:
            name: only this skill.
            repair: mend what can be mended of the skills' refs.
        """
        if self.repo is None:
            yield _wrong("repository", self.problem)
            return
        repo = self.repo
        yield _check("repository", lambda: _repository(repo))
        yield _check("identity", repo.identity)
        yield _check("refs", lambda: _refs(repo))
        yield from gitsettings.look(repo)
        yield from strange_lines(repo)
        if self.project is None:
            yield _wrong("configuration", self.problem)
            return
        yield Finding("configuration", _configuration(self.project))
        for skill in self.skills(name):
            yield _check(f"{skill}: document", partial(_document, self.project, skill))
            yield _check(f"{skill}: environment", partial(_environment, self.project, skill))
            document = self.project.config.skill(skill).document
            yield from examine_skill(repo, skill, document, repair=repair)
            yield _check(f"{skill}: branch", partial(_branch, self.project, skill))


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
            found.append(_wrong(what, error))
    return found


def _check(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, look())
    except SkillgitError as error:
        return _wrong(what, error)


def _wrong(what: str, error: SkillgitError | None) -> Finding:
    return Finding(what, "", str(error), error.exit_code if error is not None else 0)


def _repository(repo: Repository) -> str:
    kind = "bare" if repo.bare else "with a work tree"
    return f"git {repo.git('--version').out.decode().split()[-1]}, {repo.object_format}, {kind}"


def _refs(repo: Repository) -> str:
    return f"{len(repo.list_refs('refs/skillgit/'))} skillgit refs"


def _configuration(project: Project) -> str:
    skills = sorted(project.config.skills)
    return f"{len(skills)} skill{'' if len(skills) == 1 else 's'}: {', '.join(skills)}"


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
    refuse_checked_out(project.repo, SkillRefs(name).branch)
    last = history.latest(project.repo, name)
    if last is None:
        return "not trained yet"
    return f"run {last.info.run}, step {last.state.step}, {last.state.status}"
