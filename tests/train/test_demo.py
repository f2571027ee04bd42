"""The demo's repository: made anew from a built-in environment, ready to train. No model is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import repos

from skillgit.errors import ConfigError, RefusedError
from skillgit.train import demo
from skillgit.train.project import Project


@pytest.mark.parametrize("skill", ["opscli", "houseformat"])
def test_a_fresh_repository(tmp_path: Path, skill: str) -> None:
    folder = tmp_path / "some" / "place"
    demo.create(folder, model="openai/sim", skill=skill)
    assert repos.git(folder, "status", "--porcelain") == ""
    assert (
        repos.git(folder, "log", "--format=%s", "main") == f"Add the {skill} skill, its environment and skillgit.yaml"
    )
    project = Project.open(folder)
    settings = project.config.skill(skill)
    assert project.config.model(skill, "target").model == "openai/sim"
    assert (settings.train.num_epochs, settings.merge.into) == (2, "main")
    environment = project.environment(skill)
    assert min(len(environment.tasks("train")), len(environment.tasks("val"))) >= 20
    assert not project.has_uncommitted(settings.document)
    assert repos.git(folder, "ls-tree", "-r", "--name-only", "HEAD", f"envs/{skill}").splitlines()


def test_without_an_identity_there_is_one_for_the_demo_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.useConfigOnly")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    demo.create(tmp_path / "demo", model="openai/sim")
    assert repos.git(tmp_path / "demo", "log", "-1", "--format=%an <%ae>") == "skillgit demo <demo@example.invalid>"


def test_a_persons_own_identity_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{key}_NAME", "A Person")
        monkeypatch.setenv(f"{key}_EMAIL", "a@example.com")
    demo.create(tmp_path / "demo", model="openai/sim")
    assert repos.git(tmp_path / "demo", "log", "-1", "--format=%an") == "A Person"


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine\n")
    with pytest.raises(RefusedError, match="not empty"):
        demo.create(tmp_path, model="openai/sim")
    with pytest.raises(RefusedError, match=r"mine\.txt"):
        demo.create(tmp_path / "mine.txt", model="openai/sim")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_fresh_splits_by_the_generator(tmp_path: Path) -> None:
    tasks = {}
    for place, seed in (("plain", None), ("one", 1001), ("same", 1001), ("two", 1002)):
        demo.create(tmp_path / place, model="openai/sim", split_seed=seed)
        tasks[place] = (tmp_path / place / "envs/opscli/train.jsonl").read_text()
        Project.open(tmp_path / place).environment("opscli")
    assert tasks["one"] == tasks["same"]
    assert len(set(tasks.values())) == 3


def test_an_environment_without_a_generator(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="builtin/nothing has no generator"):
        demo.generated("nothing", 1)
