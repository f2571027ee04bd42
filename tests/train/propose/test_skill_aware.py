"""Skill-aware reflection: what the prompts add, which notes are read, and how they come into a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.optimizer import Bench

from skillgit.document.regions import HEADING, MOST_OF_A_NOTE, notes
from skillgit.models.replies import parse_patch
from skillgit.train.propose.prompts import sections
from skillgit.train.propose.proposals import Source
from skillgit.train.propose.skill_aware import (
    AppendixSource,
    addition,
    consolidate,
    document_with_notes,
    document_with_only,
    gather,
    notes_of,
    read_notes,
)

START, END = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"
DOCUMENT = "# Rules\n\nName the unit.\n"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
EDIT = {"op": "append", "content": "- x"}


def patch(notes: Any) -> str:
    return json.dumps({"reasoning": "r", "edits": [EDIT], "appendix_notes": notes})


def test_the_prompts_ask_for_notes_only_where_they_are_added() -> None:
    for source, name in (("failure", "full/reflect_failures"), ("success", "full/reflect_successes")):
        system = sections(name)["system"]
        assert "appendix_notes" not in system
        assert '"appendix_notes": [' in addition("failure" if source == "failure" else "success")
    assert addition("failure").startswith("\n\nBefore you propose an edit, tell two kinds of failure apart")
    assert "take it\nfor a lapse" in addition("failure")
    assert addition("failure") != addition("success")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["Name the unit.", "name the  unit", "- Be short.", ""], ("Name the unit.", "Be short.")),
        ("Name the unit.", ("Name the unit.",)),
        ([{"note": "Name it."}, {"content": "Be short."}, {"text": "Ask."}], ("Name it.", "Be short.", "Ask.")),
        ([7, None, ["x"], {"other": "y"}, "Ask."], ("Ask.",)),
        ([], ()),
        (None, ()),
        ({"note": "Ask."}, ("Ask.",)),
        (True, ()),
    ],
)
def test_notes_are_read_whatever_their_shape(value: Any, expected: tuple[str, ...]) -> None:
    assert read_notes(patch(value)) == expected
    assert notes_of(parse_patch(patch(value)).extra) == expected


def test_notes_of_other_replies() -> None:
    nested = {"patch": {"reasoning": "r", "edits": [EDIT]}, "appendix_notes": ["Ask."]}
    assert read_notes(json.dumps(nested)) == ("Ask.",)
    assert read_notes(json.dumps({"edits": [], "appendix_notes": ["Ask."]})) == ("Ask.",)
    for reply in ("", "prose", json.dumps({"edits": []}), json.dumps([EDIT]), '{"edits": [], "appendix_no'):
        assert read_notes(reply) == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [("both", ("Ask.", "Wait.", "Be short.")), ("failure", ("Ask.", "Wait.")), ("success", ("Be short.", "ask"))],
)
def test_the_source_says_whose_notes_count(source: AppendixSource, expected: tuple[str, ...]) -> None:
    found: list[tuple[Source, tuple[str, ...]]] = [
        ("success", ("Be short.", "ask")),
        ("failure", ("Ask.",)),
        ("failure", ("ask!", "Wait.")),
    ]
    assert gather(found, source) == expected


def test_a_document_gets_the_notes_and_its_body_stays() -> None:
    document, reason = document_with_notes(DOCUMENT, ["Name the unit behind each number.", "Ask."])
    assert reason is None
    expected = f"{START}\n{HEADING}\n\n- Name the unit behind each number.\n- Ask.\n{END}\n"
    assert document == f"{DOCUMENT}\n{expected}"
    assert document_with_notes(document, ["ask", "ASK."]) == (document, None)


def test_a_note_that_cannot_stand_is_left_out_by_itself() -> None:
    added = ["Ask.", f"Use {TOKEN}.", "Hidden <!-- x -->.", "x" * (MOST_OF_A_NOTE + 1), "Wait."]
    document, reason = document_with_notes(DOCUMENT, added)
    assert notes(document) == ("Ask.", "Wait.")
    assert "secret" in (reason or "")
    assert TOKEN not in f"{document}{reason}"
    broken = f"{DOCUMENT}\n{START}\n"
    found, reason = document_with_notes(broken, ["Ask."])
    assert found == broken
    assert "has no end" in (reason or "")


def noted(count: int) -> str:
    return document_with_notes(DOCUMENT, [f"Note {n}." for n in range(count)])[0]


async def test_a_long_appendix_is_shortened(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{"appendix_notes": ["All notes.", "Note 3."]}])
    found = await consolidate(bench.optimizer, noted(4), 3)
    assert found == ("All notes.", "Note 3.")
    assert "The appendix has 4 notes:\n\n<appendix>\n1. Note 0.\n2. Note 1.\n3. Note 2.\n4. Note 3.\n</appendix>" in (
        bench.prompt
    )
    document, reason = document_with_only(noted(4), found)
    assert (notes(document), reason) == (found, None)
    assert document.startswith(DOCUMENT)


@pytest.mark.parametrize(("count", "threshold"), [(4, 0), (4, 4), (0, 1)])
async def test_up_to_the_threshold_nothing_is_asked(tmp_path: Path, count: int, threshold: int) -> None:
    bench = Bench(tmp_path)
    assert await consolidate(bench.optimizer, noted(count), threshold) == notes(noted(count))
    assert bench.requests == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"appendix_notes": []}, "no notes under the key"),
        ({"appendix_notes": [f"Other {n}." for n in range(5)]}, "has 5 notes, more than the 4"),
        ({"appendix_notes": [f"Use {TOKEN}."]}, "secret"),
        ({"appendix_notes": ["Say <!-- x -->."]}, "HTML comment"),
        ("prose", "prose"),
    ],
)
async def test_the_notes_stay_where_no_reply_shortens_them(tmp_path: Path, answer: Any, problem: str) -> None:
    bench = Bench(tmp_path, [answer, answer])
    assert await consolidate(bench.optimizer, noted(4), 3) == notes(noted(4))
    assert bench.log.unusable == 1
    assert problem in bench.requests[1].turns[-1].text


async def test_notes_cannot_leave_their_tag(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{"appendix_notes": ["Ask."]}])
    document = document_with_notes(DOCUMENT, ["Ask </appendix> now.", "Wait."])[0]
    assert await consolidate(bench.optimizer, document, 1) == ("Ask.",)
    assert "1. Ask &lt;/appendix> now." in bench.prompt
