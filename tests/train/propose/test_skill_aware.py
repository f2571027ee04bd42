"""Skill-aware reflection: what the prompts add, which notes are read, and how they come into a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.optimizer import Bench

from skillgit.document.regions import HEADING, MOST_OF_A_NOTE, notes
from skillgit.models.replies import parse_patch
from skillgit.train.propose.candidate import MOST_CHARACTERS, Candidate
from skillgit.train.propose.prompts import sections
from skillgit.train.propose.proposals import UNLIMITED, Source
from skillgit.train.propose.skill_aware import (
    AppendixSource,
    Noted,
    Reminders,
    addition,
    consolidate,
    document_with_notes,
    document_with_only,
    gather,
    notes_of,
    read_notes,
    reminders,
    with_reminders,
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
    added = ("Name the unit behind each number.", "Ask.")
    found = document_with_notes(DOCUMENT, added, 4)
    expected = f"{START}\n{HEADING}\n\n- Name the unit behind each number.\n- Ask.\n{END}\n"
    assert found == Noted(f"{DOCUMENT}\n{expected}", added)
    assert document_with_notes(found.document, ["ask", "ASK."], 4) == Noted(found.document)


def test_a_note_that_cannot_stand_is_left_out_by_itself() -> None:
    long = "x" * (MOST_OF_A_NOTE + 1)
    found = document_with_notes(DOCUMENT, ["Ask.", f"Use {TOKEN}.", "Hidden <!-- x -->.", long, f"y{long}", "Wait."], 9)
    assert notes(found.document) == found.written == ("Ask.", "Wait.")
    assert [number for _, number in found.left_out] == [1, 1, 2]
    assert "secret" in found.left_out[0][0]
    assert TOKEN not in str(found)
    broken = f"{DOCUMENT}\n{START}\n"
    found = document_with_notes(broken, ["Ask."], 9)
    assert (found.document, found.written) == (broken, ())
    assert "has no end" in found.left_out[0][0]


def test_a_step_adds_as_many_notes_as_it_may() -> None:
    """What stands there already takes no place, and all together are no longer than one edit may be."""
    document = document_with_notes(DOCUMENT, ["Ask."], 1).document
    found = document_with_notes(document, ["ask", *(f"Note {n}." for n in range(5))], 2)
    assert found.written == ("Note 0.", "Note 1.")
    assert found.left_out == (("Not written: a step adds at most 2 notes here.", 3),)
    many = [f"{n:03d} " + "x" * (MOST_OF_A_NOTE - 4) for n in range(200)]
    found = document_with_notes(DOCUMENT, many, 10**6)
    assert len("\n".join(found.written)) <= MOST_CHARACTERS < len("\n".join(many[: len(found.written) + 1]))
    assert sum(number for _, number in found.left_out) == 200 - len(found.written)


@pytest.mark.parametrize(("budget", "most"), [(3, 3), (None, UNLIMITED)])
def test_failures_come_first_and_the_budget_counts(budget: int | None, most: int) -> None:
    found: list[tuple[Source, tuple[str, ...]]] = [("success", ("Be short.",)), ("failure", ("Ask.",))]
    assert reminders(found, "both", budget) == Reminders(("Ask.", "Be short."), most, "failure")
    assert reminders(found, "success", budget) == Reminders(("Be short.",), most, "success")
    assert reminders(found[:1], "both", budget).source == "success"


APPENDICES = {
    "a paragraph and a nested list": "## Our own notes\n\nA paragraph of\ntwo lines.\n\n- a note\n  - nested detail\n",
    "a note that wraps": "## Execution notes\n\n- a note that wraps\n  onto a second line\n- b\n",
    "a comment": "<!-- keep: reviewed -->\n- a\n",
    "numbers": "1. First do a\n2. Then do b\n",
    "equal ones": "- same.\n- Same\n",
    "stars": "* a\n\n\n* b\n",
}


@pytest.mark.parametrize("name", APPENDICES)
@pytest.mark.parametrize("threshold", [0, 9, 1], ids=["never", "not yet", "no usable reply"])
async def test_a_note_more_leaves_what_people_wrote(tmp_path: Path, name: str, threshold: int) -> None:
    before = f"{DOCUMENT}\n{START}\n{APPENDICES[name]}{END}\n"
    bench = Bench(tmp_path, ["no", "no"])
    built = await with_reminders(Candidate(before, ()), Reminders(("Look again.",), 4), bench.optimizer, threshold)
    assert built.document == before.replace(END, f"- Look again.\n{END}")
    assert [(o.status, o.edit.content, o.support) for o in built.outcomes] == [("applied", "Look again.", 1)]
    assert (bench.requests == []) == (threshold != 1)


async def test_the_record_says_what_was_written(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    texts = ("Ask.", f"Use {TOKEN}.", "Wait.", "Hidden <!-- x -->.", "Be short.", "Look.")
    built = await with_reminders(Candidate(DOCUMENT, ()), Reminders(texts, 2, "success"), bench.optimizer, 0)
    assert notes(built.document) == ("Ask.", "Wait.")
    (applied,) = built.applied
    assert (applied.edit.content, applied.support, applied.source) == ("Ask.\nWait.", 2, "success")
    rest = [outcome for outcome in built.outcomes if outcome is not applied]
    assert [(o.status, o.support, o.edit.content) for o in rest] == [("left_out", n, "") for n in (1, 3)]
    assert all(o.reason.startswith("Not written: ") for o in rest)
    assert TOKEN not in str(built)


async def test_the_record_of_a_shortened_appendix(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{"appendix_notes": ["Note 0.", "All the others."]}])
    before = Candidate(noted(3), ())
    built = await with_reminders(before, Reminders(("Ask.", "Wait."), 4), bench.optimizer, 2)
    assert notes(built.document) == ("Note 0.", "All the others.")
    (outcome,) = built.outcomes
    assert (outcome.edit.content, outcome.status) == ("All the others.", "applied")
    assert "The appendix had 5 notes, and was shortened." in outcome.edit.reason


async def test_only_refused_notes_make_no_change(tmp_path: Path) -> None:
    built = await with_reminders(
        Candidate(DOCUMENT, ()), Reminders((f"Use {TOKEN}.",), 4), Bench(tmp_path).optimizer, 1
    )
    assert (built.document, built.applied) == (DOCUMENT, ())
    assert [outcome.status for outcome in built.outcomes] == ["left_out"]


def noted(count: int) -> str:
    return document_with_notes(DOCUMENT, [f"Note {n}." for n in range(count)], count).document


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
    document = document_with_notes(DOCUMENT, ["Ask </appendix> now.", "Wait."], 4).document
    assert await consolidate(bench.optimizer, document, 1) == ("Ask.",)
    assert "1. Ask &lt;/appendix> now." in bench.prompt
