"""Another trainer's document as ours: below our frontmatter, with our line ends, and looked at for what stays in it."""

from __future__ import annotations

import re

from skillgit.document.characters import refused_character
from skillgit.document.lines import dominant_eol
from skillgit.document.structure import Structure, check_document
from skillgit.errors import DocumentError
from skillgit.redact.redaction import contains_secret

_REGION_MARKER = re.compile(r"<!--\s*(?:SLOW_UPDATE|APPENDIX)_(?:START|END)\s*-->")


class Dresser:
    """Gives documents what the one at the base has and they lack.

    Args:
        base: the document that the branch will start from.
    """

    def __init__(self, base: str) -> None:
        structure = Structure(base)
        self._head = base[: structure.body_start] if structure.frontmatter is not None else ""
        body = base[len(self._head) :]
        self._gap = body[: len(body) - len(body.lstrip("\r\n"))]
        self._eol = dominant_eol(base)
        self._base_frontmatter = structure.frontmatter_text

    def dress(self, text: str) -> str:
        """The document as it is committed: its own frontmatter, or ours above it."""
        if self._eol != "\n":
            text = text.replace("\n", self._eol)
        if not self._head or Structure(text).frontmatter is not None:
            return text
        return self._head + ("" if text[:1] in ("\r", "\n") else self._gap) + text

    def differs(self, text: str) -> bool:
        """Whether a document has a frontmatter of its own that is not the base's."""
        found = Structure(self.dress(text))
        return found.frontmatter is not None and found.frontmatter_text != self._base_frontmatter

    @staticmethod
    def secret(text: str) -> str | None:
        """The kind of a secret in a text; None where there is none."""
        return contains_secret(text)

    def fault(self, text: str) -> str | None:
        """Why a document cannot be kept, as one clause; None where it can."""
        kind = self.secret(text)
        if kind is not None:
            return f"it holds a secret ({kind})"
        try:
            check_document(self.dress(text).encode("utf-8", "surrogatepass"), "the document")
        except DocumentError as error:
            return error.message.removeprefix("the document: ").replace("the document is", "it is")
        return None


def remarks(text: str) -> list[str]:
    """What a reader of the document does not see, or what keeps edits off it; one clause each."""
    found = []
    character = refused_character(text)
    if character is not None:
        found.append(f"holds {character}")
    structure = Structure(text)
    if structure.problem is not None:
        found.append(f"cannot be edited: {structure.problem}")
    if any(not _REGION_MARKER.fullmatch(comment) for comment in structure.comments):
        found.append("holds an HTML comment, which readers do not see")
    return found
