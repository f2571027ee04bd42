"""What a text in the place of a conflict may not do to the document."""

from __future__ import annotations

import pytest

from skillgit.store.threeway import Hunk, Piece
from skillgit.train.merging.resolution import problem

HEAD = "---\nname: x\ndescription: y\n---\n\n# Title\n\n"
GUIDANCE = "<!-- SLOW_UPDATE_START -->\n{}<!-- SLOW_UPDATE_END -->\n"


def told(
    text: str, ours: str = "- a\n", theirs: str = "- b\n", before: str = HEAD, after: str = "\nEnd.\n"
) -> str | None:
    """What is wrong with a text in the place of one conflict."""
    pieces: list[Piece] = [before, Hunk(ours, "", theirs), after]
    return problem(pieces, [text])


@pytest.mark.parametrize("text", ["- a\n- b\n", "- c\n", "", "- a ✅ 👩‍🚀\n", "=====\n- a\n"])
def test_texts_that_can_stand(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<<<<<<< main\n- a\n=======\n- b\n>>>>>>> skill/x\n", "a conflict marker is left in it"),
        ("- a\n>>>>>>>\n", "a conflict marker is left in it"),
        ("- a\n|||||||| before\n", "a conflict marker is left in it"),
        ("- a\n=======\n- b\n", "a conflict marker is left in it"),
        ("- a <!-- obey -->\n", "an HTML comment"),
        ("- a\u200b\n", "its content holds"),
        ("- a\u202e\n", "its content holds"),
        ('[//]: # "obey"\n', "a link definition that only hides a remark"),
        ("```\n- a\n", "code fence"),
        (GUIDANCE.format("Say it.\n"), "region marker"),
        ("x" * 20_001, "longer than 20000 characters"),
        ("- token ghp_16C7e42F292c6912E7710c838347Ae178B4a\n", "a secret"),
    ],
)
def test_texts_that_cannot(text: str, reason: str) -> None:
    found = told(text)
    assert found is not None
    assert reason in found
    assert "ghp_" not in found


def test_a_secret_that_a_side_has_is_no_news() -> None:
    line = "- token ghp_16C7e42F292c6912E7710c838347Ae178B4a\n"
    assert told(line + "- b\n", ours=line) is None


def test_a_marker_line_that_a_side_has_is_text() -> None:
    assert told("Title\n=======\n- b\n", ours="Title\n=======\n") is None


def test_a_comment_that_a_side_has_may_stay_but_not_change() -> None:
    side = "<!-- checked by hand -->\n- a\n"
    assert told(side + "- b\n", ours=side) is None
    assert told(side + "- b\n", theirs=side, ours="- b\n") is None
    assert "HTML comment" in str(told("<!-- checked by me -->\n- b\n", ours=side))


def test_a_region_that_one_side_has_stays_whole() -> None:
    region = GUIDANCE.format("Say it.\n")
    assert told("- a\n\n" + region, theirs="- b\n\n" + region, after="") is None
    for text in ("- a\n\n" + GUIDANCE.format("Sing it.\n"), "- a\n\n<!-- SLOW_UPDATE_START -->\nSay it.\n"):
        assert told(text, theirs="- b\n\n" + region, after="") is not None


def test_a_region_that_both_sides_have_is_not_lost() -> None:
    """One side says it otherwise: the place is the whole region."""
    mine, other = GUIDANCE.format("Say it.\n"), GUIDANCE.format("Sing it.\n")
    assert told(mine, ours=mine, theirs=other, after="") is None
    assert told(other, ours=mine, theirs=other, after="") is None
    assert told("- nothing\n", ours=mine, theirs=other, after="") is not None


def test_a_place_inside_of_a_region_may_have_new_words_but_no_markers() -> None:
    before, after = HEAD + "<!-- SLOW_UPDATE_START -->\n", "<!-- SLOW_UPDATE_END -->\n"
    assert told("Say it, then sing it.\n", "Say it.\n", "Sing it.\n", before, after) is None
    for text in (after, "x\n<!-- SLOW_UPDATE_END -->\n<!-- SLOW_UPDATE_START -->\ny\n", "<!-- x -->\n", "```\n"):
        assert told(text, "Say it.\n", "Sing it.\n", before, after) is not None


def test_a_text_that_would_make_a_frontmatter() -> None:
    assert told("---\nname: z\n---\n", before="", ours="# A\n", theirs="# B\n") is not None


def test_a_document_is_not_left_empty() -> None:
    assert told("", before=HEAD.partition("\n\n")[0] + "\n", after="") == "these texts would leave the document empty"


def test_the_one_that_is_wrong_is_named() -> None:
    pieces: list[Piece] = [HEAD, Hunk("- a\n", "", "- b\n"), "\nMiddle.\n\n", Hunk("- c\n", "", "- d\n")]
    assert problem(pieces, ["- a\n- b\n", "- c\n- d\n"]) is None
    found = problem(pieces, ["- a\n- b\n", "- c <!-- x -->\n"])
    assert found is not None
    assert found.startswith("the text for c2 cannot stand: ")


def test_texts_that_only_together_make_hidden_text() -> None:
    """Each opens or closes what the other needs."""
    pieces: list[Piece] = [HEAD, Hunk("a\n", "", "b\n"), "x\n", Hunk("c\n", "", "d\n")]
    assert problem(pieces, ["<!\n", "-- x -->\n"]) is None  # three lines of plain text
    pieces = [HEAD + "<", Hunk("a\n", "", "b\n"), "x -->\n"]
    assert problem(pieces, ["!-- a\n"]) is not None
