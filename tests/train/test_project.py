"""Opening a repository with its configuration: from any folder, with any kind of repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import repos, training
from support.training import BEST, BEST_REF, BRANCH, DOCUMENT, SKILL, Yard
from support.world import Kinds, TopicWorld

from skillgit.errors import ConfigError, ModelRefusedError, RepositoryError
from skillgit.train.project import Project

MakeYard = Callable[..., Yard]
CONFIG = training.configuration(train="{num_epochs: 1, batch_size: 8}")


@pytest.fixture
def small(yard: MakeYard) -> Yard:
    return yard(TopicWorld(4, 1, kinds=Kinds(100, 0)), config=CONFIG)


async def test_a_bare_repository(small: Yard, tmp_path: Path) -> None:
    """Configuration and environment come from its trees; nothing is left in the temporary folder."""
    bare = tmp_path / "bare.git"
    repos.git(tmp_path, "clone", "-q", "--bare", str(small.root), str(bare))
    repos.identify(bare)
    outcome = await small.train(start=bare)
    assert outcome.improved
    assert repos.refs(bare)[BRANCH] == outcome.best_commit
    repos.fsck(bare)
    project = Project.open(bare)
    assert project.root.is_dir()
    assert not project.has_uncommitted(DOCUMENT)
    project.close()
    assert not project.root.exists()


async def test_a_bare_repository_takes_the_environment_from_the_base(small: Yard, tmp_path: Path) -> None:
    small.git("checkout", "-q", "-b", "stale")
    repos.commit(small.root, {"envs/topics/val.jsonl": '{"id": "v", "input": "i", "answer": "a"}\n'}, "Fewer")
    bare = tmp_path / "bare.git"
    repos.git(tmp_path, "clone", "-q", "--bare", str(small.root), str(bare))
    assert repos.git(bare, "symbolic-ref", "HEAD") == "refs/heads/stale"
    project = Project.open(bare)
    try:
        assert len(project.environment(SKILL).tasks("val")) == 8
    finally:
        project.close()


@pytest.mark.parametrize("content", [None, "version: 7\n"])
def test_a_bare_repository_without_a_usable_configuration(tmp_path: Path, content: str | None) -> None:
    source = repos.make_repo(tmp_path / "source", {"a": "a\n", **({"skillgit.yaml": content} if content else {})})
    bare = tmp_path / "bare.git"
    repos.git(tmp_path, "clone", "-q", "--bare", str(source), str(bare))
    with pytest.raises(ConfigError, match=r"skillgit\.yaml"):
        Project.open(bare)


def test_an_empty_bare_repository(tmp_path: Path) -> None:
    bare = repos.make_repo(tmp_path / "bare.git", bare=True)
    with pytest.raises(ConfigError, match="HEAD has no commit"):
        Project.open(bare)


def test_a_tree_cannot_write_outside_of_the_copy(tmp_path: Path) -> None:
    bare = repos.make_repo(tmp_path / "bare.git", bare=True)
    blob = repos.git(bare, "hash-object", "-w", "--stdin", input="version: 1\nskills: {}\n")
    entries = f"100644 blob {blob}\tskillgit.yaml\n"
    inner = repos.git(bare, "mktree", input=entries)
    outer = repos.git(bare, "mktree", input=f"040000 tree {inner}\t..\n{entries}")
    commit = repos.git(bare, "commit-tree", outer, "-m", "x")
    repos.git(bare, "update-ref", "refs/heads/main", commit)
    project = Project.open(bare)
    try:
        assert not (project.root.parent / "skillgit.yaml").exists()
    finally:
        project.close()


async def test_a_linked_work_tree(small: Yard, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    small.git("worktree", "add", "-q", "-b", "side", str(linked))
    outcome = await small.train(start=linked)
    assert outcome.improved
    assert small.refs(BEST_REF)[BEST_REF] == outcome.best_commit
    assert (small.root / ".git/skillgit/calls.sqlite3").exists()
    assert repos.git(linked, "status", "--porcelain") == ""


async def test_a_subfolder_and_a_dirty_tree(small: Yard) -> None:
    """Neither index nor work tree is touched."""
    (small.root / DOCUMENT).write_text("dirty\n")
    (small.root / "new.txt").write_text("new\n")
    small.git("add", "new.txt")
    before = small.git("status", "--porcelain")
    index = (small.root / ".git/index").read_bytes()
    outcome = await small.train(start=small.root / "skills/topics")
    assert outcome.improved
    assert small.git("status", "--porcelain") == before
    assert (small.root / ".git/index").read_bytes() == index
    assert (small.root / DOCUMENT).read_text() == "dirty\n"
    assert not (small.root / BEST).exists()


def test_what_is_not_committed(small: Yard) -> None:
    project = Project.open(small.root / "skills")
    assert not project.has_uncommitted(DOCUMENT)
    (small.root / DOCUMENT).write_text("changed\n")
    assert project.has_uncommitted(DOCUMENT)
    small.git("add", DOCUMENT)
    assert project.has_uncommitted(DOCUMENT)
    assert not project.has_uncommitted("skillgit.yaml")


def test_an_unborn_branch_has_nothing_committed(tmp_path: Path) -> None:
    root = repos.make_repo(tmp_path / "r")
    (root / "skillgit.yaml").write_text(CONFIG)
    assert not Project.open(root).has_uncommitted(DOCUMENT)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is none"),
        (b"\xff\xfe", "not UTF-8"),
        (b"version: 1\nskills: {}\nlimit: {}\n", "limits"),
        (b"[]", "mapping"),
    ],
)
def test_a_configuration_that_is_none(tmp_path: Path, content: bytes | None, said: str) -> None:
    root = repos.make_repo(tmp_path / "r")
    if content is not None:
        (root / "skillgit.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"skillgit\.yaml") as caught:
        Project.open(root)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_no_matter(small: Yard) -> None:
    (small.root / "skillgit.yaml").write_bytes(b"\xef\xbb\xbf" + CONFIG.encode())
    assert list(Project.open(small.root).config.skills) == [SKILL]


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError):
        Project.open(tmp_path)


@pytest.mark.parametrize("name", ["gpt", "openai/", "/gpt", ""])
def test_an_override_that_is_no_model(small: Yard, name: str) -> None:
    with pytest.raises(ConfigError, match="--target"):
        Project.open(small.root).model(SKILL, "target", override=name, say=lambda _: None)


def test_roles_and_overrides(small: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.open(small.root, [(SKILL, "train.seed", "7")])
    assert project.config.skill(SKILL).train.seed == 7
    names = [project.model(SKILL, role, say=lambda _: None).name for role in ("target", "optimizer")]
    assert names == ["openai/sim", "anthropic/sim"]
    assert project.model(SKILL, "target", override="anthropic/x", say=lambda _: None).name == "anthropic/x"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelRefusedError, match="OPENAI_API_KEY"):
        project.model(SKILL, "target", say=lambda _: None)


async def test_an_environment_from_outside_is_refused(small: Yard) -> None:
    text = CONFIG.replace("env: envs/topics", "env: ../elsewhere")
    (small.root / "skillgit.yaml").write_text(text)
    with pytest.raises(ConfigError, match="inside the repository"):
        Project.open(small.root).environment(SKILL)
