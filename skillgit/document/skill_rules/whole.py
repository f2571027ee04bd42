"""All rules on one document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from skillgit.document.characters import refused_character
from skillgit.document.length import length
from skillgit.document.lines import BOM
from skillgit.document.skill_rules.finding import Finding, error, warning
from skillgit.document.skill_rules.head import check_head
from skillgit.document.skill_rules.links import references
from skillgit.document.structure import Structure, check_document
from skillgit.errors import DocumentError
from skillgit.redact import PERSONAL, find

MOST_LINES = 500
MOST_TOKENS = 5000

Look = Callable[[str], Literal["here", "missing", "outside"]]
"""Whether a path relative to the document's folder leads to something there; `outside`: through a link of the file
system it leads out of that folder."""


def check_skill(data: bytes, look: Look, *, skill: bool = True, folder: str | None = None) -> list[Finding]:
    """What is wrong with a document, by line.

    Args:
        data: the file's bytes.
        skill: whether it is a SKILL.md, loaded by agents from its folder. Of another document, frontmatter and
            folder are its own affair.
        folder: the folder's name; None where it is not known.
    """
    try:
        text = check_document(data, "")
    except DocumentError as problem:
        return [_unreadable(problem.message.removeprefix(": "))]
    structure = Structure(text)
    found = list(_sizes(structure))
    if skill:
        if text.startswith(BOM):
            found.append(error(1, "a byte order mark before the frontmatter, so that loaders do not find it"))
        found += check_head(structure, folder)
    if structure.problem is not None:
        found.append(_placed(structure.problem))
    found += [*_hidden(structure), *_secrets(structure), *_links(structure, look, bounded=skill)]
    return sorted(set(found))


def _unreadable(message: str) -> Finding:
    found = re.match(r"line (\d+): ", message)
    return error(int(found[1]), message[found.end() :]) if found else _placed(message)


def _placed(message: str) -> Finding:
    """A problem that names its line within its sentence."""
    found = re.search(r"\bline (\d+)", message)
    return error(int(found[1]) if found else 1, message)


def _sizes(structure: Structure) -> Iterator[Finding]:
    lines, tokens = len(structure.lines), length(structure.text)
    if lines > MOST_LINES:
        yield warning(MOST_LINES + 1, f"{lines} lines, more than {MOST_LINES}: move details to references/")
    if tokens > MOST_TOKENS:
        yield warning(1, f"about {tokens} tokens, more than {MOST_TOKENS}: move details to references/")


def _hidden(structure: Structure) -> Iterator[Finding]:
    for index in range(len(structure.lines)):
        character = refused_character(structure.lines[index])
        if character is not None:
            yield error(index + 1, character)


def _secrets(structure: Structure) -> Iterator[Finding]:
    for one in find(structure.text):
        if one.kind not in PERSONAL:
            yield error(structure.lines.at(one.start) + 1, f"a secret ({one.kind})")


def _links(structure: Structure, look: Look, *, bounded: bool) -> Iterator[Finding]:
    for one in references(structure):
        path = one.path if bounded else one.relative
        if path is None:
            if bounded:
                yield error(one.line, f"{one.target} leads out of the skill's folder")
            continue
        state = look(path)
        if state == "missing":
            yield error(one.line, f"{one.target} does not exist")
        elif state == "outside" and bounded:
            yield error(one.line, f"{one.target} leads out of the skill's folder through a link of the file system")
