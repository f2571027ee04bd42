"""Another trainer's document as ours."""

from __future__ import annotations

import pytest

from skillgit.train.imports.dressing import Dresser, remarks

HEAD = "---\nname: x\ndescription: y\n---\n"


@pytest.mark.parametrize(
    ("base", "text", "dressed"),
    [
        (f"{HEAD}\n# A\n", "# B\n", f"{HEAD}\n# B\n"),
        (f"{HEAD}# A\n", "# B\n", f"{HEAD}# B\n"),
        (f"{HEAD}\n# A\n", "\n\n# B\n", f"{HEAD}\n\n# B\n"),
        (f"{HEAD}\n# A\n", f"{HEAD}\n# B\n", f"{HEAD}\n# B\n"),
        (f"{HEAD}\n# A\n", "---\nname: z\n---\n# B\n", "---\nname: z\n---\n# B\n"),
        (f"{HEAD}\n# A\n", "---\n\n# B\n", f"{HEAD}\n---\n\n# B\n"),
        ("# A\n", "# B\n", "# B\n"),
        (f"{HEAD}\n# A\n".replace("\n", "\r\n"), "# B\n", f"{HEAD}\n# B\n".replace("\n", "\r\n")),
    ],
    ids=["ours above", "without a gap", "a gap of its own", "the same", "its own", "a rule", "none", "CRLF"],
)
def test_a_document_gets_what_it_lacks(base: str, text: str, dressed: str) -> None:
    assert Dresser(base).dress(text) == dressed


def test_a_frontmatter_of_its_own_is_told_from_ours() -> None:
    dresser = Dresser(f"{HEAD}\n# A\n")
    assert not dresser.differs("# B\n")
    assert not dresser.differs(f"{HEAD}\n# B\n")
    assert dresser.differs("---\nname: z\n---\n# B\n")


def test_what_cannot_be_kept() -> None:
    dresser = Dresser("# A\n")
    assert dresser.fault("# B\n") is None
    assert dresser.fault(" \n") == "it is empty"
    assert dresser.fault("---\nname: x\n# B\n") == "the frontmatter that opens on line 1 never closes"
    assert dresser.fault("# B\n\npassword: hunter2-hunter2\n") == "it holds a secret (password)"
    assert dresser.fault("# B\n\0") == "line 2: a NUL byte, so this is no text"


def test_what_a_reader_does_not_see() -> None:
    assert remarks("# A\n\n<!-- SLOW_UPDATE_START -->\n<!-- SLOW_UPDATE_END -->\n") == []
    assert remarks("# A\u200b\n\n<!-- hidden -->\n") == [
        "holds U+200B ZERO WIDTH SPACE, an invisible character",
        "holds an HTML comment, which readers do not see",
    ]
    assert remarks("# A\n\n<!-- APPENDIX_START -->\n") == [
        "cannot be edited: the marker APPENDIX_START on line 3 has no end"
    ]
