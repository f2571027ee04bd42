"""Changes by hand on the screen: one JSON document on stdout, one clear line with a mend that works when typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import cli, training
from support.carrying import Hand
from support.training import BRANCH, DOCUMENT, SKILL, Yard


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with training.trained_once(tmp_path_factory.mktemp("once") / "repo", training.mixed(), ()) as made:
        yield made


@pytest.fixture
def hand(once: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hand:
    return Hand.on(once, tmp_path / "repo", monkeypatch)


CALLS = (
    ("revert", SKILL, "2.1", "--dry-run"),
    ("revert", SKILL, "2.1", "--no-gate"),
    ("revert", SKILL, "2.3"),
    ("rollback", SKILL, "--to", "main", "--dry-run"),
    ("rollback", SKILL, "--to", "main"),
    ("cherry-pick", SKILL, f"{BRANCH}~2"),
    ("rejected", "retry", SKILL, "3"),
    ("bisect", SKILL, "--task", "val-000"),
    ("bisect", SKILL, "--task", "train-000", "--no-measure"),
    ("attribute", SKILL, "2.3"),
    ("attribute", SKILL, "--delete"),
)


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_json_is_one_document_on_stdout_and_nothing_else(hand: Hand, words: tuple[str, ...]) -> None:
    done = cli.call(hand.root, *words, "--json")
    assert done.code in (0, 2)
    if done.code == 0 or done.out:
        assert isinstance(json.loads(done.out), dict)
    if done.code:
        assert done.last.startswith("skillgit: error: ")


def test_a_rejected_change_is_json_and_an_error(hand: Hand) -> None:
    done = hand.call("revert", SKILL, "2.3", "--json", code=2)
    found = json.loads(done.out)
    assert (found["decision"], found["kind"], found["skill"]) == ("reject", "revert", SKILL)
    assert found["commits"] == hand.last.commits


def test_the_mend_of_a_rejected_revert_works_as_it_is_said(hand: Hand) -> None:
    assert "--no-gate" in hand.call("revert", SKILL, "2.3", code=2).last
    hand.call("revert", SKILL, "2.3", "--no-gate")


def test_the_mend_for_a_revert_in_the_middle_brings_its_edit_back(hand: Hand) -> None:
    edit = hand.edits()[2]
    hand.call("revert", SKILL, "4", "2.3", "--no-gate")
    first = hand.last.commits[0]
    done = hand.call("revert", SKILL, first, "--no-gate", code=2)
    assert "cannot be taken out alone" in done.last
    assert hand.edits()[4].commit[:12] in done.last
    hand.call("cherry-pick", SKILL, edit.commit)


def test_scores_are_shown_as_points(hand: Hand) -> None:
    done = hand.call("rollback", SKILL, "--to", "main")
    assert "forced, val 0.0%" in done.out
    one = hand.call("attribute", SKILL).out.splitlines()
    assert one == [f"the document of {SKILL} has none of these edits"]
    again = hand.call("rollback", SKILL, "--to", hand.steps[4].commits[-1])
    assert "forced, val 25.0%" in again.out
    (line, end) = hand.call("attribute", SKILL, "2.3", "--full").out.splitlines()
    assert "carries     25.0% -> 12.5% without it, falls: val-007, val-008" in line
    assert end == "each of them carries something"
    (line, end) = hand.call("attribute", SKILL, "2.1").out.splitlines()
    assert "nothing     25.0% -> 25.0% without it" in line
    assert end == "1 edit carries nothing; --delete takes it out, if the score does not fall without it"


def test_text_of_a_document_moves_no_cursor(hand: Hand) -> None:
    hand.git("branch", "idea", "main")
    text = hand.text("main").replace("Answer with the code.", "Reply \x1b[31mred\x1b[0m.")
    commit = hand.commit_on("idea", {DOCUMENT: text}, "A \x1b[2J subject")
    hand.commit_on("skill/topics", {DOCUMENT: hand.text().replace("Answer with the code.", "Tell the code.")})
    done = hand.call("cherry-pick", SKILL, commit, code=2)
    assert "\x1b" not in done.out + done.err
    assert "\\x1b[31mred" in done.err


def test_a_task_is_named_with_any_characters(hand: Hand) -> None:
    name = 'it\'s "odd" -- $x; 中文'
    hand.world.tasks["val"][0]["id"] = name
    hand.world.write_env(hand.root / "envs/topics")
    found = hand.json("bisect", SKILL, "--task", name)
    assert found["task"] == name
