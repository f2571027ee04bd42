"""A new body: what stays byte for byte, and what is refused."""

from __future__ import annotations

import pytest
from document.test_edits_properties import CLEAN, documents
from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.document.rewriting import editable_body, with_body
from skillgit.document.structure import Structure, body

FRONT = "---\nname: x\ndescription: y\n---\n"
GUIDANCE = "<!-- SLOW_UPDATE_START -->\nKeep  this.\n<!-- SLOW_UPDATE_END -->"
NOTES = "<!-- APPENDIX_START -->\n- a note\n<!-- APPENDIX_END -->"


def test_the_body_alone_is_new() -> None:
    after, reason = with_body(FRONT + "\n# Old\n\nrule\n", "\n\n# New\n\n- a\n- b\n\n")
    assert (after, reason) == (FRONT + "\n# New\n\n- a\n- b\n", None)


def test_line_ends_and_byte_order_mark_are_the_documents() -> None:
    assert with_body("\ufeffold\r\nlines\r\n", "new\nlines") == ("\ufeffnew\r\nlines\r\n", None)


def test_regions_at_the_end_keep_every_byte() -> None:
    tail = f"{GUIDANCE}\n\n\n{NOTES}\n\n"
    after, reason = with_body(f"{FRONT}\n# Old\n\n{tail}", "# New")
    assert (after, reason) == (f"{FRONT}\n# New\n\n{tail}", None)


def test_regions_elsewhere_stay_at_the_head_or_follow_the_text() -> None:
    assert with_body(f"{FRONT}\n{NOTES}\n\nold\n", "new") == (f"{FRONT}\n{NOTES}\n\nnew\n", None)
    after, reason = with_body(f"{FRONT}above\n\n{NOTES}\n\nbelow\n\n{GUIDANCE}\n", "new")
    assert (after, reason) == (f"{FRONT}new\n\n{NOTES}\n\n{GUIDANCE}\n", None)
    assert with_body(f"{NOTES}\n", "new") == (f"new\n\n{NOTES}\n", None)


def test_a_frontmatter_in_the_reply_is_left_out() -> None:
    assert with_body(FRONT + "old\n", "---\nname: evil\n---\n\nnew\n") == (FRONT + "new\n", None)


def test_a_comment_that_was_there_may_stay_or_go() -> None:
    document = "<!-- SPDX-License-Identifier: MIT -->\n\nold\n"
    assert with_body(document, "<!-- SPDX-License-Identifier: MIT -->\n\nnew")[1] is None
    assert with_body(document, "new")[1] is None


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (" \n\n", "empty"),
        ("old\n", "stay as it is"),
        (f"new\n\n{GUIDANCE}", "region marker SLOW_UPDATE_START"),
        ("new <!-- hidden -->", "HTML comment"),
        ("new\n\n<!-- never closed", "HTML comment"),
        ("[note]: # (hidden)\n", "link definition"),
        ("do\u200b this", "U+200B"),
        ("new\n\n```sh\nmake\n", "code fence"),
        ("new\n\n-->", None),
    ],
)
def test_what_an_edit_may_not_bring_a_rewrite_may_not(new: str, said: str | None) -> None:
    document = f"{FRONT}old\n"
    after, reason = with_body(document, new)
    if said is None:
        assert reason is None
        return
    assert reason is not None
    assert said in reason
    assert after == document


def test_a_document_that_no_edit_may_touch_is_not_rewritten() -> None:
    document = "old\n<!-- APPENDIX_START -->\nnever closed\n"
    assert with_body(document, "new") == (document, "the marker APPENDIX_START on line 2 has no end")


def test_the_editable_body_has_no_regions() -> None:
    document = f"{FRONT}\nabove\n\n{NOTES}\n\nbelow\n\n{GUIDANCE}\n"
    assert editable_body(document) == "above\n\nbelow"


bodies = st.lists(st.sampled_from([*CLEAN, "<!-- APPENDIX_END -->", "```", "---", "<!-- x"]), max_size=4).map("\n".join)


@settings(max_examples=300)
@given(documents(), bodies | st.text(max_size=30))
def test_frontmatter_and_regions_are_never_touched(document: str, new: str) -> None:
    after, reason = with_body(document, new)
    if reason is not None:
        assert after == document
        return
    old_parts, new_parts = Structure(document), Structure(after)
    assert after[: new_parts.body_start].rstrip("\r\n") == document[: old_parts.body_start].rstrip("\r\n")
    assert [after[r.start : r.end] for r in new_parts.regions] == [document[r.start : r.end] for r in old_parts.regions]
    assert new_parts.problem is None
    assert set(new_parts.comments) <= set(old_parts.comments)


@settings(max_examples=200)
@given(
    documents(extra=[], eols=["\n"]), st.lists(st.sampled_from(["new", "- new", "# New"]), min_size=1).map("\n".join)
)
def test_a_plain_body_is_taken_and_comes_back(document: str, new: str) -> None:
    after, reason = with_body(document, new)
    if Structure(document).problem is None and reason is None:
        assert editable_body(after).strip() == new
        assert with_body(after, new) == (after, "the document would stay as it is")
        assert body(after)
