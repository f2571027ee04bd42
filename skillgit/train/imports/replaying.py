"""The edits of a SkillOpt step one by one: what the document was after each. Pure.

SkillOpt keeps a step's edits and the document behind all of them. Its rules are few (docs/importing.md), so the
documents in between can be made again; what comes out at the end has to be the candidate, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from skillgit.document import Edit
from skillgit.train.imports.values import RawStep, Rows
from skillgit.train.propose.candidate import EditOutcome

_MARKER = re.compile(r"<!-- (?:SLOW_UPDATE|APPENDIX)_(?:START|END) -->")
_REGION = re.compile(r"<!-- (SLOW_UPDATE|APPENDIX)_START -->.*?<!-- \1_END -->", re.DOTALL)
_START = re.compile(r"<!-- (?:SLOW_UPDATE|APPENDIX)_START -->")
_STATUSES = {"skipped_protected_region": "protected"}
_ITEMS = ("edits", "revise_suggestions", "skill_candidates")


def outcomes(before: str, after: str, step: RawStep) -> tuple[EditOutcome, ...]:
    """The step's edits with the document behind each; those that changed it are `applied`.

    Where the edits do not make the candidate, as of a rewrite, the whole of it is one edit, `rewrite`.
    """
    reason = _text(step.patch.get("reasoning"))
    found, document = [], before
    for index, item in enumerate(_items(step.patch, "edits")):
        edit = _edit(item, reason)
        made = _applied(document, edit)
        status, why = _status(step.report, index)
        if made is not None:
            status, why = ("applied", "") if made != document else ("no_change", "it would change nothing")
            document = made
        found.append(EditOutcome(edit, edit.support, _source(item), status, why, document))
    if document == after and any(outcome.status == "applied" for outcome in found):
        return tuple(found)
    return (_rewrite(after, step, reason),)


def _applied(text: str, edit: Edit) -> str | None:
    """The document after one edit; None where it cannot be applied."""
    at = text.find(edit.target) if edit.target else -1
    if at >= 0 and any(region.start() <= at < region.end() for region in _REGION.finditer(text)):
        return None
    if edit.op == "append" or (edit.op == "insert_after" and at < 0):
        return _appended(text, edit.content)
    if at < 0 or edit.op not in ("insert_after", "replace", "delete"):
        return None
    end = at + len(edit.target)
    if edit.op == "insert_after":
        line_end = text.find("\n", end) + 1 or len(text)
        return f"{text[:line_end]}\n{edit.content}\n{text[line_end:]}"
    return text[:at] + (edit.content if edit.op == "replace" else "") + text[end:]


def _appended(text: str, content: str) -> str:
    """At the end, but before the first protected region."""
    region = _START.search(text)
    if region is None:
        return f"{text.rstrip()}\n\n{content}\n"
    return f"{text[: region.start()].rstrip()}\n\n{content}\n\n{text[region.start() :]}"


def _edit(item: Mapping[str, Any], reason: str) -> Edit:
    content = _MARKER.sub("", _text(item.get("content")).strip())
    return Edit(_text(item.get("op")), _text(item.get("target")), content, reason, support=_count(item))


def _status(report: Rows, index: int) -> tuple[str, str]:
    """What SkillOpt's own report says of an edit that was not applied, in our words and in its."""
    said = _text(report[index].get("status")) if index < len(report) else ""
    status = "unmatched" if said.endswith("target_not_found") else _STATUSES.get(said, "invalid")
    return status, said.removeprefix("skipped_").replace("_", " ") or "it could not be applied"


def _rewrite(after: str, step: RawStep, reason: str) -> EditOutcome:
    summary = step.record.get("rewrite_change_summary")
    lines = [_text(line) for line in summary] if isinstance(summary, list) else []
    items = [item for key in _ITEMS for item in _items(step.patch, key)]
    for item in items if not lines else ():
        lines.append(next((text for key in ("instruction", "title", "content") if (text := _text(item.get(key)))), ""))
    content = "\n".join(f"- {' '.join(line.split())}" for line in lines if line.strip())
    support = max((_count(item) for item in items), default=1)
    source = "success" if items and all(_source(item) == "success" for item in items) else "failure"
    edit = Edit("rewrite", content=content or "the document", reason=reason, support=support)
    return EditOutcome(edit, support, source, "applied", "", after)


def _items(patch: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = patch.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _source(item: Mapping[str, Any]) -> str:
    return "success" if item.get("source_type") == "success" else "failure"


def _count(item: Mapping[str, Any]) -> int:
    count = item.get("support_count")
    return count if type(count) is int and 0 < count < 10**6 else 1


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
