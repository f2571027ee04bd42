"""What can be checked of an edit: answers it states, and codes it makes up."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from support import environments

from skillgit.document import Edit
from skillgit.envs.contract import Attempt, Environment, Score
from skillgit.models.base import Usage
from skillgit.models.replies import parse_patch
from skillgit.train.propose.grounding import Evidence, doubting, evidence, invents, stated, weigh, words
from skillgit.train.propose.proposals import Proposal, weight
from skillgit.train.scoring.rollout import Rollout
from skillgit.train.scoring.scores import HARD

DOCUMENT = "# Rules\n\nAnswer with the code, such as A100.\n"


def environment(folder: Path, reveal: str = "answer") -> Environment:
    settings = f"description: Codes of machines.\nextract: whole\nscorer: exact\nreveal: {reveal}\n"
    return environments.load(environments.write_env(folder / "env", settings))


def rollout(ident: str, text: str, answer: str, hard: int, reply: str = "unknown") -> Rollout:
    task = environments.task(answer, id=ident, input=text)
    return Rollout(task, 0, Attempt(reply, reply, Score(Fraction(hard), Fraction(hard), "no")), None, Usage())


@pytest.fixture
def shown(tmp_path: Path) -> Evidence:
    attempts = [
        rollout("t-1", "The amber boiler is loud.", "K327", 0, "W999"),
        rollout("t-2", "The amber boiler is cold.", "K327", 0),
        rollout("t-3", "The birch gate is stuck.", "Q126", 0),
        rollout("t-4", "The jade lamp is out.", "V555", 1, "V555"),
    ]
    return evidence(attempts, DOCUMENT, environment(tmp_path), HARD)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("- amber boiler: K327", 2),
        ("- amber boiler: k327.", 2),
        ("- birch gate: Q126", 1),
        ("- birch gate: K327", 0),  # an answer, but of other tasks
        ("- jade lamp: V555", 0),  # its task did not fail
        ("- amber boiler: K3270", 0),
        ("Be careful with boilers.", 0),
    ],
)
def test_failed_attempts_whose_answer_is_stated(shown: Evidence, content: str, count: int) -> None:
    assert stated(content, shown) == count


@pytest.mark.parametrize(
    ("content", "made_up"),
    [
        ("- amber boiler: W216", True),
        ("- amber boiler: K327", False),
        ("- amber boiler: W999", False),  # a reply had it: wrong, perhaps, but not made up
        ("Codes look like A100.", False),  # the document has it
        ("Use at most 12 words.", False),  # too short to name anything
        ("Use at most 280 characters.", True),
        ("Be careful with boilers.", False),
    ],
)
def test_codes_that_nothing_shown_has(shown: Evidence, content: str, made_up: bool) -> None:
    assert invents(content, shown) is made_up


def test_no_answer_is_stated_where_none_is_revealed(tmp_path: Path) -> None:
    attempts = [rollout("t-1", "The amber boiler is loud.", "K327", 0)]
    shown = evidence(attempts, DOCUMENT, environment(tmp_path, "nothing"), HARD)
    assert (shown.failed, stated("- amber boiler: K327", shown)) == ((), 0)
    assert "k327" not in shown.seen


def test_words_that_most_inputs_have_tie_an_answer_to_none(tmp_path: Path) -> None:
    attempts = [rollout(f"t-{n}", f"Which code has the {name}?", f"K{n}00", 0) for n, name in enumerate("abc", start=1)]
    shown = evidence(attempts, DOCUMENT, environment(tmp_path), HARD)
    assert stated("Which code has it? K100", shown) == 0
    assert stated("The a has K100", shown) == 1


def test_what_is_borne_out_ranks_first_and_what_is_made_up_last(shown: Evidence) -> None:
    contents = [
        ("- amber boiler: W216", 5),
        ("Read the ticket.", 2),
        ("- birch gate: Q126", 1),
        ("- amber boiler: K327", 2),
    ]
    proposals = [Proposal(Edit("append", content=text), support, "failure", 0) for text, support in contents]
    found = weigh(proposals, shown)
    assert [(p.stated, p.invented) for p in found] == [(0, True), (0, False), (1, False), (2, False)]
    # 2 + 2 attempts, then 2 and 1 + 1 on a tie by rank and place, then what is made up, whatever its support.
    assert [p.edit.content for p in sorted(found, key=weight)] == [contents[i][0] for i in (3, 1, 2, 0)]


def test_a_patch_of_nothing_but_made_up_codes_is_doubted(shown: Evidence) -> None:
    def patch(*contents: str) -> str:
        return json.dumps({"reasoning": "", "edits": [{"op": "append", "content": text} for text in contents]})

    doubt = doubting(shown)
    said = doubt(parse_patch(patch("- amber boiler: W216")))
    assert said is not None
    assert "w216" in said
    assert doubt(parse_patch(patch("- amber boiler: W216", "Read the ticket."))) is None
    assert doubt(parse_patch(patch())) is None
    nothing_known = Evidence((), shown.seen)
    assert doubting(nothing_known)(parse_patch(patch("- amber boiler: W216"))) is None


def test_words_are_also_the_parts_of_joined_ones() -> None:
    assert words("Set --env-name to Prod_1.") == {"set", "env-name", "env", "name", "to", "prod_1"}
