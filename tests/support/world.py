"""A small deterministic world to train against: tickets about topics, each of which has a code to be learned.

The target answers right exactly where the last line of the document that names the ticket's topic has the topic's
code. The optimizer reads the failures and proposes one line per topic: right, wrong or useless, as a hash of the
prompt decides. The same prompt always has the same reply, so a killed run and an unkilled one can be compared.
"""

from __future__ import annotations

import hashlib
import html
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from support.server import Answer, Call

SPLITS = ("train", "val", "test")
SEED_DOCUMENT = (
    "---\nname: tickets\ndescription: Finds the code of a ticket.\n---\n\n# Tickets\n\nAnswer with the code.\n"
)

_FIRST = ("amber", "birch", "cobalt", "dune", "ember", "fjord", "garnet", "heron", "iris", "jade", "kelp", "lotus")
_SECOND = ("boiler", "cabin", "dock", "engine", "fence", "gate", "hatch", "lamp", "meter", "pump", "relay", "valve")
_WORDING = (
    "the {topic} was reported again by the night shift",
    "a customer says that the {topic} makes a noise",
    "nobody has looked at the {topic} since Monday",
    "the {topic} is due for its yearly check",
    "please see to the {topic} before noon",
    "there is water under the {topic}",
    "the {topic} stopped in the middle of the day",
    "the new {topic} does not fit",
    "the label of the {topic} came off",
    "the {topic} has no power",
)
_ATTEMPT = re.compile(r"<attempt\b[^>]*>(.*?)</attempt>", re.DOTALL)
_EDIT = re.compile(r'<edit id="([^"]+)"')
_CONFLICT = re.compile(r'<conflict id="([^"]+)">(.*?)</conflict>', re.DOTALL)
_BUDGET_CHOOSE = re.compile(r"Choose at most (\d+) edit")
_BUDGET = re.compile(r"at most (\d+) edit")


@dataclass(frozen=True)
class Kinds:
    """Out of 100 proposals: how many are right and how many wrong; the rest is useless."""

    right: int = 55
    wrong: int = 25


class TopicWorld:
    """The world.

    Args:
        n_topics: at most 144.
        seed: chooses topics, codes, wordings and what the optimizer proposes.
        per_topic: tasks of each topic in train, val and test; no input is in two splits.
        extract: how the environment takes the answer from a reply.
    """

    def __init__(
        self,
        n_topics: int = 8,
        seed: int = 1,
        *,
        per_topic: tuple[int, int, int] = (2, 2, 2),
        extract: Literal["answer_tag", "whole"] = "answer_tag",
        kinds: Kinds | None = None,
    ) -> None:
        self.seed = seed
        self.extract = extract
        self.kinds = kinds or Kinds()
        chance = random.Random(seed)
        names = [f"{first} {second}" for first in _FIRST for second in _SECOND]
        self.codes = {
            topic: f"{chance.choice('KQVXZ')}{chance.randrange(100, 1000)}" for topic in chance.sample(names, n_topics)
        }
        self.tasks: dict[str, list[dict[str, str]]] = {split: [] for split in SPLITS}
        for topic, code in self.codes.items():
            wordings = iter(chance.sample(_WORDING, sum(per_topic)))
            for split, number in zip(SPLITS, per_topic, strict=True):
                for _ in range(number):
                    text = f"Ticket: {next(wordings).format(topic=topic)}. Which code?"
                    self.tasks[split].append({"id": "", "input": text, "answer": code})
        for split, rows in self.tasks.items():
            chance.shuffle(rows)
            for number, row in enumerate(rows):
                row["id"] = f"{split}-{number:03d}"

    def write_env(self, folder: Path) -> Path:
        """Write `env.yaml` and the three splits."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            "version: 1",
            "description: Tickets about machines, each kind of which has a code.",
            "tasks: {train: train.jsonl, val: val.jsonl, test: test.jsonl}",
            'system: "{skill}"',
            'prompt: "{input}"',
            f"extract: {self.extract}",
            "scorer: exact",
            "reveal: answer",
        ]
        (folder / "env.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for split, rows in self.tasks.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
        return folder

    def rule(self, topic: str) -> str:
        """The line that a document needs for a topic."""
        return f"- {topic}: {self.codes[topic]}"

    def perfect_document(self) -> str:
        """A document that answers every task."""
        return SEED_DOCUMENT + "\n" + "".join(self.rule(topic) + "\n" for topic in self.codes)

    def __call__(self, call: Call) -> Answer:
        """The responder for `support.server.serve`."""
        if "<edit " in call.user:
            return Answer(self.settle(call.user))
        prompt = next((text for role, text in reversed(call.turns) if role == "user" and "<attempt" in text), None)
        if prompt is not None:
            return Answer(self.propose(prompt))
        prompt = next((text for role, text in reversed(call.turns) if role == "user" and "<conflict " in text), None)
        if prompt is not None:
            return Answer(self.resolve(prompt))
        reply = self.target(call.system, call.user)
        return Answer(f"<answer>{reply}</answer>" if self.extract == "answer_tag" else reply)

    def target(self, document: str, ticket: str) -> str:
        """The code where the document's last line about the ticket's topic has it, else `unknown`."""
        topic = self.topic_of(ticket)
        lines = [line for line in document.splitlines() if topic and topic in line]
        return self.codes[topic] if topic and lines and self.codes[topic] in lines[-1] else "unknown"

    def topic_of(self, text: str) -> str | None:
        """The one topic that a text names."""
        return next((topic for topic in self.codes if topic in text), None)

    def propose(self, prompt: str) -> str:
        """A patch for the failed attempts of a reflection prompt."""
        found = _BUDGET.search(prompt)
        budget = int(found[1]) if found else 4
        edits = [
            {"op": "append", "content": self._line(prompt, topic), "reason": f"the {topic} came up"}
            for topic in self.failing(prompt)[:budget]
        ]
        return json.dumps({"reasoning": "Each topic has a code of its own.", "edits": edits})

    def settle(self, prompt: str) -> str:
        """Of edits in conflict the first stays; of those to choose from the first are chosen."""
        idents = _EDIT.findall(prompt)
        if "Settle each conflict" not in prompt:
            found = _BUDGET_CHOOSE.search(prompt)
            return json.dumps({"reasoning": "In order.", "selected": idents[: int(found[1]) if found else 1]})
        edits = []
        for conflict in re.split(r"^Conflict \d+:$", prompt, flags=re.MULTILINE)[1:]:
            first = json.loads(re.findall(r"<edit\b[^>]*>(.*?)</edit>", conflict, re.DOTALL)[0])
            edits.append({**first, "support": _EDIT.findall(conflict)})
        return json.dumps({"reasoning": "The first is right.", "edits": edits})

    def resolve(self, prompt: str) -> str:
        """In the place of each conflict the lines of both sides, the trained ones last."""
        rows = [
            {"id": ident, "text": "".join(f"{_part(block, side)}\n" for side in ("base_side", "trained_side"))}
            for ident, block in _CONFLICT.findall(prompt)
        ]
        return json.dumps({"reasoning": "Both can stand.", "resolutions": [{**row, "reason": "Both."} for row in rows]})

    def failing(self, prompt: str) -> Sequence[str]:
        """Topics of the attempts whose reply, where it is shown, has not the expected answer; in order, once each."""
        topics: dict[str, None] = {}
        for block in _ATTEMPT.findall(prompt):
            topic = self.topic_of(_part(block, "input"))
            if topic is None:
                continue
            expected = _part(block, "expected") or self.codes[topic]
            if expected not in _part(block, "reply"):
                topics[topic] = None
        return list(topics)

    def _line(self, prompt: str, topic: str) -> str:
        seed = f"{self.seed}\0{topic}\0{prompt}".encode()
        number = int.from_bytes(hashlib.sha256(seed).digest()[:8], "big")
        if number % 100 < self.kinds.right:
            return self.rule(topic)
        if number % 100 < self.kinds.right + self.kinds.wrong:
            return f"- {topic}: W{number // 100 % 900 + 100}"
        return f"- Be polite to people who write about machines ({number // 100 % 900 + 100})."


def _part(block: str, tag: str) -> str:
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", block, re.DOTALL)
    return html.unescape(found[1]).strip() if found else ""
