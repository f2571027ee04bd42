from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.matching import find_target, normal_line
from skillgit.document.structure import Structure

REGION = "<!-- SLOW_UPDATE_START -->\nkeep\n<!-- SLOW_UPDATE_END -->\n"


def places(document: str, target: str) -> list[str]:
    """The text of each place that may be edited, with the rest of its line and the one before in brackets."""
    found = find_target(Structure(document), target).editable
    return [f"{document[: match.start][-3:]}[{document[match.start : match.end]}]" for match in found]


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ("use gitlab\nuse git\n", "use git", ["ab\n[use git]"]),
        ("use git-lfs\n", "use git", []),
        ("reuse git\n", "use git", []),
        ("edit config.yaml, not config\n", "config", ["ot [config]"]),
        ("don't\n", "don", []),
        ("a b a b a\n", "a b a", ["[a b a]", " b [a b a]"]),
        ("x (git) `git`\n", "git", ["x ([git]", ") `[git]"]),
        ("\u4e0d\u8981\u731c\u6d4b\n", "\u731c\u6d4b", ["\u4e0d\u8981[\u731c\u6d4b]"]),
    ],
)
def test_a_match_never_begins_or_ends_inside_a_word(document: str, target: str, expected: list[str]) -> None:
    assert places(document, target) == expected


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ("- a\n- a b\n", "- a", ["[- a]"]),
        ("# Setup on Linux\n\n# Setup\n", "# Setup", ["x\n\n[# Setup]"]),
        ("- a\n- a\n- a b\n", "- a", ["[- a]", " a\n[- a]"]),
        ("- a c\n- a b\n", "- a", ["[- a]", " c\n[- a]"]),
        ("  - a\n- b\n", "- a", ["  [- a]"]),
        ("  - a\n- a\n", "- a", ["  [- a]", " a\n[- a]"]),
        ("  - a\n- a\n", "  - a", ["[  - a]"]),
        ("    - a\n", "  - a", []),
        ("x and y\n", " and y", ["x[ and y]"]),
    ],
)
def test_whole_lines_are_meant_where_the_target_is_some(document: str, target: str, expected: list[str]) -> None:
    assert places(document, target) == expected


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ("- a\n- a b\n- c a\n", "- a b\n", [" a\n[- a b]"]),
        ("a b\nc b\n", "b\n", ["a [b]", "\nc [b]"]),
        ("a b\n", "a\n", []),
        ("a b\n", "\nb", []),
        ("a\nb", "\n\nb\n\n", ["a\n[b]"]),
    ],
)
def test_blank_lines_around_a_target_say_that_it_is_whole_lines(
    document: str, target: str, expected: list[str]
) -> None:
    assert places(document, target) == expected


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ("one\r\ntwo\r\n", "one\ntwo", ["[one\r\ntwo]"]),
        ("one\ntwo\n", "one\r\ntwo\r\n", ["[one\ntwo]"]),
        ("one\rtwo", "one\ntwo", ["[one\rtwo]"]),
        ("one  \n \t\ntwo\t\n", "one\n\ntwo", ["[one  \n \t\ntwo]"]),
        ("one\n\ntwo\n", "one  \n   \ntwo  ", ["[one\n\ntwo]"]),
        ("one  \n", "one  ", ["[one  ]"]),
        ("one\n\n\ntwo\n", "one\n\ntwo", []),
        ("\ufeffone\n", "one", ["\ufeff[one]"]),
    ],
)
def test_line_ends_and_trailing_spaces_do_not_matter(document: str, target: str, expected: list[str]) -> None:
    assert places(document, target) == expected


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ("cafe\u0301 x\n", "caf\u00e9 x", ["[cafe\u0301 x]"]),
        ("caf\u00e9 x\n", "cafe\u0301 x", ["[caf\u00e9 x]"]),
        ("a\u0323\u0301 b a\u0301\u0323 c\n", "\u1ea1\u0301 c", ["\u0323 b"[-2:] + " [a\u0301\u0323 c]"]),
        ("cafe\u0301\n", "cafe", []),
        ("\u1112\u1161\u11ab x\n", "\ud55c", ["[\u1112\u1161\u11ab]"]),
        ("\u212b \u00c5 A\u030a\n", "x \u00c5", []),
        ("e\u0301e\u0301 x e\u0301\n", "x", ["\u0301 [x]"]),
        ("e\u0301 x\ne\u0301 y\n", "y", ["\u0301 [y]"]),
    ],
)
def test_composed_and_decomposed_text_are_the_same(document: str, target: str, expected: list[str]) -> None:
    assert [place[-len(want) :] for place, want in zip(places(document, target), expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("document", "target", "editable", "protected"),
    [
        (f"keep\n\n{REGION}", "keep", 1, True),
        (f"a\n\n{REGION}", "keep", 0, True),
        (f"a\n\n{REGION}", "a\n\n<!-- SLOW_UPDATE_START -->", 0, True),
        (f"a\n\n{REGION}", "SLOW_UPDATE_END", 0, True),
        (f"{REGION}\na\n", "a", 1, False),
        ("---\nname: x\n---\n\nname: x\n", "name: x", 1, True),
        ("---\nname: x\n---\nb\n", "---\nb", 0, True),
        ("---\nname: x\n---\n\n---\n", "---", 1, True),
        ("a\n", "b", 0, False),
    ],
)
def test_protected_text_is_no_place_for_an_edit(document: str, target: str, editable: int, protected: bool) -> None:
    found = find_target(Structure(document), target)
    assert len(found.editable) == editable
    # Protected places are only counted where no whole line was found first.
    assert bool(found.protected) == protected


TEXT = st.text(alphabet="aeb.-' \t\n\r\u0301\u00e9\u0323\u1112\u1161\u11ab", max_size=40)


@given(TEXT, TEXT.filter(lambda text: bool(text.strip())))
def test_what_is_found_is_the_target(document: str, target: str) -> None:
    structure = Structure(document)
    for match in find_target(structure, target).editable:
        place = document[match.start : match.end].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        wanted = target.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
        wanted = [line for line in wanted if line.strip(" \t")]
        assert [normal_line(line) for line in place if line.strip(" \t")] == [normal_line(line) for line in wanted]


@given(st.text(alphabet="ae .\n\u0301\u1112\u1161\u11ab\u4e2d", max_size=30))
def test_every_line_is_found_in_any_form(document: str) -> None:
    structure = Structure(document)
    for index in range(len(structure.lines)):
        if not structure.lines[index].strip(" \t"):
            continue
        for form in ("NFC", "NFD"):
            found = find_target(structure, unicodedata.normalize(form, structure.lines[index]))
            start, end = structure.lines.starts[index], structure.lines.ends[index]
            many = len(found.editable) == 5
            assert many or any(match.start == start and match.end == end for match in found.editable)
