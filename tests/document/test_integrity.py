from __future__ import annotations

import pytest

from skillgit.document.integrity import check_change
from skillgit.document.refusal import Refusal
from skillgit.document.structure import Change, Structure

REGION = "<!-- SLOW_UPDATE_START -->\nkeep\n<!-- SLOW_UPDATE_END -->\n"


def check(document: str, old: str, new: str) -> None:
    """Check the change of the one place of `old`; an empty `old` stands for the end."""
    start = document.index(old) if old else len(document)
    before = Structure(document)
    change = Change(start, start + len(old), new)
    check_change(before, before.changed(change), change)


@pytest.mark.parametrize(
    ("document", "old", "new", "reason"),
    [
        pytest.param("", "", "---\nname: x\n---\n", "frontmatter", id="makes-frontmatter"),
        pytest.param("", "", "---\nname: x\n", "frontmatter", id="opens-frontmatter"),
        pytest.param("\ufeff", "", "---\nname: x\n---\n", "frontmatter", id="makes-frontmatter-behind-a-bom"),
        pytest.param("---\n\n# A\n", "# A", "name: x\n---", "frontmatter", id="turns-a-rule-into-frontmatter"),
        pytest.param("a\n---\nname: x\n---\n", "a\n", "", "frontmatter", id="uncovers-frontmatter"),
        pytest.param("---\nname: x\n---\n", "name: x", "name: y", "frontmatter", id="changes-frontmatter"),
        pytest.param("a <! b-- c\n", " b", "", "a protected|open an HTML comment", id="joins-a-comment"),
        pytest.param("a\n\n<!-- b\nc\n-->\n", "c", "d", "inside an HTML comment", id="speaks-in-a-comment"),
        pytest.param("a\n\n<!-- b\nc\n-->\n\nd\n", "-->", "", "inside an HTML comment", id="opens-a-comment-wide"),
        pytest.param("a <!-- b --> <!-- c -->\n", " --> <!--", "", "inside an HTML comment", id="merges-comments"),
        pytest.param("a\n\n<!-- b\n", "", "c\n", "inside an HTML comment", id="goes-into-an-open-comment"),
        pytest.param(f"a\n{REGION}", "keep", "give", "protected region", id="changes-a-region"),
        pytest.param(f"a\n{REGION}", REGION, "", "protected region", id="removes-a-region"),
        pytest.param("<!-- SLOW_UPDATE_X -->\n", "X", "START", "protected region", id="makes-a-marker"),
        pytest.param(f"```\n{REGION}```\n", "```\n", "", "protected region", id="wakes-a-shown-marker"),
        pytest.param("a\n", "", "```\nb\n", "code", id="opens-a-fence-at-the-end"),
        pytest.param("a\n\nb\n", "a\n", "```\n", "code", id="opens-a-fence"),
        pytest.param("a\n\nb\n", "a\n", "- ```\n", "code", id="opens-a-fence-in-a-list"),
        pytest.param("```\na\n```\nb\n", "```\na", "a", "code", id="removes-an-opening-fence"),
        pytest.param("```\na\n```\nb\n", "a\n```\n", "a\n", "code", id="removes-a-closing-fence"),
        pytest.param("```\na\n```\nb\n```\nc\n```\n", "```\na", "a", "code", id="shifts-the-fences"),
        pytest.param("```\na\nb\n```\n", "a", "```", "code", id="closes-a-fence-early"),
        pytest.param("```\na\n```\nb\n", "```\na", "````\na", "code", id="makes-a-fence-too-long-for-its-end"),
        pytest.param("1.  a\n\n    ```\n    b\n    ```\n", "1.  a", "a", "code", id="takes-a-fence-out-of-its-list"),
    ],
)
def test_what_would_change_the_rest_is_refused(document: str, old: str, new: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason) as caught:
        check(document, old, new)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("document", "old", "new"),
    [
        pytest.param("# A\n", "", "---\nname: x\n---\n", id="rules-further-down"),
        pytest.param("---\nname: x\n---\nq\n", "q", "b", id="below-frontmatter"),
        pytest.param("---\n\n# A\n", "# A", "# B", id="below-a-horizontal-rule"),
        pytest.param("a <!-- b --> c\n", "a", "d", id="beside-a-comment"),
        pytest.param("a\n\n<!-- b\nc\n-->\n\nd\n", "<!-- b\nc\n-->", "", id="removes-a-comment"),
        pytest.param("use `<!--` to open\n\nb\n", "b", "c", id="below-a-shown-comment-mark"),
        pytest.param("```html\n<!-- a -->\n```\n", "a", "b", id="inside-a-shown-comment"),
        pytest.param(f"a\n{REGION}", "a", "b", id="beside-a-region"),
        pytest.param("```\na\n```\nb\n", "```\na\n```\n", "", id="removes-a-fence"),
        pytest.param("```\na\n```\nb\n", "```\n", "```sh\n", id="names-the-language"),
        pytest.param("```\na\n```\nb\n", "a", "c\n\nd", id="inside-a-fence"),
        pytest.param("a\nb\n", "a", "```\nc\n```", id="brings-a-fence"),
        pytest.param("```\na\n", "", "b\n", id="into-a-fence-left-open"),
        pytest.param("```\na\n", "", "```\nb\n", id="closes-a-fence-left-open"),
        pytest.param("- ```\n  a\n", "", "- b\n", id="beside-an-item-with-an-open-fence"),
    ],
)
def test_what_leaves_the_rest_alone_is_fine(document: str, old: str, new: str) -> None:
    check(document, old, new)
