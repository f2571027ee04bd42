"""A world with opinions at every stage: rival edits, guidance, notes that sway later proposals. All replies are
functions of the request alone, so that runs with the same requests can be compared, in whatever order they come."""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
import time
from typing import Literal

from support.server import Answer, Call
from support.training import SteadyWorld
from support.world import TopicWorld

Stage = Literal["train", "val", "reflect", "merge", "select", "slow_update", "meta_memory"]
MARKS: tuple[tuple[str, Stage], ...] = (
    ("Write the guidance for the next round.", "slow_update"),
    ("Write your notes anew.", "meta_memory"),
    ("Settle each conflict", "merge"),
    ("Choose at most", "select"),
    ("<attempt", "reflect"),
)
HEAD = "Answer with the code."
_PAIR = re.compile(r'<pair id="[^"]*" change="(\w+)">(.*?)</pair>', re.DOTALL)
_NOTES = re.compile(r"<notes>(.*?)</notes>", re.DOTALL)


def prompt_of(call: Call) -> str:
    """The first user turn: a firmer retry belongs to the prompt that it repeats."""
    return next((text for role, text in call.turns if role == "user"), "")


class EpochWorld(SteadyWorld):
    """The world.

    Besides lines about topics, the optimizer proposes in each minibatch another wording of the document's first
    sentence (rivals: a merge), and some right lines bring a wrong one about another topic. Guidance holds rules, right
    and wrong, about what fails in the pairs. What it proposes depends on its notes, so that a run that has lost them
    goes another way.
    """

    def stage(self, call: Call) -> Stage:
        """What a call is for, by its prompt."""
        prompt = prompt_of(call)
        for mark, stage in MARKS:
            if mark in prompt:
                return stage
        return "train" if any(prompt == task["input"] for task in self.tasks["train"]) else "val"

    def task(self, call: Call) -> str:
        """The id of a target call's task."""
        rows = (row for split in self.tasks.values() for row in split)
        return next(row["id"] for row in rows if row["input"] == prompt_of(call))

    def __call__(self, call: Call) -> Answer:
        prompt = prompt_of(call)
        stage = self.stage(call)
        if stage == "slow_update":
            rules = [TopicWorld._line(self, f"guidance/{digest(prompt)}", topic) for topic in self._worse(prompt)[:3]]
            return Answer(json.dumps({"reasoning": "It got worse.", "guidance": "\n".join(rules)}))
        if stage == "meta_memory":
            return Answer(json.dumps({"reasoning": "As seen.", "notes": f"Note {digest(prompt)[:8]}: be brief."}))
        if stage in ("merge", "select"):
            return Answer(self.settle(prompt))
        return super().__call__(call)

    def propose(self, prompt: str) -> str:
        found = json.loads(super().propose(prompt))
        if len(found["edits"]) > 1:
            content = f"{HEAD} It is one of {digest(prompt)[:2]} kinds."
            found["edits"][-1] = {"op": "replace", "target": HEAD, "content": content, "reason": "say more"}
        return json.dumps(found)

    def _line(self, prompt: str, topic: str) -> str:
        shown = [*self.failing(prompt), str(prompt.count("<rejected_edit>")), *_NOTES.findall(prompt)]
        line = TopicWorld._line(self, "/".join(shown), topic)
        place = int(digest(f"{self.seed}/{line}/{shown}")[:4], 16)
        if line != self.rule(topic) or place % 3:
            return line
        other = list(self.codes)[place // 3 % len(self.codes)]
        return line if other == topic else f"{line}\n- {other}: {self.codes[topic]}"

    def _worse(self, prompt: str) -> list[str]:
        blocks = [block for change, block in _PAIR.findall(prompt) if change in ("regressed", "persistent")]
        return list(dict.fromkeys(topic for block in blocks if (topic := self.topic_of(block))))


class Jittered:
    """The world with latencies of its own for each request, so that answers come in another order. Counts how many
    calls of the target are under way at once."""

    def __init__(self, world: EpochWorld, most_s: float = 0.03) -> None:
        self.most = 0
        self._world, self._most_s = world, most_s
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, call: Call) -> Answer:
        ours = self._world.stage(call) in ("train", "val")
        self._count(ours)
        try:
            chance = random.Random(f"{self._world.seed}/{digest(json.dumps(call.body, sort_keys=True))}")
            time.sleep(chance.random() * self._most_s)
            return self._world(call)
        finally:
            self._count(-ours)

    def _count(self, number: int) -> None:
        with self._lock:
            self._now += number
            self.most = max(self.most, self._now)


def digest(text: str) -> str:
    """Of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
