"""What can go wrong on the simulated API, each by option and each seeded."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

from benchmarks.trainers.world import draw


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of a server.

    Args:
        p429: the share of requests that are answered by status 429.
        retry_after_share: the share of these that carry `retry-after: 1`.
        hang_target: this call of the target, counted from 1, is never answered; 0 for none.
        hang_optimizer: the same for the optimizer.
        malformed: the share of the optimizer's replies that are cut off, prose, or no valid JSON.
    """

    p429: float = 0.0
    retry_after_share: float = 0.5
    hang_target: int = 0
    hang_optimizer: int = 0
    malformed: float = 0.0

    @property
    def options(self) -> list[str]:
        """The same faults as command-line options."""
        return [f"--{f.name.replace('_', '-')}={getattr(self, f.name)}" for f in fields(self)]

    def limited(self, seed: int, arrival: int) -> str | None:
        """None where a request passes, else the value of `retry-after`, empty for none."""
        chance = draw("429", seed, arrival)
        if chance >= self.p429:
            return None
        return "1" if chance < self.p429 * self.retry_after_share else ""

    def hangs(self, role: str, number: int) -> bool:
        """Whether this call of a role, counted from 1, is never answered."""
        return number == {"target": self.hang_target, "optimizer": self.hang_optimizer}[role]

    def spoilt(self, reply: str, seed: int, prompt: str, time: int) -> str | None:
        """A reply's broken form, None where it stays whole; a prompt that comes again is drawn anew."""
        if draw("malformed", seed, prompt, time) >= self.malformed:
            return None
        kind = int(draw("kind", seed, prompt, time) * 3)
        if kind == 0:
            return reply[: len(reply) // 2]
        if kind == 1:
            return (
                "I have read all of it. The assistant should know more of the codes, I would say, and then do better."
            )
        return reply.replace('"', "", 5).replace("}", "", 1)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of all faults."""
    group = parser.add_argument_group("faults")
    group.add_argument("--p429", type=float, default=0.0, help="share of requests answered by 429")
    group.add_argument("--retry-after-share", type=float, default=0.5, help="share of the 429s with `retry-after: 1`")
    group.add_argument("--hang-target", type=int, default=0, metavar="N", help="the target's Nth call never answers")
    group.add_argument("--hang-optimizer", type=int, default=0, metavar="N", help="the same for the optimizer")
    group.add_argument("--malformed", type=float, default=0.0, help="share of the optimizer's replies that are broken")


def chosen(given: argparse.Namespace) -> Faults:
    """The faults that the options name."""
    return Faults(**{f.name: getattr(given, f.name) for f in fields(Faults)})
