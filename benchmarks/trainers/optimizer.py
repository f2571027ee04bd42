"""The simulated optimizer: it recognises the prompts of the three trainers and replies in the format each expects.

Per failing topic that a reflection prompt shows with its right code it proposes one line: a right rule (50 %), a wrong
one (20 %) or a useless line (30 %), as a hash of the server's seed, the topic and the whole prompt decides. Merging
keeps one line per topic and adds support up; ranking goes by support; guidance and notes are harmless.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.trainers.world import Task, World, draw

RIGHT, WRONG = 0.5, 0.2
HARMLESS = "Read the whole ticket before you answer it."

_ATTEMPT = re.compile(r"<attempt\b[^>]*>(.*?)</attempt>", re.DOTALL)
_BUDGET = re.compile(r"at most (?:L=)?(\d+)")
_GEPA_START = "I provided an assistant with the following instructions"
_GEPA_DOCUMENT = re.compile(r"perform a task for me:\n```\n(.*?)\n```\n\nThe following are examples", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A call of the optimizer: its system text, its first user turn, and everything in it as one text."""

    system: str
    user: str
    whole: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt that a prompt shows: the ticket, and the topics that were not answered right."""

    task: Task
    topics: tuple[str, ...]


class UnknownPrompt(Exception):
    """No trainer's prompt that this optimizer knows."""


class Optimizer:
    """Replies for one world and server seed."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._seed = seed

    def reply(self, prompt: Prompt) -> tuple[str, str]:
        """The kind of the call, and the reply.

        Raises:
            UnknownPrompt: the prompt is none of the trainers'.
        """
        if prompt.user.startswith(_GEPA_START):
            return "reflect", self._gepa(prompt)
        kinds = _SKILLOPT if "## " in prompt.user and "<attempt" not in prompt.user else ()
        for kind, marks, answer in (*kinds, *_SKILLGIT):
            if all(mark in prompt.user or mark in prompt.system for mark in marks):
                return kind, answer(self, prompt)
        raise UnknownPrompt(prompt.user[:200])

    # -- proposals ---------------------------------------------------------------------------------------------------

    def lines(self, failures: list[Failure], prompt: Prompt, budget: int | None) -> list[tuple[str, str, int]]:
        """Per failing topic (topic, line, attempts that ask for it), the most wanted first."""
        wanted: dict[str, int] = {}
        for failure in failures:
            for topic in failure.topics:
                wanted[topic] = wanted.get(topic, 0) + 1
        topics = sorted(wanted, key=lambda topic: -wanted[topic])[:budget]
        return [(topic, self._line(prompt, topic), wanted[topic]) for topic in topics]

    def _line(self, prompt: Prompt, topic: str) -> str:
        chance = draw("line", self._seed, topic, prompt.whole)
        if chance < RIGHT:
            return self._world.rule(topic)
        number = 100 + int(draw("number", self._seed, topic, prompt.whole) * 900)
        if chance < RIGHT + WRONG:
            return f"- {topic}: W{number}"
        return f"- Be polite to people who write about machines (house rule {number})."

    def failure(self, quoted: str, said: str, shown: str) -> Failure | None:
        """A failed attempt.

        Args:
            quoted: text that quotes the ticket.
            said: the target's reply.
            shown: where the right codes must stand for the optimizer to know them.
        """
        task = self._world.task_in(quoted)
        if task is None:
            return None
        codes = [(topic, self._world.codes[topic]) for topic in task.topics]
        missed = tuple(topic for topic, code in codes if code not in said and code in shown)
        return Failure(task, missed) if missed else None

    # -- skillgit ----------------------------------------------------------------------------------------------------

    def reflect_skillgit(self, prompt: Prompt) -> str:
        found = []
        for block in _ATTEMPT.findall(prompt.user):
            failure = self.failure(_tag(block, "input"), _tag(block, "reply"), _tag(block, "expected"))
            found += [failure] if failure else []
        edits = [
            {"op": "append", "content": line, "reason": f"the {topic} came up", "support": support}
            for topic, line, support in self.lines(found, prompt, _budget(prompt))
        ]
        return json.dumps({"reasoning": _reason(found), "edits": edits})

    def merge_skillgit(self, prompt: Prompt) -> str:
        blocks = re.findall(r"<(?:edit|suggestion)\b[^>]*>(.*?)</(?:edit|suggestion)>", prompt.user, re.DOTALL)
        edits = [edit for block in blocks if (edit := _edit(html.unescape(block))) is not None]
        return json.dumps({"reasoning": "One line for each machine.", "edits": self.merged(edits)[: _budget(prompt)]})

    # -- SkillOpt ----------------------------------------------------------------------------------------------------

    def reflect_skillopt(self, prompt: Prompt) -> str:
        found = []
        for block in prompt.user.split("\n### Trajectory ")[1:]:
            said = re.search(r"^Predicted answer: (.*)$", block, re.MULTILINE)
            gold = re.search(r"^Gold answers: (.*)$", block, re.MULTILINE)
            failure = self.failure(block, said[1] if said else "", gold[1] if gold else "")
            found += [failure] if failure else []
        edits = [
            {"op": "append", "target": "", "content": line, "support_count": support}
            for _, line, support in self.lines(found, prompt, _budget(prompt))
        ]
        summary = [{"failure_type": "missing code", "count": len(found), "description": _reason(found)}]
        patch = {"reasoning": _reason(found), "edits": edits}
        size = prompt.user.count("\n### Trajectory ")
        return json.dumps({"batch_size": size, "failure_summary": summary if found else [], "patch": patch})

    def merge_skillopt(self, prompt: Prompt) -> str:
        patches = json.loads(prompt.user[prompt.user.index("[\n", prompt.user.rindex("\n## ")) :])
        edits = self.merged([edit for patch in patches for edit in patch.get("edits", [])])
        return json.dumps({"reasoning": "One line for each machine.", "edits": edits})

    # -- gepa --------------------------------------------------------------------------------------------------------

    def _gepa(self, prompt: Prompt) -> str:
        document = _GEPA_DOCUMENT.search(prompt.user)
        if document is None:
            raise UnknownPrompt(prompt.user[:200])
        found = []
        for block in re.split(r"^# Example \d+$", prompt.user[document.end() :], flags=re.MULTILINE)[1:]:
            quoted, _, rest = block.partition("## Generated Outputs")
            said, _, feedback = rest.partition("## Feedback")
            failure = self.failure(quoted, said, feedback)
            found += [failure] if failure else []
        added = "".join(line + "\n" for _, line, _ in self.lines(found, prompt, None))
        return f"{_reason(found)}\n\n```\n{document[1].rstrip()}\n{added}```"

    # -- for all -----------------------------------------------------------------------------------------------------

    def merged(self, edits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One edit per topic, the first or a later one as the seed has it; repetitions dropped, support added up."""
        kept: dict[str, dict[str, Any]] = {}
        for edit in edits:
            content = str(edit.get("content", ""))
            key = next((topic for topic in self._world.codes if topic in content), content)
            other = kept.get(key, edit)
            rivals = [draw("merge", self._seed, key, e.get("content", "")) for e in (other, edit)]
            chosen = dict(edit if rivals[1] < rivals[0] else other)
            for name in ("support", "support_count"):
                if other is not edit and name in chosen:
                    chosen[name] = _number(other.get(name)) + _number(edit.get(name))
            kept[key] = chosen
        return list(kept.values())


def _ranked(optimizer: Optimizer, prompt: Prompt) -> str:
    """By the support that the list shows, else in its order."""
    found = re.findall(r"^\[(\d+)\] (.*)$", prompt.user, re.MULTILINE)
    support = {int(index): _number((re.findall(r"support=(\d+)", line) or [0])[-1]) for index, line in found}
    order = sorted(support, key=lambda index: -support[index])
    return json.dumps({"reasoning": "The most wanted first.", "selected_indices": order})


def _selected(optimizer: Optimizer, prompt: Prompt) -> str:
    """By the support that the list shows, else in its order."""
    found = re.findall(r"<(?:edit|suggestion|candidate)\b([^>]*)>", prompt.user)
    support: dict[str, int] = {}
    for attributes in found:
        name = re.search(r'\bid="([^"]+)"', attributes)
        wanted = re.search(r'\bsupport="(\d+)', attributes)
        if name:
            support[name[1]] = _number(wanted[1] if wanted else 0)
    order = sorted(support, key=lambda name: -support[name])[: _budget(prompt)]
    return json.dumps({"reasoning": "The most wanted first.", "selected": [_plain(name) for name in order]})


def _plain(name: str) -> int | str:
    return int(name) if name.isdecimal() else name


def _number(value: object) -> int:
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else 0


def _says(**fields: str) -> Callable[[Optimizer, Prompt], str]:
    return lambda optimizer, prompt: json.dumps({"reasoning": "The codes decide.", **fields})


_Answer = Callable[[Optimizer, Prompt], str]
# A kind, the marks that all stand in its prompts, and who answers; the first that fits.
_SKILLOPT: tuple[tuple[str, tuple[str, ...], _Answer], ...] = (
    ("slow", ("## Previous Slow Update Guidance", "## Longitudinal Comparison"), _says(slow_update_content=HARMLESS)),
    ("meta", ("## Previous Optimizer Meta Skill", "## Longitudinal Comparison"), _says(meta_skill_content=HARMLESS)),
    ("rank", ("Return their 0-based indices",), _ranked),
    ("merge", ("## Current Skill", "## Patches to merge ("), Optimizer.merge_skillopt),
    ("merge", ("## Current Skill", "## Two pre-merged patch groups"), Optimizer.merge_skillopt),
    ("reflect", ("## Current Skill", "## Failed Trajectories ("), Optimizer.reflect_skillopt),
    ("reflect+", ("## Current Skill", "## Successful Trajectories ("), Optimizer.reflect_skillopt),
)
_SKILLGIT: tuple[tuple[str, tuple[str, ...], _Answer], ...] = (
    ("slow", ('"guidance"',), _says(guidance=HARMLESS)),
    ("meta", ('"notes"',), _says(notes=HARMLESS)),
    ("rank", ('"selected"',), _selected),
    ("reflect+", ("<attempt", "attempts succeeded", '"edits"'), Optimizer.reflect_skillgit),
    ("reflect", ("<attempt", '"edits"'), Optimizer.reflect_skillgit),
    ("merge", ("<edit", '"edits"'), Optimizer.merge_skillgit),
)


def _budget(prompt: Prompt) -> int | None:
    found: list[str] = _BUDGET.findall(prompt.user)
    return int(found[-1]) if found else None


def _tag(block: str, tag: str) -> str:
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", block, re.DOTALL)
    return html.unescape(found[1]).strip() if found else ""


def _reason(failures: list[Failure]) -> str:
    names = sorted({topic for failure in failures for topic in failure.topics})
    return f"No right code was known for: {', '.join(names)}." if names else "All codes were right."


def _edit(text: str) -> dict[str, Any] | None:
    """An edit as a prompt shows it: JSON, Python, or plain text to append."""
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text.strip())
        except (ValueError, SyntaxError):
            continue
        if isinstance(found, dict):
            return found
    lines = [line for line in text.splitlines() if line.strip().startswith("- ")]
    return {"op": "append", "content": "\n".join(lines)} if lines else None


def texts(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Role and text of each message of a Chat Completions request."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content)
        yield str(message.get("role")), content or ""
