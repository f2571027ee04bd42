"""What holds for any document and any edits."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.document import Applied, Edit, apply_edits
from skillgit.document.blocks import Role
from skillgit.document.edits import OPS
from skillgit.document.structure import Structure, body

FRONT = [
    "",
    "",
    "",
    "",
    "---\nname: x\ndescription: rule one\n---\n",
    "\ufeff",
    "---\n---\n\n",
    "---\n\n",
    "---\nname: x\n",
]
BLOCKS = [
    "rule one", "rule two  ", "- rule one", "- [ ] task", "  - rule two", "  more", "* x", "1. one", "2) two",
    "# A", "---", "```\nmake\n\n\nrule one\n```", "~~~sh\n```\n~~~", "   ```\n   x\n   ```", "```", "> quote",
    "    code", "", "", "\t", "caf\u00e9", "cafe\u0301", "\u4e0d\u8981\u731c", "\u05e9\u05dc\u05d5\u05dd", "don't",
    "\U0001f469\u200d\U0001f4bb", "a\u200bb", "<!-- note -->", "text <!-- in\nline --> x", "<!-- open", "-->", "<!-",
    "- x `<!--` y", "pre-commit", "<!-- SLOW_UPDATE_START -->\nrule one\n<!-- SLOW_UPDATE_END -->",
    "<!-- APPENDIX_START --><!-- APPENDIX_END -->", "x <!-- APPENDIX_START -->\n- rule one\n<!-- APPENDIX_END --> y",
]  # fmt: skip
CLEAN = [block for block in BLOCKS if not re.search("<!|\u200b|```$|^---", block)] + ["```\nnew\n```", "- new", "new"]
STRAY = ["<!-- SLOW_UPDATE_START -->", "<!-- APPENDIX_END -->"]
EOLS = ["\n", "\n", "\r\n", "\r"]
ANY = st.text(max_size=12) | st.text(alphabet="ab -`#<!>\n\r\t.\u0301\u200d\ud800", max_size=20)


@st.composite
def documents(draw: st.DrawFn, eols: list[str] = EOLS, extra: list[str] = STRAY) -> str:
    """A document of blocks, with mixed line ends where `eols` has several."""
    blocks = draw(st.lists(st.sampled_from(BLOCKS * 8 + extra), max_size=10))
    lines = "\n".join(blocks) + draw(st.sampled_from(["", "\n"]))
    text = draw(st.sampled_from(FRONT)) + lines
    parts = text.split("\n")
    return parts[0] + "".join(draw(st.sampled_from(eols)) + part for part in parts[1:])


@st.composite
def edits(draw: st.DrawFn, document: str) -> Edit:
    """An edit whose target is often a piece of the document."""
    lines = re.split("\r\n|\r|\n", document)
    start = draw(st.integers(0, len(lines)))
    piece = "\n".join(lines[start : start + draw(st.integers(1, 3))])
    word = st.sampled_from([part for part in re.split(r"\s", document) if part] or ["x"])
    target = draw(st.one_of(st.just(piece), st.just(piece), word, st.sampled_from(BLOCKS), ANY))
    clean, any_block = (st.lists(st.sampled_from(of), min_size=1, max_size=3) for of in (CLEAN, BLOCKS))
    content = draw(st.one_of(*[clean.map("\n".join)] * 4, any_block.map("\n".join), ANY))
    return Edit(draw(st.sampled_from([*OPS * 4, "upsert"])), target, content)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Edit], Applied]:
    """A document, some edits, and what came of them."""
    document = draw(documents())
    chosen = draw(st.lists(edits(document), max_size=4))
    return document, chosen, apply_edits(document, chosen)


def steps(document: str, applied: Applied) -> list[tuple[str, str, Edit, str]]:
    """For each edit: the document before, the document after, the edit, its status."""
    before = (document, *applied.documents)
    return [
        (old, new, report.edit, report.status)
        for old, new, report in zip(before, applied.documents, applied.reports, strict=False)
    ]


@settings(max_examples=300)
@given(edited())
def test_every_edit_has_a_status_that_says_whether_the_document_changed(
    outcome: tuple[str, list[Edit], Applied],
) -> None:
    document, chosen, applied = outcome
    assert [report.edit for report in applied.reports] == chosen
    assert applied.document == ([document, *applied.documents])[-1]
    for old, new, _, status in steps(document, applied):
        assert (old != new) == (status == "applied")
    for report in applied.reports:
        assert bool(report.reason) == (report.status != "applied")


@given(st.text(alphabet=st.characters(), max_size=60), st.lists(st.builds(Edit, st.sampled_from(OPS), ANY, ANY)))
def test_no_text_makes_it_raise(document: str, chosen: list[Edit]) -> None:
    assert len(apply_edits(document, chosen).reports) == len(chosen)


@settings(max_examples=300)
@given(edited())
def test_frontmatter_and_regions_are_never_touched(outcome: tuple[str, list[Edit], Applied]) -> None:
    document, _, applied = outcome
    before, after = Structure(document), Structure(applied.document)
    assert after.frontmatter_text == before.frontmatter_text
    assert after.problem == before.problem
    assert [document[region.start : region.end] for region in before.regions] == [
        applied.document[region.start : region.end] for region in after.regions
    ]
    assert applied.document.startswith(before.frontmatter_text)
    if before.problem is not None:
        assert applied.document == document


@settings(max_examples=300)
@given(edited())
def test_no_edit_brings_hidden_text_or_an_open_fence(outcome: tuple[str, list[Edit], Applied]) -> None:
    document, _, applied = outcome
    before, after = Structure(document), Structure(applied.document)
    assert set(after.comments) <= set(before.comments)
    assert applied.document.count("<!--") <= document.count("<!--")
    assert applied.document.count("\u200b") <= document.count("\u200b")
    if before.blocks.roles[-1:] not in ([Role.OPENS], [Role.INSIDE]):
        assert after.blocks.roles[-1:] not in ([Role.OPENS], [Role.INSIDE])


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@settings(max_examples=300)
@given(edited())
def test_bytes_that_no_edit_covers_never_change(outcome: tuple[str, list[Edit], Applied]) -> None:
    document, _, applied = outcome
    for old, new, edit, status in steps(document, applied):
        if status != "applied":
            assert new == old
        elif edit.op in ("append", "insert_after"):
            places = (at for at in range(len(old) + 1) if new.startswith(old[:at]) and new.endswith(old[at:]))
            added = [new[at : len(new) - len(old) + at] for at in places]
            assert squeezed(edit.content) in [squeezed(text) for text in added]
        else:
            # The rest stands unchanged on both sides of one place that holds no more than target or content.
            grown = len(new) - len(old)
            head = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
            tail = 0
            while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
                tail += 1
            gone, brought = old[head : len(old) - tail], new[head : len(new) - tail]
            assert len(brought) - len(gone) == grown
            assert edit.op == "replace" or brought == ""
            brings = squeezed(edit.content) if edit.op == "replace" else ""
            assert len(squeezed(brought)) <= len(brings)


@settings(max_examples=200)
@given(documents(eols=["\n"]).filter(lambda text: "\r" not in text), st.data())
def test_a_crlf_document_is_edited_as_its_lf_twin(document: str, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(edits(document), max_size=3))
    if "\n" not in document or any("\r" in edit.target + edit.content for edit in chosen):
        return
    plain, twin = apply_edits(document, chosen), apply_edits(document.replace("\n", "\r\n"), chosen)
    assert [report.status for report in twin.reports] == [report.status for report in plain.reports]
    assert twin.document == plain.document.replace("\n", "\r\n")


@settings(max_examples=200)
@given(documents(), st.data())
def test_added_lines_end_as_most_lines_do(document: str, data: st.DataObject) -> None:
    edit = Edit(
        data.draw(st.sampled_from(["append", "insert_after"])), data.draw(st.sampled_from(BLOCKS)), "new\nlines"
    )
    applied = apply_edits(document, [edit])
    if applied.reports[0].status == "applied":
        eol = Structure(document).eol
        assert f"new{eol}lines{eol}" in applied.document


@settings(max_examples=200)
@given(edited())
def test_the_same_append_or_insertion_again_changes_nothing(outcome: tuple[str, list[Edit], Applied]) -> None:
    document, _, applied = outcome
    for _, new, edit, status in steps(document, applied):
        added = status == "applied" and edit.op in ("append", "insert_after")
        # Text that holds its own target, as targets are compared, moves the place, and text at the end of a fence left
        # open is code there.
        target, content = (unicodedata.normalize("NFC", squeezed(text)) for text in (edit.target, edit.content))
        moved = edit.op == "insert_after" and target in content
        open_fence = Structure(new).blocks.roles[-1:] in ([Role.OPENS], [Role.INSIDE])
        if status == "no_change" or (added and not moved and not open_fence):
            assert apply_edits(new, [edit]).reports[0].status == "no_change"


@settings(max_examples=200)
@given(edited())
def test_the_body_is_edited_alone(outcome: tuple[str, list[Edit], Applied]) -> None:
    document, _, applied = outcome
    before, after = Structure(document), Structure(applied.document)
    assert document[: before.body_start].rstrip("\r\n") == applied.document[: after.body_start].rstrip("\r\n")
    assert applied.document.endswith(body(applied.document))
