"""An import as a whole: once, never over a history, and trained on from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from support import repos
from support.skillopt import STARTED, Run
from support.training import BRANCH, DOCUMENT, SKILL, Yard, mixed, text_at, trailer
from support.world import Kinds, TopicWorld

from skillgit.errors import ConfigError, DocumentError, RefusedError, RepositoryError
from skillgit.store.locks import SkillLock
from skillgit.store.refs import run_time
from skillgit.store.repository import Repository
from skillgit.train.events import Event
from skillgit.train.imports.bringing import Brought, bring, settings_of
from skillgit.train.project import Project

HEAD = "---\nname: topics\ndescription: y\n---\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repos.make_repo(tmp_path / "r", {DOCUMENT: f"{HEAD}# Ours\n"})


def bring_in(root: Path, folder: Run, name: str = SKILL, *, dry_run: bool = False) -> Brought:
    def tell(_: Event) -> None:
        pass

    settings = settings_of(DOCUMENT)
    with closing(Repository.open(root)) as repo, SkillLock.acquire(repo, name, "import") as lock:
        return bring(repo, lock, name, settings, folder.root, tell=tell, dry_run=dry_run)


def test_twice_is_once(root: Path, folder: Run, tmp_path: Path) -> None:
    first = bring_in(root, folder)
    before = repos.refs(root)
    assert run_time(first.run) == STARTED
    moved = Run(tmp_path / "elsewhere")  # another place, and other times
    for path in moved.root.rglob("*"):
        path.touch()
    for again in (bring_in(root, folder), bring_in(root, moved), bring_in(root, folder, dry_run=True)):
        assert (again.here, again.run, again.tip) == (True, first.run, first.tip)
    assert repos.refs(root) == before


def test_a_dry_run_writes_nothing(root: Path, folder: Run) -> None:
    def seen() -> object:
        return repos.refs(root), repos.git(root, "count-objects", "-v"), repos.git(root, "status", "--porcelain")

    before = seen()
    done = bring_in(root, folder, dry_run=True)
    assert seen() == before
    assert (done.tip, done.best, done.best_score, done.best_step) == (None, None, Fraction(3, 4), 6)
    assert (done.steps, done.accepted, done.rejected, done.epochs) == (6, 4, 3, 3)
    real = bring_in(root, folder)
    assert (real.run, real.digest) == (done.run, done.digest)


def test_the_same_run_can_begin_another_skill(root: Path, folder: Run) -> None:
    first, second = bring_in(root, folder), bring_in(root, folder, "other")
    assert not second.here
    assert (first.run, first.digest) == (second.run, second.digest)
    assert text_at(root, "refs/heads/skill/other") == text_at(root, BRANCH)
    assert trailer(root, "refs/heads/skill/other", "Skill-Name") == "other"


@pytest.mark.parametrize("ref", [BRANCH, f"refs/skillgit/best/{SKILL}", f"refs/remotes/origin/skill/{SKILL}"])
def test_a_skill_that_has_a_history_is_refused(root: Path, folder: Run, ref: str) -> None:
    repos.git(root, "update-ref", ref, "main")
    before = repos.refs(root)
    mend = "an import begins a skill's history: name another skill with --skill NAME"
    with pytest.raises(RefusedError) as caught:
        bring_in(root, folder)
    assert str(caught.value) == f"{ref} is there already; {mend}"
    assert repos.refs(root) == before


def test_a_run_that_went_on_since_is_refused(root: Path, folder: Run, tmp_path: Path) -> None:
    folder.stop_after(3)
    assert bring_in(root, folder).steps == 3
    with pytest.raises(RefusedError, match=r"^refs/heads/skill/topics is there already; "):
        bring_in(root, Run(tmp_path / "whole"))


def test_runs_without_a_branch_are_a_history_too(root: Path, folder: Run, tmp_path: Path) -> None:
    bring_in(root, folder)
    for ref in (BRANCH, f"refs/skillgit/best/{SKILL}"):
        repos.git(root, "update-ref", "-d", ref)
    other = Run(tmp_path / "other")
    other.stop_after(2)
    with pytest.raises(RefusedError, match=r"^refs/skillgit/runs/topics is there already; "):
        bring_in(root, other)


def test_a_branch_that_is_checked_out_is_refused(root: Path, folder: Run) -> None:
    repos.git(root, "symbolic-ref", "HEAD", BRANCH)
    repos.git(root, "config", "user.name", "Test Person")
    with pytest.raises((RefusedError, RepositoryError)):
        bring_in(root, folder)
    assert BRANCH not in repos.refs(root)


def test_the_document_has_to_be_at_the_base(tmp_path: Path, folder: Run) -> None:
    root = repos.make_repo(tmp_path / "r", {"README.md": "x\n"})
    with pytest.raises(DocumentError, match=rf"^{DOCUMENT} at [0-9a-f]{{12}}: there is no such file; commit "):
        bring_in(root, folder)


def test_a_repository_without_an_identity(tmp_path: Path, folder: Run) -> None:
    root = repos.make_repo(tmp_path / "r", {DOCUMENT: f"{HEAD}# Ours\n"})
    repos.git(root, "config", "--unset", "user.email")
    with pytest.raises(RepositoryError, match="git does not know who you are"):
        bring_in(root, folder)


def test_a_document_outside_of_the_repository() -> None:
    with pytest.raises(ConfigError, match=r"^--document: document: .*does not lie inside the repository"):
        settings_of("../SKILL.md")


def test_a_bare_repository(root: Path, folder: Run, tmp_path: Path) -> None:
    repos.git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    repos.identify(tmp_path / "bare.git")
    assert bring_in(tmp_path / "bare.git", folder).run == bring_in(root, folder).run
    assert text_at(tmp_path / "bare.git", BRANCH) == text_at(root, BRANCH)


def into(made: Yard, folder: Run) -> Brought:
    """Import under the yard's own configuration."""
    project = Project.open(made.root)
    with closing(project.repo), SkillLock.acquire(project.repo, SKILL, "import") as lock:
        settings = project.config.skill(SKILL)
        return bring(project.repo, lock, SKILL, settings, folder.root, tell=lambda _: None, dry_run=False)


async def test_training_goes_on_from_the_imported_best(yard: Callable[..., Yard], folder: Run) -> None:
    """The tip has guidance that SkillOpt never measured, so the best document is brought back first."""
    folder.stop_after(4)
    made = yard(mixed())
    done = into(made, folder)
    assert done.best_step == 2
    assert made.text() != made.text(f"refs/skillgit/best/{SKILL}")
    outcome = await made.train("train.num_epochs=1")
    first = made.steps[0]
    assert (first.kind, outcome.finished) == ("baseline", True)
    assert outcome.run > done.run
    back = made.git("rev-list", "--first-parent", "--reverse", f"{done.tip}..{BRANCH}").splitlines()[0]
    assert trailer(made.root, back, "Skill-Kind") == "revert"
    assert (
        first.document
        == made.git("rev-parse", f"{back}:{DOCUMENT}")
        == made.git("rev-parse", f"{done.best}:{DOCUMENT}")
    )
    repos.fsck(made.root)


async def test_training_measures_anew_what_was_imported(yard: Callable[..., Yard], folder: Run) -> None:
    """SkillOpt scored the best document 3/4; none of its codes is one of this world."""
    made = yard(TopicWorld(8, 1, kinds=Kinds(100, 0)))
    done = into(made, folder)
    assert done.best_score == Fraction(3, 4)
    outcome = await made.train("train.num_epochs=1")
    assert outcome.before == 0
    assert (made.steps[0].best, made.steps[0].document) == ("0/1", made.git("rev-parse", f"{done.best}:{DOCUMENT}"))
    assert len(made.steps) > 1
    assert outcome.accepted > 0
    scored = [
        made.git("log", "-1", "--format=%(trailers:key=Skill-Val,valueonly)", rev) for rev in (BRANCH, f"{done.tip}")
    ]
    assert scored[0].startswith("sha256:")
    assert scored[1].startswith("skillopt:")
    assert made.git("merge-base", "--is-ancestor", str(done.tip), BRANCH) == ""
    assert made.text().startswith("---\nname: tickets\n")
