"""Both models of a run, told apart prompt by prompt: TopicWorld for what a test does not script, and a script for the
rest. Each call is remembered under its kind."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Callable
from typing import Any

from support.server import Answer, Call
from support.world import TopicWorld

Reply = Callable[[Call], Any]

ATTEMPT = re.compile(r'<attempt id="([^"]+)"')
PAIR = re.compile(r'<pair id="([^"]+)" change="([^"]+)"')


class Scripted:
    """A responder. Kinds are `target`, `failures`, `successes`, `merge`, `select`, `rate`, `suggest`, `rewrite`,
    `minibatch`, `one_shot`, `merge_rewrites`, `guidance`, `notes`, `shorten`, `consolidate`, `resolve`.

    Args:
        replies: by kind, what makes the reply of a call; what is no text is sent as JSON. Of the kinds that have none,
            reflection proposes right lines, rewrites add right lines, and the others say something harmless.
    """

    def __init__(self, world: TopicWorld, **replies: Reply) -> None:
        self.world = world
        self.replies = replies
        self.calls: list[tuple[str, Call]] = []
        self._lock = threading.Lock()

    def __call__(self, call: Call) -> Answer:
        kind = kind_of(call)
        with self._lock:
            self.calls.append((kind, call))
        made = (self.replies.get(kind) or getattr(self, f"_{kind}"))(call)
        return made if isinstance(made, Answer) else Answer(made if isinstance(made, str) else json.dumps(made))

    def of(self, *kinds: str) -> list[Call]:
        """The calls of these kinds, in order of arrival."""
        return [call for kind, call in self.calls if kind in kinds]

    @property
    def asked(self) -> list[str]:
        """The kinds of the optimizer's calls, in order of arrival."""
        return [kind for kind, _ in self.calls if kind != "target"]

    def _target(self, call: Call) -> Answer:
        return self.world(call)

    def _failures(self, call: Call) -> Any:
        return patch(*(self.world.rule(topic) for topic in self.world.failing(first(call))))

    def _successes(self, call: Call) -> Any:
        return patch()

    def _merge(self, call: Call) -> str:
        return self.world.settle(first(call))

    _select = _merge

    def _rate(self, call: Call) -> Any:
        return {"reasoning": "Slowly.", "learning_rate": 1}

    def _suggest(self, call: Call) -> Any:
        lines = [self.world.rule(topic) for topic in self.world.failing(first(call))]
        rows = [{"type": "add", "title": "a code", "instruction": line, "support": 1} for line in lines]
        return {"reasoning": "Codes are missing.", "suggestions": rows}

    def _rewrite(self, call: Call) -> Any:
        texts = re.findall(r"<suggestion\b[^>]*>(.*?)</suggestion>", first(call), re.DOTALL)
        topics = [self.world.topic_of(text) for text in texts]
        return rewritten(call, [self.world.rule(topic) for topic in topics if topic])

    def _minibatch(self, call: Call) -> Any:
        return rewritten(call, [self.world.rule(topic) for topic in self.world.failing(first(call))])

    _one_shot = _minibatch

    def _merge_rewrites(self, call: Call) -> Any:
        known = set(skill(call).splitlines())
        texts = re.findall(r"<candidate\b[^>]*>(.*?)</candidate>", first(call), re.DOTALL)
        lines = [line for text in texts for line in html.unescape(text).splitlines() if line.strip()]
        return rewritten(call, [line for line in dict.fromkeys(lines) if line not in known])

    def _guidance(self, call: Call) -> Any:
        return {"reasoning": "It went on failing.", "guidance": "Say the code alone."}

    def _notes(self, call: Call) -> Any:
        return {"reasoning": "It went on failing.", "notes": "One line for each topic did it."}

    def _shorten(self, call: Call) -> Any:
        return patch()

    def _resolve(self, call: Call) -> str:
        return self.world.resolve(next(text for _, text in reversed(call.turns) if "<conflict " in text))

    def _consolidate(self, call: Call) -> Any:
        return {"appendix_notes": ["All in one note."]}


def kind_of(call: Call) -> str:
    """What a call asks for, by the form of reply that its system prompt names."""
    asks, user = call.system, first(call)
    for kind, key in (("guidance", '"guidance"'), ("notes", '"notes"'), ("select", '"selected"')):
        if f"{key}:" in asks:
            return kind
    if any("<conflict " in text for _, text in call.turns):
        return "resolve"
    if '"learning_rate":' in asks:
        return "rate"
    if '"suggestions":' in asks:
        return "suggest"
    if '"new_skill":' in asks:
        named = {"<suggestion": "rewrite", "<candidate": "merge_rewrites", "one try": "one_shot"}
        return next((kind for mark, kind in named.items() if mark in asks + user), "minibatch")
    if '"edits":' in asks:
        if "shorten a skill document" in asks:
            return "shorten"
        if "<attempt" not in user:
            return "merge"
        return "successes" if "These attempts succeeded" in user else "failures"
    if "execution notes" in asks and "Shorten it." in user:
        return "consolidate"
    return "failures" if "<attempt" in call.user else "target"


def first(call: Call) -> str:
    """The prompt itself: a firmer retry comes after it."""
    return next(text for role, text in call.turns if role == "user")


def skill(call: Call) -> str:
    """The document that a prompt shows."""
    found = re.search(r"<skill>\n(.*?)\n</skill>", first(call), re.DOTALL)
    return html.unescape(found[1]) if found else ""


def attempts(call: Call) -> list[str]:
    """The ids of the attempts that a prompt shows."""
    return ATTEMPT.findall(first(call))


def patch(*contents: str, **more: Any) -> dict[str, Any]:
    """A reply that appends lines."""
    return {"reasoning": "They fail.", "edits": [{"op": "append", "content": line} for line in contents], **more}


def rewritten(call: Call, lines: list[str]) -> dict[str, Any]:
    """A reply whose document is the one shown, with more lines."""
    text = skill(call).rstrip() + "\n\n" + "\n".join(dict.fromkeys(lines)) + "\n"
    return {"reasoning": "Codes were missing.", "new_skill": text, "change_summary": ["added codes"]}
