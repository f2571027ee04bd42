"""What an edit's content must not bring, judged by the content alone."""

from __future__ import annotations

import re

from skillgit.document.characters import refused_character

_REGION_MARKER = re.compile(r"(?<!\w)(?:SLOW_UPDATE|APPENDIX)_(?:START|END)(?!\w)")
# A link definition that leads nowhere shows nothing: the usual way to hide a remark in Markdown.
_HIDDEN_REMARK = re.compile(r"^[ \t>]*\[[^\]\r\n]*\]:[ \t]*(?:#|<>)[ \t]*(?=[\"'(\r\n]|\Z)", re.MULTILINE)


def refused_content(content: str) -> str | None:
    """Why a content is `invalid`, as one clause; None where it is fine."""
    marker = _REGION_MARKER.search(content)
    if marker is not None:
        return f"its content holds the region marker {marker.group()}"
    if "<!--" in content:
        return "its content holds an HTML comment, which readers do not see"
    if _HIDDEN_REMARK.search(content):
        return "its content holds a link definition that only hides a remark"
    character = refused_character(content)
    return f"its content holds {character}" if character is not None else None
