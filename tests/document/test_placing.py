from __future__ import annotations

import pytest

from skillgit.document.placing import last_line_for_append, last_line_for_insert, place_after, reindent
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Structure

REGION = "<!-- SLOW_UPDATE_START -->\ng\n<!-- SLOW_UPDATE_END -->\n"
APPENDIX = "<!-- APPENDIX_START -->\ng\n<!-- APPENDIX_END -->\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("\n \n", None),
        ("\ufeff", None),
        ("a", 0),
        ("a\n\nb\n\n\n", 2),
        ("---\nname: x\n---\n\n", 2),
        (f"a\n\n{REGION}", 0),
        (f"a\n\n{REGION}\n{APPENDIX}\n\n", 0),
        (f"{REGION}", None),
        (f"a\n\n{REGION}\nb\n", 6),
        (f"a\n\n{REGION}\nb\n\n{APPENDIX}", 6),
        (f"---\nname: x\n---\n{REGION}", 2),
        ("a <!-- SLOW_UPDATE_START -->g<!-- SLOW_UPDATE_END -->\n", None),
    ],
)
def test_appended_text_comes_after_the_last_line_before_trailing_regions(text: str, line: int | None) -> None:
    assert last_line_for_append(Structure(text)) == line


@pytest.mark.parametrize(
    ("text", "line", "block", "last"),
    [
        ("a\nb\n", 0, "x", 0),
        ("```\na\nb\n```\nc\n", 1, "x", 3),
        ("```\na\nb\n```\nc\n", 0, "x", 3),
        ("a\n\n```\nb\n", 3, "x", 3),
        (f"a\n\n```\nb\n\n{REGION}", 3, "x", 3),
        ("- ```\n  a\n\nb\n", 1, "x", 1),
        ("- a\n  more\n- c\n", 0, "- b", 1),
        ("- a\nlazy\n- c\n", 0, "- b", 1),
        ("- a\n  - a1\n\n    deep\n\n- c\n", 0, "- b", 3),
        ("- a\n  - a1\n- c\n", 0, "text", 1),
        ("- a\n  - a1\n- c\n", 0, "  - a0", 0),
        ("- a\n  more\n  - a1\n- c\n", 0, "  - a0", 1),
        ("- a\n  - a1\n  - a2\n- c\n", 1, "  - ax", 1),
        ("- a\n  - a1\n  - a2\n- c\n", 1, "- b", 2),
        ("1. x\n\n   ```\n   a\n   ```\n\n   more\n2. y\n", 3, "Then.", 6),
        ("1. x\n\n   ```\n   a\n   ```\n\n   more\n2. y\n", 3, "   Then.", 4),
    ],
)
def test_inserted_text_tears_no_fence_and_takes_over_no_lines(text: str, line: int, block: str, last: int) -> None:
    assert last_line_for_insert(Structure(text), line, [block]) == last


@pytest.mark.parametrize(
    ("text", "line", "block", "after"),
    [
        ("", None, "x", "x\n"),
        ("\ufeff", None, "x", "\ufeffx\n"),
        ("\n\n", None, "x", "x\n\n\n"),
        (REGION, None, "x", f"x\n\n{REGION}"),
        ("a", 0, "x", "a\n\nx\n"),
        ("a\n", 0, "x", "a\n\nx\n"),
        ("a\n\n", 0, "x", "a\n\nx\n"),
        ("a\n\n\n", 0, "x", "a\n\nx\n\n"),
        ("a\n  ", 0, "x", "a\n  \nx\n"),
        ("a\nb\n", 0, "x", "a\n\nx\n\nb\n"),
        ("a\n\nb\n", 0, "x", "a\n\nx\n\nb\n"),
        ("a\n\n\nb\n", 0, "x", "a\n\nx\n\nb\n"),
        ("a\n\n\n\nb\n", 0, "x", "a\n\nx\n\n\nb\n"),
        ("- a\n- b\n", 0, "- x", "- a\n- x\n- b\n"),
        ("- a\n- b\n", 0, "x", "- a\n\nx\n\n- b\n"),
        ("- a\n\nb\n", 0, "- x", "- a\n- x\n\nb\n"),
        ("- a\nb\n# c\n", 1, "- x", "- a\nb\n- x\n\n# c\n"),
        ("# a\n- b\n", 0, "- x", "# a\n\n- x\n- b\n"),
        ("# a\n\n- b\n", 0, "- x", "# a\n\n- x\n- b\n"),
        ("# a\n\n- b\n", 0, "- x\n\n  more", "# a\n\n- x\n\n  more\n- b\n"),
        ("# a\n\n- b\n", 0, "- x\n\nmore", "# a\n\n- x\n\nmore\n\n- b\n"),
        ("- a\n\n- b\n", 0, "- x", "- a\n- x\n\n- b\n"),
        ("1. a\n2. b\n", 0, "2. x", "1. a\n2. x\n2. b\n"),
        ("1) a\n", 0, "* [ ] x", "1) a\n* [ ] x\n"),
        ("- a\n  - b\n", 1, "  - x", "- a\n  - b\n  - x\n"),
        ("- a\n  - b\n    - c\n", 2, "    - x", "- a\n  - b\n    - c\n    - x\n"),
        ("- a\n\n  more\n", 2, "- x", "- a\n\n  more\n- x\n"),
        ("- a\n", 0, "- - -", "- a\n\n- - -\n"),
        ("- - -\n", 0, "- x", "- - -\n\n- x\n"),
        ("--flag\n", 0, "- x", "--flag\n\n- x\n"),
        ("```\n- a\n```\n", 2, "- x", "```\n- a\n```\n\n- x\n"),
        ("---\nname: x\n---", 2, "x", "---\nname: x\n---\n\nx\n"),
        ("---\nname: x\n---\n- a\n", 2, "- x", "---\nname: x\n---\n\n- x\n- a\n"),
        ("a\r\nb\r\n", 0, "x\ny", "a\r\n\r\nx\r\ny\r\n\r\nb\r\n"),
        ("a\r\nb", 1, "- x", "a\r\nb\r\n\r\n- x\r\n"),
        ("a\nb\nc\r", 2, "x", "a\nb\nc\r\r\nx\n"),
        ("a\rb\rc\rd\r\n", 0, "x", "a\r\rx\r\rb\rc\rd\r\n"),
        ("a\rb\r\n\n", 0, "x", "a\r\r\nx\n\nb\r\n\n"),
    ],
)
def test_blank_lines_around_added_text(text: str, line: int | None, block: str, after: str) -> None:
    change = place_after(Structure(text), line, block.split("\n"))
    assert change.start == change.end
    assert text[: change.start] + change.text + text[change.end :] == after


def test_no_lone_cr_grows_into_crlf() -> None:
    structure = Structure("a\rb\r\r\nc\rd\r")
    change = place_after(structure, 0, ["x"])
    assert Structure("a\rx\r").eol == "\r"
    changed = structure.changed(change).lines
    assert [changed[index] for index in range(len(changed))] == ["a", "", "x", "", "b", "", "c", "d"]


def test_a_place_inside_a_region_is_protected() -> None:
    with pytest.raises(Refusal) as caught:
        place_after(Structure(f"a {REGION}"), 0, ["x"])
    assert caught.value.status == "protected"


@pytest.mark.parametrize(
    ("block", "absolute", "expected"),
    [
        (["- z"], False, ["  - z"]),
        (["- z", "- w"], False, ["  - z", "  - w"]),
        (["- z", "  - w"], False, ["  - z", "  - w"]),
        (["  - z", "- w"], False, ["  - z", "- w"]),
        (["- z", "", "- w"], False, ["  - z", "", "  - w"]),
        (["- z", "- w"], True, ["  - z", "- w"]),
    ],
)
def test_lost_indentation_is_given_back(block: list[str], absolute: bool, expected: list[str]) -> None:
    assert reindent(block, "  ", rest_is_absolute=absolute) == expected
    assert reindent(block, "", rest_is_absolute=absolute) == block
