"""The protected regions: what is written there can be read back, and nothing else of the document moves."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.edits import Edit, apply_edits
from skillgit.document.regions import (
    HEADING,
    MOST_OF_A_NOTE,
    Written,
    guidance,
    merged_notes,
    notes,
    refused_note,
    refused_text,
    with_guidance,
    with_notes,
    with_only_notes,
)
from skillgit.document.structure import Structure, check_document
from skillgit.errors import DocumentError

START, END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
A_START, A_END = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"
FRONT = "---\nname: x\ndescription: y\n---\n"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
APPENDIX = f"{A_START}\n{HEADING}\n\n- Ask first.\n{A_END}\n"

BLOCKS = [
    "rule one", "- rule one", "  - rule two", "# A", "---", "```\nmake\n\nrule\n```", "```", "~~~", "> quote", "", "\t",
    "<!-- note -->", "<!-- open", "-->", "caf\u00e9", f"{START}\nold\n{END}", f"x {START}old{END} y",
    f"{A_START}\n- rule one\n{A_END}", f"{A_START}{A_END}", START, A_END, f"> {START}\n> old\n> {END}",
]  # fmt: skip
TEXTS = [
    "new", "# Guide\n\n- one\n- two", "```\nmake\n```", "```", "  indented", "\n\nnew\n\n", "a\r\nb\rc", "---", "x -->",
    "~~~\nx", "- ```", "",
]  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Documents with every kind of region, fence and comment, whole and broken, with mixed line ends."""
    front = draw(st.sampled_from(["", "", "\ufeff", FRONT]))
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=8))
    parts = (front + "\n".join(blocks) + draw(st.sampled_from(["", "\n", "\n\n\n"]))).split("\n")
    return parts[0] + "".join(draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])) + part for part in parts[1:])


texts = st.sampled_from(TEXTS) | st.text(alphabet="ab -`#<!>\n\r\t.\u200b", max_size=16)


def is_document(text: str) -> bool:
    try:
        return check_document(text.encode(), "d") == text
    except DocumentError:
        return False


def outside_is_kept(before: str, written: Written, kind: str) -> bool:
    """Whether all that stands outside of the first region of that kind is there, byte for byte, and in its place."""
    after = written.document
    old = next((region for region in Structure(before).regions if region.kind == kind), None)
    if old is None:
        pairs = zip(before, after, strict=False)
        head = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))
        return after.endswith(before[head:]) and len(after) >= len(before)
    # The markers themselves stay, too: only what is between them may change.
    start, end = before.index("-->", old.start) + 3, before.rindex("<!--", 0, old.end)
    return after.startswith(before[:start]) and after[start:].endswith(before[end:])


def check(before: str, written: Written, kind: str) -> None:
    assert outside_is_kept(before, written, kind)
    if written.reason is not None:
        assert written.document == before
        return
    assert Structure(written.document).problem is None or written.document == before
    assert is_document(written.document) or not is_document(before)


@given(documents(), texts)
def test_guidance_is_read_back_and_nothing_else_moves(document: str, text: str) -> None:
    written = with_guidance(document, text)
    check(document, written, "SLOW_UPDATE")
    if written.reason is None:
        wanted = re.sub(r"\r\n|\r", "\n", text)
        lines = wanted.split("\n")
        while lines and not lines[0].strip(" \t"):
            lines.pop(0)
        while lines and not lines[-1].strip(" \t"):
            lines.pop()
        assert guidance(written.document) == "\n".join(lines)
        assert with_guidance(written.document, text) == Written(written.document)
        assert notes(written.document) == notes(document)


@given(
    documents(),
    st.lists(st.sampled_from(["Rule one", "new", "- new", "NEW.", "two  words", "a - b", "```", " "]), max_size=4),
)
def test_notes_are_read_back_and_nothing_else_moves(document: str, added: list[str]) -> None:
    written = with_notes(document, added)
    check(document, written, "APPENDIX")
    if written.reason is None:
        assert written.document == document or notes(written.document)[: len(notes(document))] == notes(document)
        assert merged_notes(notes(written.document), ()) == merged_notes(notes(document), added)
        assert with_notes(written.document, added) == Written(written.document)
        assert guidance(written.document) == guidance(document)


def test_guidance_comes_before_an_appendix_that_stands_at_the_end() -> None:
    document = f"{FRONT}\n# Rules\n\n- Be short.\n\n{APPENDIX}"
    written = with_guidance(document, "Name the unit.\n")
    region = f"{START}\nName the unit.\n{END}\n\n"
    assert written == Written(f"{FRONT}\n# Rules\n\n- Be short.\n\n{region}{APPENDIX}")
    again = with_guidance(written.document, "Name the unit.\nName the day.")
    assert again.document == written.document.replace("unit.\n", "unit.\nName the day.\n")


def test_an_appendix_comes_last() -> None:
    document = f"# Rules\n\n{START}\nx\n{END}"
    written = with_notes(document, ["Ask first."])
    assert written == Written(f"{document}\n\n{A_START}\n{HEADING}\n\n- Ask first.\n{A_END}\n")
    # Edits of the body go on to stand before both regions.
    edited = apply_edits(written.document, [Edit("append", content="- New.")])
    assert edited.document == written.document.replace("# Rules\n", "# Rules\n\n- New.\n")


def test_line_ends_are_the_documents_own() -> None:
    document = "# Rules\r\n\r\nBe short.\r\n"
    written = with_guidance(document, "one\ntwo").document
    assert written == f"{document}\r\n{START}\r\none\r\ntwo\r\n{END}\r\n"
    assert guidance(written) == "one\ntwo"
    noted = with_notes(written, ["Ask first."]).document
    assert "\n" not in noted.replace("\r\n", "")


def test_what_people_wrote_in_the_appendix_stays() -> None:
    document = f"# Rules\n\n{A_START}\n* Ask first!\n  <!-- why -->\n1. Then act\n{A_END}\n"
    assert notes(document) == ("Ask first!", "Then act")
    written = with_notes(document, ["ask  FIRST.", "then act", "Say done.", "say done"])
    assert written == Written(document.replace(f"act\n{A_END}", f"act\n- Say done.\n{A_END}"))


def test_only_these_notes_stay() -> None:
    document = with_notes("# Rules\n", ["one", "two", "three"]).document
    written = with_only_notes(document, ["one and two", "three", "Three."])
    assert notes(written.document) == ("one and two", "three")
    assert with_only_notes(document, []).document == f"# Rules\n\n{A_START}\n{A_END}\n"
    assert with_only_notes("# Rules\n", []) == Written("# Rules\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(f"a\n{END}\nb", "region marker SLOW_UPDATE_END", id="marker"),
        pytest.param("a <!-- b -->", "an HTML comment", id="comment"),
        pytest.param("a\u200bb", "U\\+200B", id="invisible"),
        pytest.param("a\u202eb", "bidirectional", id="turned"),
        pytest.param(f"Use {TOKEN}.", r"a secret \(", id="secret"),
        pytest.param("```\nmake", "code fence", id="fence"),
    ],
)
def test_what_no_reader_should_get_is_refused_with_a_reason(text: str, reason: str) -> None:
    document = f"# Rules\n\nBe short.\n\n{START}\nold\n{END}\n\n{APPENDIX}"
    for base in (document, "# Rules\n"):
        found = with_guidance(base, text)
        assert found.document == base
        assert re.fullmatch(rf"Not written: .*{reason}.*\.", found.reason or "")
        assert TOKEN not in (found.reason or "")
    if "fence" not in reason:
        assert with_notes(document, ["fine", text]).document == document
        assert re.search(reason, refused_text(text) or "")
        assert re.search(reason, refused_note(text) or "")


def test_a_secret_that_the_document_has_already_stops_nothing() -> None:
    document = f"# Rules\n\nThe token {TOKEN}.\n"
    assert with_guidance(document, "Be short.").reason is None
    assert with_guidance(document, f"Use {TOKEN}.").reason is None


def test_a_document_with_unbalanced_markers_is_left_alone() -> None:
    document = f"# Rules\n\n{START}\nold\n"
    assert guidance(document) == ""
    found = with_guidance(document, "new")
    assert found.document == document
    assert found.reason == "Not written: the marker SLOW_UPDATE_START on line 3 has no end."


def test_a_region_does_not_go_into_a_comment_that_never_ends() -> None:
    document = "# Rules\n\n<!-- open\n"
    found = with_guidance(document, "new")
    assert found.document == document
    assert "HTML comment" in (found.reason or "")


def test_of_two_regions_the_first_one_counts() -> None:
    document = f"{START}\none\n{END}\n\nx\n\n{START}\ntwo\n{END}\n"
    assert guidance(document) == "one"
    assert with_guidance(document, "new").document == document.replace("one", "new")


def test_a_note_is_short() -> None:
    assert refused_note("x" * MOST_OF_A_NOTE) is None
    assert "longer than" in (refused_note("x" * (MOST_OF_A_NOTE + 1)) or "")


def test_equal_notes_are_one() -> None:
    found = merged_notes(["Ask first."], ["- ask\n first", "ASK FIRST!", "Then act", "  ", "- "])
    assert found == ("Ask first.", "Then act")
