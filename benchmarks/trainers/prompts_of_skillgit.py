"""skillgit's optimizer prompts (`skillgit/train/prompts/full`), told apart by the reply that each asks for."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any

from benchmarks.trainers.proposer import HARMLESS, Failure, Line, Prompt, Proposer

_ATTEMPT = re.compile(r"<attempt\b[^>]*>(.*?)</attempt>", re.DOTALL)
_EDIT = re.compile(r"<edit\b([^>]*)>(.*?)</edit>", re.DOTALL)
_SUGGESTION = re.compile(r"<suggestion\b([^>]*)>(.*?)</suggestion>", re.DOTALL)
_CANDIDATE = re.compile(r"<candidate\b([^>]*)>(.*?)</candidate>", re.DOTALL)


def reply(proposer: Proposer, prompt: Prompt) -> tuple[str, str] | None:
    """The kind of the call and the reply; None where the prompt is none of skillgit's."""
    found = _answer(proposer, prompt)
    return None if found is None else (found[0], json.dumps(found[1]))


def _answer(proposer: Proposer, prompt: Prompt) -> tuple[str, dict[str, Any]] | None:
    asks = prompt.system
    if '"guidance"' in asks:
        return "slow", {"reasoning": "The codes decide.", "guidance": HARMLESS}
    if '"notes"' in asks:
        return "meta", {"reasoning": "The codes decide.", "notes": HARMLESS}
    if '"selected"' in asks:
        return "rank", {"reasoning": "The most wanted first.", "selected": _selected(prompt)}
    if '"learning_rate"' in asks:
        return "rate", {"reasoning": "As many as usual.", "learning_rate": 4}
    if '"new_skill"' in asks:
        return "rewrite", _rewritten(proposer, prompt)
    if '"suggestions"' in asks:
        failures, lines = _proposed(proposer, prompt)
        rows = [{"type": "add", "title": "a code", "instruction": n.text, "support": n.support} for n in lines]
        return "reflect", {"reasoning": proposer.reason(failures), "suggestions": rows}
    if '"edits"' in asks and "<attempt" in prompt.user:
        failures, lines = _proposed(proposer, prompt)
        kind = "reflect+" if "attempts succeeded" in prompt.user else "reflect"
        return kind, {"reasoning": proposer.reason(failures), "edits": [_appended(n) for n in lines]}
    if '"edits"' in asks and "<edit" in prompt.user:
        return "merge", {"reasoning": "The more wanted line.", "edits": _merged(proposer, prompt)}
    if '"edits"' in asks and "shorten a skill document" in asks:
        return "shorten", {"reasoning": "Nothing can go.", "edits": []}
    return None


def _proposed(proposer: Proposer, prompt: Prompt) -> tuple[list[Failure], list[Line]]:
    found = []
    for block in _ATTEMPT.findall(prompt.user):
        failure = proposer.failure(_tag(block, "input"), _tag(block, "reply"), _tag(block, "expected"))
        found += [failure] if failure else []
    return found, proposer.lines(found, prompt, budget(prompt))


def _appended(line: Line) -> dict[str, Any]:
    return {"op": "append", "content": line.text, "reason": "it came up", "support": line.support}


def _merged(proposer: Proposer, prompt: Prompt) -> list[dict[str, Any]]:
    """Conflict by conflict; `support` lists the ids that an edit stands for."""
    found = []
    for conflict in re.split(r"^Conflict \d+:$", prompt.user, flags=re.MULTILINE)[1:]:
        names, lines = [], []
        for attributes, text in _EDIT.findall(conflict):
            edit = json.loads(html.unescape(text))
            names.append(_attribute(attributes, "id"))
            lines.append(Line(str(edit.get("content", "")).strip(), int(edit.get("support", 1))))
        for line, places in proposer.merged(lines):
            found.append({**_appended(line), "support": [names[place] for place in places]})
    return found


def _selected(prompt: Prompt) -> list[str]:
    support = {}
    for attributes, text in _EDIT.findall(prompt.user.rpartition("Choose among these edits:")[2]):
        edit = json.loads(html.unescape(text))
        support[_attribute(attributes, "id")] = int(edit.get("support", 1))
    return sorted(support, key=lambda name: -support[name])[: budget(prompt)]


def _rewritten(proposer: Proposer, prompt: Prompt) -> dict[str, Any]:
    """The document with the lines of suggestions, of the candidates, or of the attempts at its end."""
    document = _tag(prompt.user, "skill")
    if "<suggestion" in prompt.user:
        lines = [Line(text.strip(), _support(attributes)) for attributes, text in _SUGGESTION.findall(prompt.user)]
        lines = [line for line, _ in proposer.merged(lines)]
    elif "<candidate" in prompt.user:
        known = set(document.splitlines())
        lines = [
            Line(line, _support(attributes))
            for attributes, text in _CANDIDATE.findall(prompt.user)
            for line in html.unescape(text).splitlines()
            if line.strip() and line not in known
        ]
        lines = [line for line, _ in proposer.merged(lines)]
    else:
        _, lines = _proposed(proposer, prompt)
    changed = [f"added: {line.text}" for line in lines]
    return {
        "reasoning": "Codes were missing.",
        "new_skill": _with(document, (line.text for line in lines)),
        "change_summary": changed,
    }


def _with(document: str, lines: Iterable[str]) -> str:
    return document.rstrip() + "\n" + "".join(line + "\n" for line in lines)


def budget(prompt: Prompt) -> int | None:
    """The most edits that a prompt allows; None where it names none."""
    found: list[str] = re.findall(r"(?:at most (?:L=)?|Choose exactly )(\d+)", prompt.user)
    return int(found[-1]) if found else None


def _support(attributes: str) -> int:
    return int(_attribute(attributes, "support") or 1)


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', attributes)
    return found[1] if found else ""


def _tag(block: str, tag: str) -> str:
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", block, re.DOTALL)
    return html.unescape(found[1]).strip() if found else ""
