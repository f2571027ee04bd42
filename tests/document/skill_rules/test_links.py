"""Which files a document sends its reader to."""

from __future__ import annotations

import pytest

from skillgit.document.skill_rules.links import references
from skillgit.document.structure import Structure


def paths(text: str) -> list[tuple[int, str | None]]:
    return [(one.line, one.path) for one in references(Structure(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See [more](references/more.md).", ["references/more.md"]),
        (
            'See [more](./references/more.md#part "Title") and ![x](assets/a%20b.png)',
            ["references/more.md", "assets/a b.png"],
        ),
        ("[a](<references/a b.md>) [b](other.md?x=1)", ["references/a b.md", "other.md"]),
        ("[a](references/a_(1).md)", ["references/a_(1).md"]),
        ("[a]: references/a.md 'Title'", ["references/a.md"]),
        ("[^1]: references/a.md", []),
        ("<img src=\"assets/x.png\"> <a href='more.md'>", ["assets/x.png", "more.md"]),
        ("Run `scripts/run.py`, then `python scripts/other.py --fast`.", ["scripts/run.py", "scripts/other.py"]),
        ("Run ``./scripts/run.py``.", ["scripts/run.py"]),
        ("Look into `references/api/`.", ["references/api"]),
        ("Put it in `references/`, `scripts/<name>.py`, `assets/*.png` or `scripts/{x}.py`.", []),
        ("`my/scripts/run.py` `other.md`", []),
        ("[a](https://example.com/references/a.md) [b](#part) [c](mailto:a@example.com) [d](//example.com/x)", []),
        ("`[a](references/a.md)`", []),
        ("[a]({{url}}) [b](<name>.md)", []),
        ("[a](../other/SKILL.md)", [None]),
        ("[a](references/../../x.md)", [None]),
        ("[a](references/../x.md)", ["x.md"]),
        ("[a](/etc/hosts) [b](~/x.md) [c](file:///etc/hosts) [d](C:/x.md)", [None] * 4),
        ("[a]()", []),
        ("[`run`](scripts/run.py)", ["scripts/run.py"]),
    ],
)
def test_a_line_has_its_references(text: str, expected: list[str | None]) -> None:
    assert paths(text) == [(1, path) for path in expected]


def test_frontmatter_fences_and_comments_are_not_looked_at() -> None:
    text = (
        "---\nname: '[a](x.md)'\n---\n\n```sh\npython scripts/run.py # [a](y.md)\n```\n\n"
        "<!--\n[a](z.md)\n-->\n\nSee [b](references/b.md).\n"
    )
    assert paths(text) == [(13, "references/b.md")]


def test_what_leads_out_is_known_relative_to_the_document_too() -> None:
    (only,) = references(Structure("[a](../README.md)"))
    assert (only.target, only.relative) == ("../README.md", "../README.md")
