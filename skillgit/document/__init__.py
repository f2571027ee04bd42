"""Pure text: the structure of a document and the edits on it."""

from __future__ import annotations

from skillgit.document.edits import Applied, Edit, EditReport, apply_edits

__all__ = ["Applied", "Edit", "EditReport", "apply_edits"]
