from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.structure import Change, Structure, body, check_document, frontmatter, headings
from skillgit.errors import DocumentError

START, END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
HEAD = "---\nname: x\ndescription: y\n---\n"


def regions(text: str) -> list[str]:
    return [text[region.start : region.end] for region in Structure(text).regions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a\n{START}\ng\n{END}\nb\n", [f"{START}\ng\n{END}"]),
        (f"a {START}g{END} b", [f"{START}g{END}"]),
        ("<!--APPENDIX_START-->\n<!--  APPENDIX_END\n-->\n", ["<!--APPENDIX_START-->\n<!--  APPENDIX_END\n-->"]),
        (f"{START}\n{END}\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n{START}\n{END}\n", None),
        (f"{HEAD}{START}\n{END}\n", [f"{START}\n{END}"]),
        (f"---\nname: '{START}'\n---\na\n", []),
        (f"```\n{START}\n```\na\n", []),
        (f"{START}\n```\n{END}\n```\n{END}\n", [f"{START}\n```\n{END}\n```\n{END}"]),
        ("<!-- slow_update_start -->\n", []),
        ("SLOW_UPDATE_START\n", []),
    ],
)
def test_protected_regions(text: str, expected: list[str] | None) -> None:
    structure = Structure(text)
    assert structure.problem is None
    assert regions(text) == expected if expected is not None else len(regions(text)) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"a\n{START}\n", "the marker SLOW_UPDATE_START on line 2 has no end"),
        (f"a\n\n{END}\n", "the marker SLOW_UPDATE_END on line 3 has no start before it"),
        (f"{END}\n{START}\n", "the marker SLOW_UPDATE_END on line 1 has no start before it"),
        (f"{START}\n{START}\n{END}\n{END}\n", "the marker SLOW_UPDATE_START on line 2 stands inside the region"),
        (f"{START}\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n{END}\n", "the marker APPENDIX_START on line 2"),
        (f"{START}\n<!-- APPENDIX_END -->\n", "the marker APPENDIX_END on line 2 has no start before it"),
        (f"```\n{START}\n", "the marker SLOW_UPDATE_START on line 2 has no end"),
        (f"{HEAD}\n{START}\n", "the marker SLOW_UPDATE_START on line 6 has no end"),
        ("---\nname: x\n", "the frontmatter that opens on line 1 never closes"),
    ],
)
def test_what_no_edit_may_touch_is_a_problem(text: str, problem: str) -> None:
    structure = Structure(text)
    assert structure.problem is not None
    assert structure.problem.startswith(problem)
    assert structure.regions == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <!-- b --> c <!-- d -->", ["<!-- b -->", "<!-- d -->"]),
        ("<!--\na\n\nb\n-->\nc\n", ["<!--\na\n\nb\n-->"]),
        ("a <!-- b\nc --> d\n", ["<!-- b\nc -->"]),
        ("a <!-- b\n\nc --> d\n", []),
        ("a\n\n<!-- never closed\n\nb\n", ["<!-- never closed\n\nb"]),
        ("```\n<!-- a -->\n```\n", []),
        ("`<!-- a -->` <!-- b -->\n", ["<!-- b -->"]),
        ("`<!--` opens one, `-->` closes it\n", []),
        ("a <!-- b\n```\n-->\n```\n", []),
        ("<!--> a\n", ["<!-->"]),
        ("---\na: '<!-- b -->'\n---\n", []),
        ("- a\n  <!-- b\n- c\n", ["<!-- b"]),
        ("a -- b\n", []),
    ],
)
def test_comments_that_a_reader_does_not_see(text: str, expected: list[str]) -> None:
    assert list(Structure(text).comments) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n", "# A\n"),
        (HEAD + "\n# A\n", "\n# A\n"),
        (HEAD.removesuffix("\n"), ""),
        ("\ufeff# A\n", "# A\n"),
        ("\ufeff" + HEAD.replace("\n", "\r\n") + "# A\r\n", "# A\r\n"),
        ("---\n\n# A\n", "---\n\n# A\n"),
        ("# A\n\n---\nname: x\n---\n", "# A\n\n---\nname: x\n---\n"),
    ],
)
def test_the_body_is_the_document_without_its_frontmatter(text: str, expected: str) -> None:
    assert body(text) == expected


def test_frontmatter_is_read() -> None:
    assert frontmatter(HEAD + "# A\n") == {"name": "x", "description": "y"}
    assert frontmatter("\ufeff" + HEAD) == {"name": "x", "description": "y"}
    assert frontmatter("# A\n") == {}
    with pytest.raises(DocumentError, match="line 2"):
        frontmatter("---\na: b: c\n---\n")


def test_headings_of_the_body() -> None:
    found = headings("---\n# no: 1\n---\n# A\n\n```\n# no\n```\n\nB\n---\n")
    assert [(heading.line, heading.level, heading.title) for heading in found] == [(3, 1, "A"), (9, 2, "B")]


@pytest.mark.parametrize(
    "data",
    [
        b"# A\n",
        b"a\r\nb\r\n",
        b"\xef\xbb\xbf# A\r\n",
        "# Caf\u00e9 \u4e2d\n".encode(),
        b"---\nname: x\n---\n",
        b"---\n---\n# A\n",
        b"---\n\n# A starts with a horizontal rule\n",
        b"<!-- SLOW_UPDATE_START -->\n",
    ],
)
def test_a_good_document_comes_out_byte_for_byte(data: bytes) -> None:
    assert check_document(data, "SKILL.md").encode() == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the document is empty"),
        (b" \r\n\t\n", "the document is empty"),
        (b"\xef\xbb\xbf\n", "the document is empty"),
        (b"a\nb\xff\n", "line 2: not UTF-8 (byte 0xff)"),
        ("caf\u00e9".encode("latin-1"), "line 1: not UTF-8 (byte 0xe9)"),
        (b"\xed\xa0\x80", "line 1: not UTF-8"),
        ("# A\n".encode("utf-16"), "encoded as UTF-16"),
        (b"a\n\nb\0\n", "line 3: a NUL byte"),
        (b"---\nname: x\n# A\n", "the frontmatter that opens on line 1 never closes"),
        (b"---\nname: x: y\n---\n", "line 2: the frontmatter is not valid YAML"),
        (b"---\r\nname: x\r\nb: [\r\n---\r\n", "line 3: the frontmatter is not valid YAML"),
        (b"---\n- a\n---\n", "line 2: the frontmatter is not a YAML mapping"),
        (b"---\njust text\n---\n# A\n", "line 2: the frontmatter is not a YAML mapping"),
    ],
)
def test_a_bad_document_is_named_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        check_document(data, "skills/x/SKILL.md")
    assert caught.value.message.startswith(f"skills/x/SKILL.md: {message}")
    assert caught.value.mend
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=40) | st.text(alphabet="-a: \n\r\ufeff\0").map(str.encode))
def test_any_bytes_are_a_document_or_a_document_error(data: bytes) -> None:
    try:
        text = check_document(data, "SKILL.md")
    except DocumentError:
        return
    assert text.encode() == data
    assert text.endswith(body(text))


@given(st.text(alphabet="a-`>\n #<!", max_size=40), st.data())
def test_a_changed_structure_is_the_structure_of_the_changed_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    change = Change(start, end, data.draw(st.text(alphabet="a-`>\n #<!", max_size=10)))
    changed = Structure(text).changed(change)
    again = Structure(changed.text)
    assert changed.text == text[:start] + change.text + text[end:]
    assert changed.blocks.roles == again.blocks.roles
    assert changed.blocks.fresh == again.blocks.fresh
    assert changed.comments == again.comments


def test_a_git_lfs_pointer_is_no_document() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    with pytest.raises(DocumentError, match="Git LFS pointer"):
        check_document(pointer, "SKILL.md")
