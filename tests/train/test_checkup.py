"""`skillgit doctor`: each thing that can be wrong is one finding with its mend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import repos, training
from support.server import error
from support.training import DOCUMENT, SKILL, Yard
from support.world import TopicWorld

from skillgit.store.repository import Repository
from skillgit.train.checkup import Checkup, examine_models
from skillgit.train.project import Project
from skillgit.train.repair.findings import Finding

MakeYard = Callable[..., Yard]


def examine(start: Path) -> list[Finding]:
    with Checkup.open(start) as checkup:
        return list(checkup.examine())


def wrong(start: Path) -> dict[str, Finding]:
    return {finding.what: finding for finding in examine(start) if finding.problem is not None}


async def test_all_is_well(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1))
    found = {finding.what: finding.detail for finding in examine(here.root / "skills")}
    assert wrong(here.root) == {}
    assert found[f"{SKILL}: environment"] == "envs/topics: train 8, val 8, test 8"
    assert found[f"{SKILL}: branch"] == "not trained yet"
    assert found["identity"] == "Test Person <test@example.com>"
    assert found["configuration"] == "1 skill: topics"
    assert here.server.count == 0
    await here.train("train.num_epochs=1")
    found = {finding.what: finding.detail for finding in examine(here.root)}
    assert found[f"{SKILL}: branch"] == f"run {training.journal(here.root).info.run}, step 1, finished"


def test_no_repository(tmp_path: Path) -> None:
    findings = examine(tmp_path)
    assert [(finding.what, finding.exit_code) for finding in findings] == [("repository", 2)]


def test_each_problem_is_found(yard: MakeYard, monkeypatch: pytest.MonkeyPatch) -> None:
    here = yard(TopicWorld(4, 1))
    here.git("branch", "skill")
    assert "git branch -m skill skill-old" in str(wrong(here.root)[f"{SKILL}: names"].problem)
    here.git("branch", "-m", "skill", "other")
    here.git("branch", "skill/topics")
    here.git("checkout", "-q", "skill/topics")
    assert "checked out" in str(wrong(here.root)[f"{SKILL}: branch"].problem)
    here.git("checkout", "-q", "main")
    config = (here.root / "skillgit.yaml").read_text()
    (here.root / "skillgit.yaml").write_text(config.replace("{into: main}", "{into: trunk}"))
    assert str(wrong(here.root)[f"{SKILL}: document"].problem).startswith("merge.into: there is no branch trunk; ")
    (here.root / "skillgit.yaml").write_text(config)
    repos.commit(here.root, {DOCUMENT: None}, "Gone")
    assert "there is no such file" in str(wrong(here.root)[f"{SKILL}: document"].problem)
    (here.root / "envs/topics/val.jsonl").write_text("{\n")
    assert "val.jsonl:1" in str(wrong(here.root)[f"{SKILL}: environment"].problem)
    repos.commit(here.root, {DOCUMENT: "---\nname: [\n---\n"}, "Broken")
    assert DOCUMENT in str(wrong(here.root)[f"{SKILL}: document"].problem)
    here.git("config", "--unset", "user.name")
    here.git("config", "user.useConfigOnly", "true")
    assert "identity" in wrong(here.root)
    (here.root / "skillgit.yaml").write_text("version: 2\n")
    assert "skillgit.yaml" in str(wrong(here.root)["configuration"].problem)
    for finding in wrong(here.root).values():
        assert finding.exit_code == 2
        assert "\n" not in str(finding.problem)


async def test_models_are_asked_once_each(yard: MakeYard, monkeypatch: pytest.MonkeyPatch) -> None:
    here = yard(TopicWorld(4, 1))
    project = Project.open(here.root)
    found = await examine_models(project, SKILL, lambda _: None)
    assert [(finding.what, finding.problem) for finding in found] == [
        ("topics: target", None),
        ("topics: optimizer", None),
    ]
    assert here.server.count == 2
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    found = await examine_models(project, SKILL, lambda _: None)
    assert [finding.exit_code for finding in found] == [0, 3]
    assert "ANTHROPIC_API_KEY" in str(found[1].problem)


async def test_a_wrong_key_is_found(yard: MakeYard) -> None:
    here = yard(TopicWorld(4, 1), responder=lambda call: error(401, "no such key"))
    found = await examine_models(Project.open(here.root), SKILL, lambda _: None)
    assert all("401" in str(finding.problem) for finding in found)


async def test_repository_and_project_are_opened_once(yard: MakeYard, monkeypatch: pytest.MonkeyPatch) -> None:
    here, opened = yard(TopicWorld(4, 1)), list[str]()
    for kind in (Repository, Project):
        real = kind.open.__func__  # type: ignore[attr-defined]

        def count(cls: type, *args: object, real: Callable[..., object] = real, **more: object) -> object:
            opened.append(cls.__name__)
            return real(cls, *args, **more)

        monkeypatch.setattr(kind, "open", classmethod(count))
    assert len(examine(here.root)) == 9
    assert opened == ["Project", "Repository"]
