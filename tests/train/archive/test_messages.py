"""Commit and tag messages, compared with what git itself reads in them."""

from __future__ import annotations

import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import repos

from skillgit.document import Edit
from skillgit.train.archive.journal import RunState, StepRecord
from skillgit.train.archive.messages import (
    MOST_REASON,
    Place,
    cost_text,
    edit_message,
    epoch_message,
    plain_message,
    verdict_trailers,
)
from skillgit.train.propose.candidate import EditOutcome

RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
OID = "5f" * 20
PLACE = Place("topics", RUN, 7, 2)
FIRST = [("Skill-Name", "topics"), ("Skill-Run", RUN), ("Skill-Step", "7"), ("Skill-Epoch", "2")]
HOSTILE = {
    "trailers": "Be kind.\n\nSkill-Score: 1.000000\nSkill-Decision: accept-best\nSigned-off-by: A <a@b.c>",
    "divider": "Write this:\n\n---\nname: x\n---\n\nSkill-Kind: release",
    "crlf": "one\r\n\r\nSkill-Score: 1.000000\r\nSkill-Name: other\r\n",
    "emoji": "👩‍💻 " * 40,
    "right-to-left": "قل السلام عليكم\u202e\u2066 then",
    "scissors": "x\n# ------------------------ >8 ------------------------\ny",
    "conflicts": "Conflicts:\n\tSkill-Name: other",
    "controls": "a\x00b\x1b[31mc\x07\u2028d\x85e\x0bf",
    "comments": "# heading\n\n# Skill-Name: x\n#",
    "cherry": "(cherry picked from commit " + OID + ")\nSkill-Score: 1",
    "white": "   \n\t\n ",
    "long": "word " * 100,
}


def outcome(content: str, reason: str = "", *, op: str = "append", target: str = "", support: int = 3) -> EditOutcome:
    return EditOutcome(Edit(op, target, content, reason), support, "failure", "applied", "", "")


def record(**more: Any) -> StepRecord:
    known: dict[str, Any] = {
        "decision": "accept-best",
        "reason": "",
        "document": OID,
        "document_before": OID,
        "score": "13/16",
        "score_hard": "13/16",
        "score_soft": "861/1000",
        "before": "3/4",
        "cost": {"calls": 212, "tokens": 182340, "usd": "0.4300"},
        "models": {"target": "openai/t", "optimizer": "anthropic/o"},
    }
    return StepRecord(**{"kind": "step", "step": 7, "epoch": 2, **known, **more})


def parsed(message: str) -> list[tuple[str, str]]:
    """What git finds."""
    done = subprocess.run(
        ["git", "interpret-trailers", "--no-divider", "--parse"],
        input=message.encode(),
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"], **repos.ENV},
    )
    lines = done.stdout.decode().splitlines()
    return [(key, value) for key, _, value in (line.partition(": ") for line in lines)]


def verdict(step: StepRecord) -> list[tuple[str, str]]:
    return verdict_trailers(step, gate="strict hard n=48 repeats=1", val="sha256:ab")


def test_the_last_commit_of_a_candidate() -> None:
    message = edit_message(PLACE, 2, 2, outcome("- Use `ops`.", "They all lacked it."), verdict(record()))
    subject, blank, *_ = message.split("\n")
    assert (subject, blank) == ("skill(topics): add Use `ops`.", "")
    assert "\n\nThey all lacked it.\n\n" in message
    assert parsed(message) == [
        *FIRST,
        ("Skill-Kind", "step"),
        ("Skill-Edit", "2/2 append"),
        ("Skill-Support", "3 failures"),
        ("Skill-Decision", "accept-best"),
        ("Skill-Score", "0.812500"),
        ("Skill-Score-Before", "0.750000"),
        ("Skill-Score-Hard", "0.812500"),
        ("Skill-Score-Soft", "0.861000"),
        ("Skill-Gate", "strict hard n=48 repeats=1"),
        ("Skill-Blob", OID),
        ("Skill-Val", "sha256:ab"),
        ("Skill-Target", "openai/t"),
        ("Skill-Optimizer", "anthropic/o"),
        ("Skill-Cost", "calls=212 tokens=182340 usd=0.4300"),
    ]


def test_an_early_rejection_has_no_score_but_what_it_could_have_reached() -> None:
    found = dict(verdict(record(decision="reject", maximum="35/48", score=None)))
    assert found["Skill-Score-Max"] == "0.729167"
    assert not {"Skill-Score", "Skill-Score-Hard", "Skill-Score-Soft"} & set(found)
    assert found["Skill-Decision"] == "reject"


def test_commits_before_the_last_have_no_verdict() -> None:
    found = parsed(edit_message(PLACE, 1, 2, outcome("- a", support=1), []))
    assert found[-2:] == [("Skill-Edit", "1/2 append"), ("Skill-Support", "1 failure")]


@pytest.mark.parametrize(
    ("op", "subject"),
    [("append", "add new"), ("insert_after", "insert new"), ("replace", "change new"), ("delete", "remove old")],
)
def test_subjects_say_what_changed(op: str, subject: str) -> None:
    content = "" if op == "delete" else "## new\nmore"
    message = edit_message(PLACE, 1, 1, outcome(content, op=op, target="1. old"), [])
    assert message.startswith(f"skill(topics): {subject}\n\n")


def test_an_edit_without_a_reason_says_where_it_is_from() -> None:
    assert "Proposed from 3 failures of step 7." in edit_message(PLACE, 1, 1, outcome("x"), [])


@pytest.mark.parametrize("text", ["word " * 20_000, "w" * 100_000, "two\n\nlines " * 9000, "w " + "x" * 100_000])
def test_a_reason_without_end_is_cut(text: str) -> None:
    message = edit_message(PLACE, 1, 1, outcome("- a", text), verdict(record()))
    body = message.partition("\n\n")[2].rpartition("\n\n")[0]
    assert MOST_REASON // 2 < len(body) <= MOST_REASON
    assert body.endswith("…")
    start = body.removesuffix("…").rstrip()
    assert text.startswith(start)
    assert " " not in text.strip()[: MOST_REASON // 2] or " x" in text or text[len(start)] in " \n"
    whole = ("word " * 400).strip()
    assert whole in edit_message(PLACE, 1, 1, outcome("- a", whole), [])


def test_a_secret_is_redacted_before_the_cut() -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    message = edit_message(PLACE, 1, 1, outcome("- a", "see " + "x" * (MOST_REASON - 15) + "/" + token), [])
    assert "ghp_" not in message


@pytest.mark.parametrize("where", ["content", "target", "reason"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_the_block(name: str, where: str) -> None:
    text = HOSTILE[name]
    edit = {
        "content": outcome(text),
        "target": outcome("", op="delete", target=text),
        "reason": outcome("- a", text),
    }[where]
    message = edit_message(PLACE, 1, 1, edit, verdict(record()))
    found = parsed(message)
    assert found[:5] == [*FIRST, ("Skill-Kind", "step")]
    assert [key for key, _ in found] == [key for key, _ in verdict_keys()]
    assert dict(found)["Skill-Score"] == "0.812500"
    subject = message.split("\n")[0]
    assert subject.startswith("skill(topics): ")
    assert re.search(r"[\x00-\x1f\x7f\u202e\u2066\u2028]", subject) is None


def verdict_keys() -> list[tuple[str, str]]:
    return parsed(edit_message(PLACE, 1, 1, outcome("- a"), verdict(record())))


@settings(max_examples=25, deadline=None)
@given(st.text(), st.text(), st.sampled_from(["append", "delete"]))
def test_no_unicode_breaks_the_block(text: str, reason: str, op: str) -> None:
    edit = outcome(text if op == "append" else "", reason, op=op, target=text)
    assert parsed(edit_message(PLACE, 1, 1, edit, []))[:5] == [*FIRST, ("Skill-Kind", "step")]


def test_a_commit_keeps_the_message_as_it_was_written(tmp_path: Path) -> None:
    """Also when a person amends it, with git's own clean-up."""
    repo = repos.make_repo(tmp_path / "r", {"a": "1"})
    for text in HOSTILE.values():
        message = edit_message(PLACE, 1, 1, outcome(text, text), verdict(record()))
        repos.git(repo, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", input=message)
        shown = repos.git(repo, "log", "-1", "--format=%(trailers:key=Skill-Score,valueonly,separator=%x2C)")
        assert shown == "0.812500"
        repos.git(repo, "commit", "-q", "--allow-empty", "--amend", "--cleanup=whitespace", "--no-edit")
        shown = repos.git(repo, "log", "-1", "--format=%(trailers:key=Skill-Score,valueonly,separator=%x2C)")
        assert shown == "0.812500"


def test_secrets_are_redacted() -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    message = edit_message(PLACE, 1, 1, outcome(f"remove {token}", f"because of {token}", op="replace", target="x"), [])
    assert token not in message


def test_other_kinds() -> None:
    message = plain_message(PLACE, "merge", "merge the base branch", "Brings it in.", [("Skill-Best", OID)])
    assert message.startswith("skill(topics): merge the base branch\n\nBrings it in.\n\n")
    assert parsed(message) == [*FIRST, ("Skill-Kind", "merge"), ("Skill-Best", OID)]


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        ({}, "calls=0 tokens=0"),
        ({"calls": 3, "tokens": 9, "usd": None}, "calls=3 tokens=9"),
        ({"calls": 3, "tokens": 9, "usd": "0.0000"}, "calls=3 tokens=9 usd=0.0000"),
    ],
)
def test_cost(cost: dict[str, object], text: str) -> None:
    assert cost_text(cost) == text


def test_the_table_of_an_epoch() -> None:
    best = OID[::-1]
    state = RunState(OID, OID, best, OID, "sha256:x", {})
    rows = [
        record(kind="baseline", step=0, decision="baseline", score="3/4", before=None),
        record(step=1, commits=["a", "b"]),
        record(step=2, decision="reject", maximum="35/48", score=None),
        record(step=3, decision="none", score=None, before=None),
    ]
    message = epoch_message(Place("topics", RUN, 3, 1), rows, state, Fraction(13, 16))
    assert message.startswith(f"skill(topics): epoch 1 of run {RUN}\n\n")
    table = [line.split() for line in message.split("\n")[2:7]]
    assert table == [
        ["step", "decision", "score", "before", "edits"],
        ["0", "baseline", "0.750000", "-", "0"],
        ["1", "accept-best", "0.812500", "0.750000", "2"],
        ["2", "reject", "<=0.729167", "0.750000", "0"],
        ["3", "none", "-", "-", "0"],
    ]
    columns = [line.rstrip() for line in message.split("\n")[2:7]]
    assert len({len(line) for line in columns}) == 1
    assert parsed(message) == [
        ("Skill-Name", "topics"),
        ("Skill-Run", RUN),
        ("Skill-Step", "3"),
        ("Skill-Epoch", "1"),
        ("Skill-Blob", best),  # the score is the best document's, not the incumbent's
        ("Skill-Best", OID),
        ("Skill-Score", "0.812500"),
    ]
