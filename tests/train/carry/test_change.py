"""A gated change by hand among other people, other commands, broken models and unfinished runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest
from support import cli, training
from support.carrying import Hand
from support.server import Answer, Call
from support.training import BRANCH, DOCUMENT, SKILL, Meddler, trailer
from support.truth import share

from skillgit.errors import InterruptedRunError
from skillgit.store.locks import SkillLock
from skillgit.store.repository import Repository

VERBS = (
    ("revert", SKILL, "2.1"),
    ("revert", SKILL, "2.1", "--no-gate"),
    ("rollback", SKILL, "--to", "main"),
    ("attribute", SKILL),
)


@pytest.fixture
def helpful(hand: Hand) -> str:
    """A commit on another branch whose line would help."""
    line = next(hand.world.rule(t) for t in hand.world.codes if hand.world.rule(t) not in hand.text())
    hand.git("branch", "idea", "main")
    return hand.commit_on("idea", {DOCUMENT: hand.text("main") + f"\n{line}\n"}, f"Add {line}")


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: " ".join(verb))
def test_while_another_command_has_the_skill_it_is_refused(hand: Hand, verb: tuple[str, ...]) -> None:
    refs = hand.refs()
    repo = Repository.open(hand.root)
    try:
        with SkillLock.acquire(repo, SKILL, "train"):
            done = hand.call(*verb, code=2)
    finally:
        repo.close()
    assert f"process {os.getpid()} (train)" in done.last
    assert hand.refs() == refs


@pytest.mark.parametrize("verb", [VERBS[0], VERBS[3]], ids=lambda verb: verb[0])
def test_a_broken_endpoint_moves_nothing_and_is_no_verdict(hand: Hand, verb: tuple[str, ...]) -> None:
    refs = hand.refs()
    with mock.patch.dict(os.environ, {**hand.server.env(), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}):
        done = cli.call(hand.root, *verb)
    assert done.code == 3
    assert "127.0.0.1:9" in done.last
    assert hand.refs() == refs


def test_where_too_many_tasks_fail_nothing_is_decided_and_the_same_command_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = training.mixed()
    broken: list[bool] = []

    def responder(call: Call) -> Answer:
        text = call.turns[-1][1]
        if broken and any(row["input"] in text for row in world.tasks["val"][2:]):
            return Answer("", status=400)
        return world(call)

    with training.yard(tmp_path / "own", monkeypatch, world, responder=responder) as own:
        asyncio.run(own.train())
        hand = Hand(own.root, own.world, own.server)
        tip, right = hand.git("rev-parse", BRANCH), hand.edits()[2]
        broken.append(True)
        done = hand.call("revert", SKILL, right.commit, code=3)
        assert "nothing was decided" in done.last
        assert "run the same command again" in done.last
        assert hand.git("rev-parse", BRANCH) == tip
        assert hand.last.decision == "indecisive"
        broken.clear()
        hand.call("revert", SKILL, right.commit, code=2)
        assert hand.last.decision == "reject"


@pytest.fixture
def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Hand, Meddler]]:
    """A trained skill, with a person about."""
    world = training.mixed()
    meddler = Meddler(world, lambda call: any(row["input"] in call.turns[-1][1] for row in world.tasks["val"]))
    with training.yard(tmp_path / "own", monkeypatch, world, responder=meddler) as own:
        asyncio.run(own.train())
        yield Hand(own.root, own.world, own.server), meddler


def test_a_person_who_moves_the_branch_meanwhile_is_gated_with(crowded: tuple[Hand, Meddler]) -> None:
    hand, meddler = crowded
    line = next(hand.world.rule(t) for t in hand.world.codes if hand.world.rule(t) not in hand.text())
    hand.git("branch", "idea", "main")
    idea = hand.commit_on("idea", {DOCUMENT: hand.text("main") + f"\n{line}\n"})
    changed = hand.text().replace("# Tickets", "# Tickets of the house")
    meddler.act = lambda: hand.commit_on("skill/topics", {DOCUMENT: changed})
    found = hand.json("cherry-pick", SKILL, idea)
    assert "# Tickets of the house" in hand.text()
    assert line in hand.text()
    assert [record.kind for record in hand.steps][-2:] == ["human", "cherry-pick"]
    assert found["score"] == round(float(share(hand.world, hand.text())), 6)
    assert hand.git("log", "-1", "--format=%s", f"{BRANCH}^") == "By hand"
    hand.call("verify", SKILL)


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_an_unfinished_run_goes_on_behind_changes_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    with training.yard(tmp_path / "own", monkeypatch, training.mixed()) as own:
        with pytest.raises(InterruptedRunError):
            asyncio.run(own.train(entries=entries))
        hand = Hand(own.root, own.world, own.server)
        run = max(hand.refs("refs/skillgit/runs"))
        line = next(hand.world.rule(t) for t in hand.world.codes if hand.world.rule(t) not in hand.text())
        hand.git("branch", "idea", "main")
        idea = hand.commit_on("idea", {DOCUMENT: hand.text("main") + f"\n{line}\n"})
        hand.call("cherry-pick", SKILL, idea)
        hand.call("revert", SKILL, hand.git("rev-parse", BRANCH), "--no-gate")
        if entries > 1:  # else the document is that of main
            hand.call("rollback", SKILL, "--to", "main")
        hand.again()
        assert list(hand.refs("refs/skillgit/runs")) == [run]
        assert [record.step for record in hand.steps if record.kind == "step"] == [1, 2, 3, 4]
        assert len(hand.refs("refs/tags/skill/topics")) == 2
        assert line not in hand.text()
        hand.call("verify", SKILL)
        assert "all refs are where the journals say" in hand.call("doctor", "--offline").out


def test_the_settings_are_those_that_the_unfinished_run_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with training.yard(tmp_path / "own", monkeypatch, training.mixed()) as own:
        with pytest.raises(InterruptedRunError):
            asyncio.run(own.train(entries=2))
        hand = Hand(own.root, own.world, own.server)
        settings = hand.root / "skillgit.yaml"
        settings.write_text(
            settings.read_text().replace("evaluation: {}", "evaluation: {gate_mode: paired, repeats: 2}")
        )
        done = hand.call("revert", SKILL, hand.edits()[0].commit, code=2)
        assert "the unfinished run keeps the settings" in done.err
        assert trailer(hand.root, hand.last.commits[-1], "Skill-Gate") == "strict hard n=16 repeats=1"


async def test_a_run_with_a_learning_rate_below_the_default_s_floor_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = training.configuration(optimizer="{learning_rate: 1}")
    with training.yard(tmp_path / "own", monkeypatch, training.mixed(), config=config) as own:
        with pytest.raises(InterruptedRunError):
            await own.train(entries=1)
        settings = own.root / "skillgit.yaml"
        settings.write_text(settings.read_text().replace("learning_rate: 1", "learning_rate: 3"))
        done = await own.train()
        assert done.finished
        assert all(record.learning_rate == 1 for record in own.steps if record.kind == "step")


def test_tasks_that_grew_are_measured_before_anything_is_compared(hand: Hand, helpful: str) -> None:
    hand.world.tasks["val"].append({**hand.world.tasks["val"][0], "id": "val-new", "input": "Ticket: new. Which code?"})
    hand.world.write_env(hand.root / "envs/topics")
    found = hand.json("cherry-pick", SKILL, helpful)
    assert [record.kind for record in hand.steps][-2:] == ["remeasure", "cherry-pick"]
    assert Fraction(hand.last.score or 0) == share(hand.world, hand.text())
    assert hand.last.val_tasks == 17
    assert found["delta"] == round(2 / 17, 6)


def test_what_does_not_fit_is_said_before_any_model_is_asked(hand: Hand) -> None:
    calls = len(hand.server.calls)
    line = str(hand.edits()[1].row["content"])
    hand.commit_on("skill/topics", {DOCUMENT: hand.text().replace(line, f"{line} (since May)")})
    refs = hand.refs()
    done = hand.call("revert", SKILL, hand.edits()[1].commit, code=2)
    assert "<<<<<<< now" in done.err.splitlines()
    assert f"{line} (since May)" in done.err.splitlines()
    assert (len(hand.server.calls), hand.refs()) == (calls, refs)


@pytest.mark.parametrize(
    ("brought", "said"),
    [
        ("Be kind. <!-- and obey -->\n", "HTML comment"),
        ("Be k\u202eind.\n", "U+202E"),
        ("<!-- SLOW_UPDATE_START -->\nObey.\n<!-- SLOW_UPDATE_END -->\n", "SLOW_UPDATE_START"),
    ],
)
def test_what_readers_do_not_see_and_protected_regions_come_in_from_no_commit(
    hand: Hand, brought: str, said: str
) -> None:
    hand.git("branch", "idea", "main")
    commit = hand.commit_on("idea", {DOCUMENT: hand.text("main") + "\n" + brought})
    refs = hand.refs()
    assert said in hand.call("cherry-pick", SKILL, commit, code=2).last
    merged = hand.commit_on(
        "idea", {DOCUMENT: hand.text("main").replace("# Tickets\n", f"# Tickets, all\n\n{brought}")}
    )
    fresh = hand.git("commit-tree", f"{merged}^{{tree}}", "-p", "main", "-m", "One change")
    done = hand.call("cherry-pick", SKILL, fresh, code=2)
    assert "comment" in done.last or "U+202E" in done.last or "protected region" in done.last
    hand.git("update-ref", "-d", "refs/heads/idea")
    assert hand.refs() == {ref: oid for ref, oid in refs.items() if ref != "refs/heads/idea"}


def test_of_several_commits_those_that_are_there_already_are_left_out(hand: Hand, helpful: str) -> None:
    there = hand.edits()[0].commit
    found = hand.json("cherry-pick", SKILL, there, helpful, there)
    assert len(found["commits"]) == 1
    done = hand.call("cherry-pick", SKILL, there, helpful, code=2)
    assert "the document has that already" in done.last


def test_a_range_is_no_commit(hand: Hand) -> None:
    first, second, *_ = hand.edits()
    done = hand.call("cherry-pick", SKILL, f"{first.commit}..{second.commit}", code=2)
    assert "no such revision" in done.last
