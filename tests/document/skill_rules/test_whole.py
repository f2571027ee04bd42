"""All rules on one document."""

from __future__ import annotations

import pytest
from support.hooked import TOKEN

from skillgit.document.skill_rules import check_skill
from skillgit.document.skill_rules.whole import Look
from skillgit.envs.builtin import builtin_names, builtin_root

HEAD = "---\nname: ops\ndescription: Answers.\n---\n"


def found(
    text: str | bytes, look: Look = lambda _: "here", *, skill: bool = True, folder: str | None = "ops"
) -> list[tuple[int, str, str]]:
    data = text.encode() if isinstance(text, str) else text
    return [(one.line, one.level, one.message) for one in check_skill(data, look, skill=skill, folder=folder)]


@pytest.mark.parametrize("name", builtin_names())
def test_the_seed_skills_are_well(name: str) -> None:
    data = (builtin_root() / name / "SKILL.md").read_bytes()
    assert check_skill(data, lambda _: "missing", folder=name) == []


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 1, "the document is empty"),
        (b"a\nb \xff\n", 2, "not UTF-8 (byte 0xff)"),
        (b"a\n\0", 2, "a NUL byte, so this is no text"),
        (b"\xff\xfea\0", 1, "encoded as UTF-16, not as UTF-8"),
        (b"---\nname: ops\n", 1, "the frontmatter that opens on line 1 never closes"),
        (b"---\nname: ops\na: [\n---\n", 3, "the frontmatter is not valid YAML: "),
        (b"version https://git-lfs.github.com/spec/v1\n", 1, "a Git LFS pointer"),
    ],
)
def test_what_cannot_be_read_is_one_finding(data: bytes, line: int, message: str) -> None:
    ((at, level, said),) = found(data)
    assert (at, level) == (line, "error")
    assert said.startswith(message)


def test_a_byte_order_mark_hides_the_frontmatter() -> None:
    ((line, level, message),) = found("\ufeff" + HEAD)
    assert (line, level) == (1, "error")
    assert "byte order mark" in message


def test_length_is_warned_of() -> None:
    assert found(HEAD + "x\n" * 496) == []
    assert found(HEAD + "x\n" * 497) == [(501, "warning", "501 lines, more than 500: move details to references/")]
    assert found(HEAD + "x" * 20000) == []
    assert found(HEAD + "x" * 20001) == [
        (1, "warning", "about 5001 tokens, more than 5000: move details to references/")
    ]


def test_hidden_characters_are_found_on_their_lines() -> None:
    text = HEAD + "a\u200bb\n\n\u202eabc\u202c\nfine 👩‍🚀\nתודה\n"
    assert found(text) == [
        (5, "error", "U+200B ZERO WIDTH SPACE, an invisible character"),
        (7, "error", "U+202E RIGHT-TO-LEFT OVERRIDE, a bidirectional control"),
    ]


def test_secrets_are_found_and_not_repeated() -> None:
    assert found(f"{HEAD}Mail a@example.com.\nUse {TOKEN}\n") == [(6, "error", "a secret (github)")]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<!-- SLOW_UPDATE_START -->\nx\n", 5, "the marker SLOW_UPDATE_START on line 5 has no end"),
        ("a\n<!-- APPENDIX_END -->\n", 6, "the marker APPENDIX_END on line 6 has no start before it"),
    ],
)
def test_markers_without_their_other_half_are_found(text: str, line: int, message: str) -> None:
    assert found(HEAD + text) == [(line, "error", message)]


def test_links_are_looked_for() -> None:
    states = {"references/a.md": "here", "scripts/b.py": "missing", "assets/c.png": "outside"}
    text = f"{HEAD}[a](references/a.md)\n`scripts/b.py`\n![c](assets/c.png)\n[d](../d.md)\n"
    assert found(text, states.__getitem__) == [  # type: ignore[arg-type]
        (6, "error", "scripts/b.py does not exist"),
        (7, "error", "assets/c.png leads out of the skill's folder through a link of the file system"),
        (8, "error", "../d.md leads out of the skill's folder"),
    ]


def test_another_document_needs_no_frontmatter_and_may_link_anywhere() -> None:
    states = {"../README.md": "here", "gone.md": "missing", "c": "outside"}
    text = "[a](../README.md) [b](gone.md) [c](c) [d](/etc/x)\n"
    assert found(text, states.__getitem__, skill=False) == [  # type: ignore[arg-type]
        (1, "error", "gone.md does not exist")
    ]
