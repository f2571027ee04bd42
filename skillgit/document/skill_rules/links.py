"""Which files a document sends its reader to: relative links, and paths in inline code. Pure.

Code fences are not looked at: they show commands and folders of other places too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from skillgit.document.structure import Structure

FOLDERS = ("references", "scripts", "assets")

_CODE = re.compile(r"(`+)(.*?)(?<!`)\1(?!`)")
_TARGET = r"(<[^<>]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)"
_LINK = re.compile(rf"\]\(\s*{_TARGET}(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*\)")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)[^\]]+\]:\s*(<[^<>]*>|\S+)")
_ATTRIBUTE = re.compile(r"\b(?:src|href)\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
_PATH = re.compile(rf"(?:\./)?(?:{'|'.join(FOLDERS)})/[\w./-]*\w/?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# What stands for a name that the reader has to put in.
_SAMPLE = re.compile(r"[{}<>*$…]|\.\.\.")


@dataclass(frozen=True, slots=True)
class Reference:
    """A file or folder that a line names.

    Args:
        line: counted from 1.
        target: as it is written.
        path: relative to the document's folder, "/" between folders; None where it leads out of that folder.
        relative: the same without that rule: it may begin with `..`. None for an absolute path.
    """

    line: int
    target: str
    path: str | None
    relative: str | None


def references(structure: Structure) -> Iterator[Reference]:
    """The references of a document's body, in order."""
    blocks = structure.blocks
    for index in range(structure.first_line, len(structure.lines)):
        if blocks.is_code(index) or blocks.comments[index]:
            continue
        for target, is_code in _targets(structure.lines[index]):
            found = _reference(index + 1, target, is_code=is_code)
            if found is not None:
                yield found


def _targets(line: str) -> Iterator[tuple[str, bool]]:
    """What a line links to, and the paths in its code; the second is True for those."""
    for code in _CODE.finditer(line):
        for word in code[2].split():
            bare = word.strip("\"'(),;:").rstrip(".")
            if _PATH.fullmatch(bare):
                yield bare, True
    plain = _CODE.sub(lambda code: " " * len(code[0]), line)
    for pattern in (_LINK, _ATTRIBUTE):
        for link in pattern.finditer(plain):
            yield link[1].strip("<>"), False
    definition = _DEFINITION.match(plain)
    if definition is not None:
        yield definition[1].strip("<>"), False


def _reference(line: int, target: str, *, is_code: bool) -> Reference | None:
    """A target as a reference; None for an address on the web, a place in the document, a sample."""
    if not target or target.startswith(("#", "//")) or _SAMPLE.search(target):
        return None
    if _SCHEME.match(target) and not target.lower().startswith("file:"):
        return None
    path = target if is_code else unquote(re.split(r"[?#]", target, maxsplit=1)[0])
    if path.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]+:", path):
        return Reference(line, target, None, None)
    path = posixpath.normpath(path)
    return Reference(line, target, None if path.split("/")[0] == ".." else path, path)
