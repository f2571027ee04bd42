"""The simulated world: tickets about machines, each kind of which has a code that the document has to teach.

A ticket names one topic, a quarter of them two. The target answers right exactly where the document's LAST line that
names the topic has the topic's code (for two topics: both), but for a share of (document, task) pairs that a seeded
hash makes wrong. Nothing here knows a trainer, so that the evaluator of the final documents is independent of all.
"""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass
from functools import lru_cache

SPLITS = ("train", "val", "test")
NOISE = 0.03
SEED_DOCUMENT = """\
# Codes of the works yard

Tickets come in from the yard and from customers. Each is about one machine, some are about two, and every kind of
machine has a code of its own that the workshop files it under.

- Reply with the code of the machine that the ticket is about, between <answer> and </answer>, and nothing else.
- Where a ticket is about two machines, give both codes in the order in which the ticket names them, with a space
  between them.
- Say "unknown" in the place of a code that is not known.
"""

_FIRST = ("amber", "birch", "cobalt", "dune", "ember", "fjord", "garnet", "heron", "iris", "jade", "kelp", "lotus")
_SECOND = ("boiler", "cabin", "dock", "engine", "fence", "gate", "hatch", "lamp", "meter", "pump", "relay", "valve")
_NEWS = (
    "the {} was reported again by the night shift",
    "a customer says that the {} makes a noise",
    "nobody has looked at the {} since Monday",
    "the {} is due for its yearly check",
    "there is water under the {}",
    "the {} stopped in the middle of the day",
    "the label of the {} came off",
    "the {} has no power",
)
_NUMBER = re.compile(r"Ticket (\d+):")


@dataclass(frozen=True, slots=True)
class Task:
    """One ticket; `topics` in the order in which it names them."""

    id: str
    input: str
    answer: str
    topics: tuple[str, ...]


class World:
    """Topics with their codes, and tickets in three splits. Equal arguments make equal worlds in every process.

    Args:
        seed: chooses topics, codes and tickets.
        topics: how many, at most 144.
        sizes: tickets in train, val and test.
    """

    def __init__(self, seed: int = 1, topics: int = 16, sizes: tuple[int, int, int] = (64, 48, 200)) -> None:
        chance = random.Random(f"world {seed}")
        names = chance.sample([f"{first} {second}" for first in _FIRST for second in _SECOND], topics)
        numbers = iter(chance.sample(range(100, 1000), topics))
        self.seed = seed
        self.codes = {name: f"{chance.choice('KQVXZ')}{next(numbers)}" for name in names}
        self.tasks: dict[str, tuple[Task, ...]] = {}
        tickets = iter(chance.sample(range(1000, 10_000), sum(sizes)))
        for split, size in zip(SPLITS, sizes, strict=True):
            self.tasks[split] = tuple(self._split(split, size, tickets, chance))
        self._by_number = {_NUMBER.search(task.input)[1]: task for split in SPLITS for task in self.tasks[split]}  # type: ignore[index]

    def _split(self, split: str, size: int, tickets: object, chance: random.Random) -> list[Task]:
        """Topics are spread evenly over a split, so that each can be learned and is looked for."""
        first, second = self._even(size, chance), self._even(size, chance)
        two = set(chance.sample(range(size), size // 4))
        found = []
        for index in range(size):
            topics = [first[index]]
            if index in two:
                topics.append(next(t for t in second[index:] + second[:index] if t != topics[0]))
            news = [line.format(topic) for line, topic in zip(chance.sample(_NEWS, 2), topics, strict=False)]
            text = f"Ticket {next(tickets)}: {'; also, '.join(news)}. What is to be filed?"  # type: ignore[call-overload]
            answer = " ".join(self.codes[topic] for topic in topics)
            found.append(Task(f"{split}-{index:03d}", text, answer, tuple(topics)))
        return found

    def _even(self, size: int, chance: random.Random) -> list[str]:
        found: list[str] = []
        while len(found) < size:
            found += chance.sample(list(self.codes), len(self.codes))
        found = found[:size]
        chance.shuffle(found)
        return found

    def rule(self, topic: str) -> str:
        """The line that a document needs for a topic."""
        return f"- {topic}: {self.codes[topic]}"

    def task_in(self, text: str) -> Task | None:
        """The ticket that a text quotes; the last one where it quotes several."""
        numbers: list[str] = _NUMBER.findall(text)
        return self._by_number.get(numbers[-1]) if numbers else None

    def split_of(self, task: Task) -> str:
        """`train`, `val` or `test`."""
        return task.id.partition("-")[0]

    @lru_cache(maxsize=512)  # noqa: B019 - a world lives as long as its process
    def known(self, document: str) -> frozenset[str]:
        """Topics whose last line in a document has the right code."""
        last: dict[str, bool] = {}
        for line in document.splitlines():
            for topic, code in self.codes.items():
                if topic in line:
                    last[topic] = code in line
        return frozenset(topic for topic, right in last.items() if right)

    def reply(self, document: str, task: Task, noise_seed: int | None, noise: float = NOISE) -> str:
        """What the target says: the codes that the document teaches, `unknown` for the others.

        Args:
            noise_seed: the server's seed; None for a target that never errs.
        """
        known = self.known(document)
        said = [self.codes[topic] if topic in known else "unknown" for topic in task.topics]
        if noise_seed is not None and all(topic in known for topic in task.topics):
            number = draw("noise", noise_seed, body(document), task.id)
            if number < noise:
                said[-1] = said[-1][0] + said[-1][:0:-1]  # the digits in the wrong order
                if said == task.answer.split():
                    said[-1] = "unknown"
        return " ".join(said)

    def score(self, document: str, split: str, noise_seed: int | None = None) -> float:
        """The share of a split that is answered right under a document: the independent evaluator."""
        tasks = self.tasks[split]
        return sum(self.reply(document, task, noise_seed) == task.answer for task in tasks) / len(tasks)


def body(system: str) -> str:
    """The document in a system prompt: without frontmatter and without the heading that SkillOpt sets before it."""
    text = re.sub(r"\A---\n.*?\n---\n", "", system.strip(), count=1, flags=re.DOTALL)
    return text.strip().removeprefix("## Skill\n").strip()


def draw(*parts: object) -> float:
    """A number in 0..1 that the parts alone decide."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
