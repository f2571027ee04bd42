"""What the simulated optimizer knows, whatever the trainer's prompts look like: which lines it proposes for failed
tickets, and how it merges and ranks them.

Per failing topic that a prompt shows with its right code it proposes one line: a right rule (50 %), a wrong one (20 %)
or a useless line (30 %), as a hash of the server's seed, the topic and the whole prompt decides. Merging keeps one line
per topic, the one with more support, on a tie as a hash has it; ranking goes by support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.trainers.world import Task, World, draw

RIGHT, WRONG = 0.5, 0.2
HARMLESS = "Read the whole ticket before you answer it."


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


@dataclass(frozen=True, slots=True)
class Line:
    """A proposed line with the number of attempts that ask for it."""

    text: str
    support: int


class UnknownPrompt(Exception):
    """No trainer's prompt that this optimizer knows."""


class Proposer:
    """Proposals for one world and server seed."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._seed = seed

    def failure(self, quoted: str, said: str, shown: str) -> Failure | None:
        """A failed attempt; None where all is right, or nothing can be known.

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

    def lines(self, failures: Sequence[Failure], prompt: Prompt, budget: int | None) -> list[Line]:
        """A line per failing topic, the most wanted first."""
        wanted: dict[str, int] = {}
        for failure in failures:
            for topic in failure.topics:
                wanted[topic] = wanted.get(topic, 0) + 1
        topics = sorted(wanted, key=lambda topic: -wanted[topic])[:budget]
        return [Line(self._line(prompt, topic), wanted[topic]) for topic in topics]

    def _line(self, prompt: Prompt, topic: str) -> str:
        chance = draw("line", self._seed, topic, prompt.whole)
        if chance < RIGHT:
            return self._world.rule(topic)
        number = 100 + int(draw("number", self._seed, topic, prompt.whole) * 900)
        if chance < RIGHT + WRONG:
            return f"- {topic}: W{number}"
        return f"- Be polite to people who write about machines (house rule {number})."

    def merged(self, lines: Sequence[Line]) -> list[tuple[Line, list[int]]]:
        """One line per topic, repetitions dropped, support added up; with the places of the lines it stands for."""
        groups: dict[str, list[int]] = {}
        for place, line in enumerate(lines):
            topic = next((topic for topic in self._world.codes if topic in line.text), line.text)
            groups.setdefault(topic, []).append(place)
        found = []
        for topic, places in groups.items():
            texts: dict[str, int] = {}
            for place in places:
                texts[lines[place].text] = texts.get(lines[place].text, 0) + lines[place].support
            chosen = max(texts, key=lambda text: (texts[text], draw("merge", self._seed, topic, text)))
            found.append((Line(chosen, sum(texts.values())), places))
        return found

    @staticmethod
    def reason(failures: Sequence[Failure]) -> str:
        """What the failures have in common."""
        names = sorted({topic for failure in failures for topic in failure.topics})
        return f"No right code was known for: {', '.join(names)}." if names else "All codes were right."
