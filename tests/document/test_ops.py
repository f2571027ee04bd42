from __future__ import annotations

import pytest

from skillgit.document import ops
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Structure

REGION = "<!-- SLOW_UPDATE_START -->\nkeep\n<!-- SLOW_UPDATE_END -->\n"


def after(document: str, change: Change) -> str:
    return document[: change.start] + change.text + document[change.end :]


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ("a\nb\nc\n", "b", "a\nc\n"),
        ("a\nb", "b", "a\n"),
        ("a\r\nb\r\nc\r\n", "b", "a\r\nc\r\n"),
        ("a\nb  \nc\n", "b", "a\nc\n"),
        ("a\n  b\nc\n", "b", "a\nc\n"),
        ("a\nb\nc\n", "a\nb", "c\n"),
        ("- a\n  - b\n  - c\n", "- b", "- a\n  - c\n"),
        ("use the git tool\n", "the git", "use  tool\n"),
        ("use the git\nb\n", "the git", "use \nb\n"),
        ("x a\nb\nc\n", "a\nb", "x \nc\n"),
        ("a\n\nb\n\nc\n", "b", "a\n\n\nc\n"),
        ("a\n\nb\n\nc\n", "b\n\n", "a\n\nc\n"),
        ("a\n\nb\n\nc\n", "\n\nb", "a\n\nc\n"),
        ("a\n\nb\n\nc\n", "\n\nb\n\n", "a\nc\n"),
        ("a\nb\n", "a\n\n\n", "b\n"),
        ("---\nx: 1\n---\n\nb\n", "\n\n\n\nb", "---\nx: 1\n---\n"),
        (f"keep\n{REGION}", "keep", REGION),
        ("a\n", "a", ""),
        ("\ufeffa\nb\n", "a", "\ufeffb\n"),
    ],
)
def test_delete(document: str, target: str, expected: str) -> None:
    assert after(document, ops.delete(Structure(document), target)) == expected


@pytest.mark.parametrize(
    ("document", "target", "content", "expected"),
    [
        ("a\nb\n", "a", "x", "x\nb\n"),
        ("a\nb\n", "a", "x\ny", "x\ny\nb\n"),
        ("a\nb\n", "a\nb\n", "x\n", "x\n"),
        ("a\nb\n", "a\n", "\n\nx\n\n", "x\nb\n"),
        ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
        ("a\nb\n", "a", "x\r\ny\r\n", "x\ny\nb\n"),
        ("Name: a  \nAge: b\n", "Name: a", "Name: c", "Name: c  \nAge: b\n"),
        ("Name: a  \nAge: b\n", "Name: a  ", "Name: c", "Name: c\nAge: b\n"),
        ("use git often\n", "git", "jj", "use jj often\n"),
        ("x and y\n", " and y", ", y and z", "x, y and z\n"),
        ("1. x\n   - y\n", "- y", "- z\n- w", "1. x\n   - z\n   - w\n"),
        ("1. x\n   - y\n", "- y", "   - z", "1. x\n   - z\n"),
        ("1. x\n   - y\n2. z\n", "- y\n2. z", "- w\n2. v", "1. x\n   - w\n2. v\n"),
        ("cafe\u0301\n", "caf\u00e9", "caf\u00e9s", "caf\u00e9s\n"),
        ("a", "a", "b", "b"),
    ],
)
def test_replace(document: str, target: str, content: str, expected: str) -> None:
    assert after(document, ops.replace(Structure(document), target, content)) == expected


@pytest.mark.parametrize(
    ("document", "target", "content", "expected"),
    [
        ("- a\n- c\n", "a", "- b", "- a\n- b\n- c\n"),
        ("one two\nthree\n", "one", "x", "one two\n\nx\n\nthree\n"),
        ("a\nb\nc\n", "a\nb", "x", "a\nb\n\nx\n\nc\n"),
        ("- a\n  - b\n  - c\n", "- b", "- x", "- a\n  - b\n  - x\n  - c\n"),
        ("- a\n  - b\n  - c\n", "  - b", "- x", "- a\n  - b\n  - c\n- x\n"),
        ("a\n\n```\nx\ny\n```\n- b\n", "y", "- z", "a\n\n```\nx\ny\n```\n\n- z\n- b\n"),
        (f"a\n{REGION}", "a", "x", f"a\n\nx\n\n{REGION}"),
        (f"{REGION}a\n", "a", "x", f"{REGION}a\n\nx\n"),
    ],
)
def test_insert_after(document: str, target: str, content: str, expected: str) -> None:
    assert after(document, ops.insert_after(Structure(document), target, content)) == expected


@pytest.mark.parametrize(
    ("document", "content"),
    [
        ("# A\n\n- never guess\n", "- never guess"),
        ("# A\n\n- a\n- b\n- c\n", "- a\n- b"),
        ("- a  \r\n\r\n- b\r\n", "- a\n- b\n"),
        ("- a\n- b\n", "- a\n\n- b"),
        ("cafe\u0301\n", "caf\u00e9"),
        ("x\n\n```\na\n```\n\ny\n", "```\na\n```"),
    ],
)
def test_an_append_of_what_is_said_line_for_line_changes_nothing(document: str, content: str) -> None:
    with pytest.raises(Refusal) as caught:
        ops.append(Structure(document), content)
    assert caught.value.status == "no_change"


@pytest.mark.parametrize(
    ("document", "content"),
    [
        ("- a\n- x\n- b\n", "- a\n- b"),
        ("- a b\n", "- a"),
        ("- a\n", "- a\n- b"),
        ("- a\n", "a"),
        ("- x\n  - a\n", "- a"),
        (REGION, "keep"),
        (f"a\n{REGION}b\n", "a\nb"),
        ("---\nname: x\n---\n", "name: x"),
        ("```\nmake\n```\n", "make"),
        ("make\n", "```\nmake\n```"),
    ],
)
def test_an_append_of_anything_else_is_one(document: str, content: str) -> None:
    change = ops.append(Structure(document), content)
    assert content in change.text


@pytest.mark.parametrize(
    ("document", "target", "content"),
    [
        ("- a\n- b\n", "- a", "- b"),
        ("- a\n\n- b\n", "- a", "- b"),
        ("a\n\nb  \nc\n", "a", "b\n\nc"),
        ("- a\n  more\n- b\n", "- a", "- b"),
        ("```\na\nb\n```\n\nc\n", "a", "b"),
        ("```\na\nb\n```\n\nc\n", "a", "c"),
    ],
)
def test_an_insertion_of_what_follows_changes_nothing(document: str, target: str, content: str) -> None:
    with pytest.raises(Refusal) as caught:
        ops.insert_after(Structure(document), target, content)
    assert caught.value.status == "no_change"


def test_what_follows_in_a_region_does_not_count() -> None:
    document = f"a\n\n{REGION}"
    assert ops.insert_after(Structure(document), "a", "keep").text == "keep\n\n"
    assert ops.insert_after(Structure("- b\n- a\n"), "- a", "- b").text == "- b\n"


@pytest.mark.parametrize("content", ["a  b", "a  b  ", "\na  b\n", "caf\u00e9"])
def test_a_replacement_by_the_same_changes_nothing(content: str) -> None:
    structure = Structure("a  b\ncafe\u0301\n")
    with pytest.raises(Refusal) as caught:
        ops.replace(structure, content.strip(), content)
    assert caught.value.status == "no_change"


@pytest.mark.parametrize(
    ("document", "target", "status", "reason"),
    [
        ("a\n", "b", "unmatched", 'its target "b" is not in the document'),
        ("", "b", "unmatched", 'its target "b" is not in the document'),
        ("a b\na c\n", "a", "ambiguous", 'its target "a" fits more than one place (lines 1, 2): quote more'),
        ("a b a\n", "a", "ambiguous", 'its target "a" fits more than one place (line 1): quote more'),
        (REGION, "keep", "protected", 'its target "keep" touches a protected region (line 2)'),
        ("---\nname: x\n---\n", "name: x", "protected", 'its target "name: x" touches the frontmatter (line 2)'),
    ],
)
def test_why_a_target_does_not_do(document: str, target: str, status: str, reason: str) -> None:
    for op in (ops.delete, lambda structure, target: ops.replace(structure, target, "new")):
        with pytest.raises(Refusal) as caught:
            op(Structure(document), target)
        assert (caught.value.status, caught.value.reason) == (status, reason)
