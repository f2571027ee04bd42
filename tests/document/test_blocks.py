from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skillgit.document.blocks import Blocks, Fence, Role, find_headings, indent_of, is_item, rescan, scan
from skillgit.document.lines import Lines

PARTS = ["a", "- a", "- ", "1. b", "2. c", "  ", "    ", "> ", "```", "~~~", "```sh", "````", "---", "# h", "==="]
PARTS += ["   ```", "      ```", "", "", "- - ", "* x", "10) y", "\t", "<!-- c -->", "<!-- o", "-->"]
LINE = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("".join)
LINES = st.lists(LINE, max_size=9)
# Without what markdown-it-py itself reads otherwise than the specification: quoted indented code, lazy tabs.
PLAIN = [part for part in PARTS if part not in ("\t", "> ", "<!-- o", "-->")]
PLAIN_LINES = st.lists(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3).map("".join), max_size=9)


def roles(text: str) -> str:
    """One letter per line: `.` outside, `O` opens, `i` inside, `C` closes."""
    return "".join(".OiC"[role] for role in scan(Lines(text)).roles)


@settings(derandomize=True, max_examples=400)
@given(PLAIN_LINES)
def test_fences_and_headings_are_where_another_commonmark_reader_sees_them(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    tokens = MarkdownIt("commonmark").parse(text)
    found = Lines(text)
    blocks = scan(found)
    opened = [index for index, role in enumerate(blocks.roles) if role is Role.OPENS]
    assert opened == [token.map[0] for token in tokens if token.type == "fence" and token.map]
    headings = [(token.map[0], int(token.tag[1])) for token in tokens if token.type == "heading_open" and token.map]
    assert [(heading.line, heading.level) for heading in find_headings(found)] == sorted(headings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\na\n```\nb\n", "OiC."),
        ("~~~\n```\n~~~\n", "OiC"),
        ("````\n```\n````\n", "OiC"),
        ("```\n````\n", "OC"),
        ("```\n``` x\n```\n", "OiC"),
        ("``` a`b\n", "."),
        ("~~~ a`b\n~~~\n", "OC"),
        ("    ```\na\n", ".."),
        ("   ```\na\n   ```\n", "OiC"),
        ("```\n    ```\n```\n", "OiC"),
        ("``\n", "."),
        ("```\na\n", "Oi"),
        ("```\n\n\n\nb\n```\n", "OiiiiC"),
        ("- x\n  ```\n  a\n  ```\n- y\n", ".OiC."),
        ("1. x\n   ```sh\n   a\n\n   b\n   ```\n", ".OiiiC"),
        ("- a\n  - b\n    ```\n    c\n    ```\n", "..OiC"),
        ("- ```\n  a\n  ```\n", "OiC"),
        ("- ```\n  a\nb\n", "Oi."),
        ("- ```\n  a\n- ```\n  b\n", "OiOi"),
        ("> ```\n> a\n> ```\nb\n", "OiC."),
        ("> ```\n> a\nb\n", "Oi."),
        ("<!--\n```\n-->\n```\n", "...O"),
        ("a\n\n    b\n\n```\n```\n", "....OC"),
        ("a\n    ```\n", ".."),
        ("```\r\na\r\n```\r\nb\r\n", "OiC."),
        ("-\n\n  ```\n  ```\n", "..OC"),
    ],
)
def test_fence_lines(text: str, expected: str) -> None:
    assert roles(text) == expected


def test_a_fence_is_found_from_any_of_its_lines() -> None:
    blocks = scan(Lines("a\n```\nb\n```\n- ```\n  c\nd\n```\ne\n"))
    assert [blocks.fence_at(line) for line in range(9)] == [
        None,
        *[Fence(1, 3, closed=True)] * 3,
        *[Fence(4, 5, closed=False)] * 2,
        None,
        *[Fence(7, 8, closed=False)] * 2,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A #\n## B C\ntext\n", [(0, 1, "A"), (1, 2, "B C")]),
        ("#no\n####### seven\n#\n", [(2, 1, "")]),
        ("# a#\n# b \\#\n", [(0, 1, "a#"), (1, 1, "b \\#")]),
        ("One\ntwo\n===\n\nThree\n---\n", [(0, 1, "One two"), (4, 2, "Three")]),
        ("```\n# no\n```\n<!--\n# no\n-->\n# yes\n", [(6, 1, "yes")]),
        ("- # in a list\n", [(0, 1, "in a list")]),
        ("a\n\n---\n", []),
    ],
)
def test_headings(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert [(found.line, found.level, found.title) for found in find_headings(Lines(text))] == expected


@pytest.mark.parametrize(
    "line", ["- a", "* a", "+ a", "1. a", "12) a", "  - a", "\t- a", "- [ ] a", "-", "-\ta", "999999999. a"]
)
def test_list_items(line: str) -> None:
    assert is_item(line)


@pytest.mark.parametrize(
    "line",
    ["--no-verify", "-a", "1.a", "1a", "**a**", "---", "- - -", "* * *", "  * * *", "", "a", "1234567890. a", "#"],
)
def test_no_list_items(line: str) -> None:
    assert not is_item(line)


def test_indentation_counts_columns() -> None:
    assert [indent_of(line) for line in ("a", "  a", "\ta", "  \ta", " \t a")] == [0, 2, 4, 4, 5]


def test_lines_belong_to_the_innermost_item() -> None:
    lines = Lines("p\n- a\n  more\nlazy\n  - b\n\n    para\n- c\n\nend\n")
    blocks = scan(lines)
    columns = [None if item is None else (item.indent, item.parent is not None) for item in blocks.items]
    top, nested = (0, False), (2, True)
    assert columns == [None, top, top, top, nested, None, nested, top, None, None]
    first = blocks.items[1]
    assert first is not None
    assert blocks.last_of(first, 1) == 6


def test_nesting_beyond_reason_is_read_as_text() -> None:
    blocks = scan(Lines("> " * 5000 + "x\n" + "- " * 5000 + "x\n"))
    assert len(blocks.roles) == 2


def shape(blocks: Blocks) -> list[object]:
    """Everything in the blocks, with the items numbered in the order in which they first appear."""
    numbers: dict[int, int] = {}
    items = []
    for item in blocks.items:
        chain = []
        while item is not None:
            chain.append((numbers.setdefault(id(item), len(numbers)), item.indent))
            item = item.parent
        items.append(chain)
    return [blocks.roles, items, blocks.comments, blocks.fresh]


@settings(max_examples=400)
@given(LINES, LINES, LINES, LINES, st.integers(0, 2))
def test_scanning_again_around_a_change_finds_what_scanning_all_finds(
    above: list[str], old: list[str], new: list[str], below: list[str], first: int
) -> None:
    before = Lines("".join(line + "\n" for line in [*above, *old, *below]))
    after = Lines("".join(line + "\n" for line in [*above, *new, *below]))
    first = min(first, len(above))
    found = rescan(scan(before, first), after, first, len(above), len(below))
    assert shape(found) == shape(scan(after, first))


def test_scanning_again_leaves_the_rest_alone() -> None:
    text = "# A\n\n- a\n" + "- b\n" * 50 + "\nend\n"
    old = scan(Lines(text))
    changed = Lines(text.replace("- a\n", "- x\n- y\n"))
    found = rescan(old, changed, 0, 2, len(changed) - 4)
    assert found.items[-5] is old.items[-5]
