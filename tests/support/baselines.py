"""A world for baselines: four topics, of which the document knows the first, and train never names the last."""

from __future__ import annotations

import json
from pathlib import Path

from support import repos
from support.server import Answer, Call
from support.training import DOCUMENT, configuration
from support.world import SEED_DOCUMENT, Kinds, TopicWorld

WORLD = TopicWorld(4, 1, kinds=Kinds(100, 0))
FIRST, SECOND, THIRD, LAST = WORLD.codes
START = f"{SEED_DOCUMENT}\n{WORLD.rule(FIRST)}\n"
CONFIG = configuration(train="{num_epochs: 1, batch_size: 6}")
MEMORY = "refs/notes/skillgit"


class Rewriter:
    """Answers as the world does; a one-shot rewrite is what is set here. Remembers the prompts."""

    def __init__(self, *lines: str) -> None:
        self.reply = rewrite(*lines)
        self.prompts: list[str] = []

    def __call__(self, call: Call) -> Answer:
        if "You have one try" in call.system:
            self.prompts.append(call.user)
            return Answer(self.reply)
        return WORLD(call)


def rewrite(*lines: str) -> str:
    """A reply whose document has these lines."""
    body = "# Tickets\n\nAnswer with the code.\n\n" + "".join(f"{line}\n" for line in lines)
    return json.dumps({"reasoning": "Codes.", "new_skill": body, "change_summary": ["codes"]})


def without_last(root: Path) -> None:
    """Take the last topic's tasks out of train: six are left, four of them fail with the document."""
    path = root / "envs/topics/train.jsonl"
    kept = [line for line in path.read_text().splitlines(keepends=True) if LAST not in line]
    repos.commit(root, {"envs/topics/train.jsonl": "".join(kept)}, "No last topic in train")


def notes(root: Path, rev: str = f"main:{DOCUMENT}") -> list[dict[str, object]]:
    """The notes of an object, as plain git shows them."""
    return [json.loads(line) for line in repos.git(root, "notes", "--ref=skillgit", "show", rev).splitlines()]
