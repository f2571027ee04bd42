"""What training writes passes every hook: no score, journal, note or transcript of ours is taken for a fault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import repos, training
from support.training import DOCUMENT, SKILL, Yard

from skillgit.store.notes import add_note
from skillgit.store.repository import Repository
from skillgit.train.hooks.commit_message import problems
from skillgit.train.hooks.outgoing import parse
from skillgit.train.hooks.pre_push import check_push


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    repos.plain_environment(monkeypatch)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with training.trained_once(tmp_path_factory.mktemp("trained") / "r", training.mixed(), ()) as made:
        repo = Repository.open(made.root)
        add_note(repo, made.git("rev-parse", f"{training.BRANCH}:{DOCUMENT}"), {"split": "test", "score": "3/4"})
        repo.close()
        yield made


def test_every_commit_s_trailers_are_well_formed_and_true(trained: Yard) -> None:
    refs = [*trained.refs("refs/heads/skill"), *trained.refs("refs/skillgit/rejected")]
    commits = trained.git("rev-list", *refs, "--not", "main").splitlines()
    assert len(commits) > 4
    for commit in commits:
        message = trained.git("log", "-1", "--format=%B", commit) + "\n"
        assert problems(message, SKILL, [trained.git("rev-parse", f"{commit}:{DOCUMENT}")]) == []
        assert "Skill-Run" in message


def test_all_refs_may_go_out(trained: Yard) -> None:
    lines = [f"{ref} {oid} {ref} {'0' * 40}" for ref, oid in trained.refs().items()]
    assert {line.split("/")[2] for line in lines} >= {"runs", "rejected", "best", "evidence", "skill"}
    assert any(line.startswith("refs/notes/skillgit ") for line in lines)
    assert check_push(parse(lines), "origin", trained.root, {"SKILLGIT_PUSH_EVIDENCE": "1"}) == []
    (reason,) = check_push(parse(lines), "origin", trained.root, {})
    assert reason.message == "transcripts of a run would go out"
